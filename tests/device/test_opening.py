from __future__ import annotations

import pytest

from gpoeo_env.device.opening import build_device, open_device
from gpoeo_env.errors import ConfigError, TraceError, UnknownNameError


def test_a_device_is_opened_by_its_spec() -> None:
    with open_device("sim:rtx3080ti,noise=0.02") as device:
        assert device.info.kind == "simulated"
        assert "3080 Ti" in device.info.gpu_name


def test_a_device_is_opened_from_the_parts_of_its_spec() -> None:
    with build_device("sim", "rtx3080ti", {"noise": 0.0}) as device:
        assert len(device.clocks) == 600


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("sin:rtx3080ti", UnknownNameError, "unknown device 'sin'; did you mean sim"),
        ("sim:rtx3080t", UnknownNameError, "rtx3080ti"),
        ("sim:rtx3080ti,nois=0.1", ConfigError, "did you mean noise"),
        ("sim:rtx3080ti,noise=loud", ConfigError, "noise = 'loud'"),
        ("replay:no_such.sweep.parquet", TraceError, "no_such.sweep.parquet"),
    ],
)
def test_a_spec_that_opens_nothing_says_why(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_device(spec)
