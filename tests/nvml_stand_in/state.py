"""The file that the stand-in library and a test share: the structures of ``nvml_stand_in.c``, field by field.

The library refuses a file of another size, so a structure that was changed on one side alone is noticed.
"""

from __future__ import annotations

import ctypes as c

__all__ = ["CALLS", "GPUS", "METRICS", "POINTS", "CallEntry", "FaultEntry", "GpuState", "PointState", "State"]

GPUS, POINTS, METRICS, FAULTS, CALLS, NAME = 16, 1024, 64, 32, 4096, 96


class PointState(c.Structure):
    """What the workload does at one clock pair."""

    _fields_ = (
        ("sm_mhz", c.c_uint32),
        ("mem_mhz", c.c_uint32),
        ("running_sm_mhz", c.c_uint32),
        ("running_mem_mhz", c.c_uint32),
        ("reasons", c.c_uint64),
        ("watts", c.c_double),
        ("work_per_s", c.c_double),
        ("settle_s", c.c_double),
        ("gpu_util", c.c_uint32),
        ("mem_util", c.c_uint32),
        ("gpm", c.c_double * METRICS),
    )


class GpuState(c.Structure):
    """One GPU."""

    _fields_ = (
        ("name", c.c_char * NAME),
        ("uuid", c.c_char * NAME),
        ("architecture", c.c_uint32),
        ("persistence", c.c_uint32),
        ("mig", c.c_uint32),
        ("virtualization", c.c_uint32),
        ("power_limit_mw", c.c_uint32),
        ("temperature_c", c.c_uint32),
        ("sm_min_mhz", c.c_uint32),
        ("sm_max_mhz", c.c_uint32),
        ("gpm_supported", c.c_uint32),
        ("ignores_locks", c.c_uint32),
        ("n_points", c.c_uint32),
        ("locked_sm_mhz", c.c_uint32),
        ("locked_mem_mhz", c.c_uint32),
        ("row", c.c_uint32),
        ("previous_row", c.c_uint32),
        ("padding", c.c_uint32),
        ("refresh_s", c.c_double),
        ("power_ripple", c.c_double),
        ("changed_s", c.c_double),
        ("energy_j", c.c_double),
        ("work", c.c_double),
        ("refresh", c.c_int64),
        ("energy_offset_mj", c.c_int64),
        ("refreshed_s", c.c_double),
        ("refreshed_energy_j", c.c_double),
        ("gpm_sum", c.c_double * METRICS),
        ("refreshed_gpm", c.c_double * METRICS),
        ("points", PointState * POINTS),
    )


class FaultEntry(c.Structure):
    """An answer that replaces the usual one."""

    _fields_ = (
        ("name", c.c_char * 56),
        ("active", c.c_int32),
        ("gpu", c.c_int32),
        ("code", c.c_int32),
        ("has_value", c.c_int32),
        ("remaining", c.c_int32),
        ("cleared_by_init", c.c_int32),
        ("delay_s", c.c_double),
        ("value", c.c_double),
    )


class CallEntry(c.Structure):
    """One call of a setter."""

    _fields_ = (
        ("name", c.c_char * 40),
        ("gpu", c.c_int32),
        ("process", c.c_int32),
        ("low", c.c_uint32),
        ("high", c.c_uint32),
        ("code", c.c_int32),
        ("padding", c.c_int32),
        ("t_s", c.c_double),
    )


class State(c.Structure):
    """The whole file."""

    _fields_ = (
        ("n_gpus", c.c_uint32),
        ("n_calls", c.c_uint32),
        ("driver_version", c.c_char * NAME),
        ("library_version", c.c_char * NAME),
        ("faults", FaultEntry * FAULTS),
        ("calls", CallEntry * CALLS),
        ("gpus", GpuState * GPUS),
    )
