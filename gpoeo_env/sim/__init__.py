"""The simulated GPU: catalogue, workloads, physics."""
