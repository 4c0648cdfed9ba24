"""Learned agents."""
