"""Metrics, scraped and parsed with Prometheus' own parser."""

from __future__ import annotations

import math
import socket
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from gpoeo_env.errors import UsageError
from gpoeo_env.runner.metrics import MetricsServer
from tests.runner.stage import MIDDLE, Scripted, loop_on_stage

parser = pytest.importorskip("prometheus_client.parser")


def scraped(port: int) -> dict[str, float]:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        sample.name: sample.value for family in parser.text_string_to_metric_families(text) for sample in family.samples
    }


def test_the_last_window_is_served_until_the_end() -> None:
    server = MetricsServer(0, "127.0.0.1")
    with loop_on_stage() as loop:
        step = loop.begin(0)
        policy = Scripted(MIDDLE)
        policy.reset(loop.context)
        server.begin(loop.context, None)
        server.step(step)
        assert server.port is not None
        first = scraped(server.port)
        server.step(loop.step(policy.act(step)))
        second, port = scraped(server.port), server.port
        server.end()
        server.end()

    assert math.isnan(first["gpoeo_sm_clock_locked_mhz"])
    assert second["gpoeo_sm_clock_locked_mhz"] == 800.0
    assert second["gpoeo_windows_total"] == 2.0
    assert second["gpoeo_power_watts"] == pytest.approx(150.0 / 1.02)
    with pytest.raises(URLError):
        scraped(port)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, loop_on_stage() as loop:
        loop.begin(0)
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}.*--metrics-port"):
            MetricsServer(port, "127.0.0.1").begin(loop.context, None)
