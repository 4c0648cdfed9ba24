"""Comparing policies: plans, runs and statistics."""
