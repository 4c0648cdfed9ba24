"""Devices: one protocol, and the GPUs that speak it."""
