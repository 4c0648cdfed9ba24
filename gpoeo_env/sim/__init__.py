"""The simulated GPU: catalogue, workloads, physics, counters, sensors, and the suites that run on it.

In the order in which they build on each other:

catalogue    which GPUs there are: clocks, limits, constants, each with its source
phases       what one part of a training iteration asks of a GPU
workloads    iterations of phases, with jitter, drift and shifts
suites       named sets of workloads
physics      time, power, temperature and limits, as pure functions of the clocks
counters     what performance counters read of the same activity
closed_form  all of it at every clock pair of a GPU at once
timeline     the same, iteration by iteration, for sensors to sample
sensors      what NVML and GPM would have reported of a timeline
"""
