"""The live NVIDIA GPU: readings, counters and clocks through NVML. Only this package imports ``pynvml``."""
