"""The physics of the simulated GPU: pure functions of clocks, vectorised; sources in the modules.

Each module is one of its parts:

timing   seconds of a phase: compute, on-chip and DRAM parts with overlap, and host time
power    voltage curve, leakage, switching by pipe, memory
thermal  steady temperature with leakage, first-order step
limits   power cap and thermal slowdown, with the reasons as NVML names them
"""
