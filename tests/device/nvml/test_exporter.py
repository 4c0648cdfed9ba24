from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gpoeo_env.device.nvml.exporter import DcgmExporter, counters_in
from gpoeo_env.device.nvml.readings import Plausible
from gpoeo_env.errors import ConfigError, DeviceError

GPU, OTHER = "GPU-aaaa", "GPU-bbbb"


def answer(sm_active: float, **labels: str) -> str:
    more = "".join(f',{name}="{value}"' for name, value in labels.items())
    return (
        "# HELP DCGM_FI_PROF_SM_ACTIVE The ratio of cycles an SM has at least 1 warp assigned.\n"
        "# TYPE DCGM_FI_PROF_SM_ACTIVE gauge\n"
        f'DCGM_FI_PROF_SM_ACTIVE{{gpu="0",UUID="{GPU}"{more}}} {sm_active}\n'
        f'DCGM_FI_PROF_SM_ACTIVE{{gpu="1",UUID="{OTHER}"}} 0.25\n'
        "# TYPE DCGM_FI_PROF_PCIE_RX_BYTES gauge\n"
        f'DCGM_FI_PROF_PCIE_RX_BYTES{{gpu="0",UUID="{GPU}"}} 3e6\n'
    )


class Site(HTTPServer):
    """A dcgm-exporter; `text` is what it answers."""

    text = answer(0.9)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/metrics"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def exporter(site: Site) -> DcgmExporter:
    return DcgmExporter.open(site.url, GPU, Plausible())


def test_the_counters_of_one_gpu_are_found_by_its_uuid(exporter: DcgmExporter) -> None:
    assert [signal.name for signal in exporter.signals] == ["sm_active", "pcie_rx_bytes"]


def test_a_row_comes_when_the_exporter_has_something_new(site: Site, exporter: DcgmExporter) -> None:
    exporter.restart(0.0)
    site.text = answer(0.8)
    assert exporter.poll(1.0) == (0.8, 3e6)


def test_a_value_from_before_the_window_does_not_count_for_it(exporter: DcgmExporter) -> None:
    exporter.restart(0.0)
    assert all(math.isnan(value) for value in exporter.poll(1.0))


def test_a_repeated_answer_is_missing(site: Site, exporter: DcgmExporter) -> None:
    exporter.restart(0.0)
    site.text = answer(0.8)
    exporter.poll(1.0)
    assert all(math.isnan(value) for value in exporter.poll(2.0))


def test_it_is_asked_once_a_second_at_most(site: Site, exporter: DcgmExporter) -> None:
    exporter.restart(0.0)
    site.text = answer(0.8)
    assert all(math.isnan(value) for value in exporter.poll(0.9))


def test_an_exporter_that_stops_answering_costs_rows_not_the_run(site: Site, exporter: DcgmExporter) -> None:
    exporter.restart(0.0)
    site.text = "this is { not a metric\n"
    assert all(math.isnan(value) for value in exporter.poll(1.0))


def test_mig_instances_do_not_stand_for_the_whole_gpu() -> None:
    assert "sm_active" not in counters_in(answer(0.5, GPU_I_ID="3"), GPU, Plausible())


def test_a_sentinel_is_missing_and_counted() -> None:
    plausible = Plausible()
    assert math.isnan(counters_in(answer(140737488355328.0), GPU, plausible)["sm_active"])
    assert plausible.refused == {"sm_active": 1}


def test_a_real_exporters_answer_is_read(shared_data: Path) -> None:
    text = (shared_data / "log_dialects" / "12_dcgm_exporter_metrics.prom").read_text(encoding="utf-8")
    plausible = Plausible()
    found = counters_in(text, "GPU-aaaaaaaa-0000-0000-0000-000000000000", plausible)
    assert math.isnan(found["sm_active"])
    assert plausible.refused["sm_active"] == 1


def test_an_exporter_without_counters_of_this_gpu_is_refused(site: Site) -> None:
    with pytest.raises(DeviceError, match="no profiling counters of GPU-cccc"):
        DcgmExporter.open(site.url, "GPU-cccc", Plausible())


def test_an_address_where_nobody_answers_is_named() -> None:
    with pytest.raises(DeviceError, match=r"no dcgm-exporter answers at http://127\.0\.0\.1:9/"):
        DcgmExporter.open("http://127.0.0.1:9/", GPU, Plausible())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:9400", ""])
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="http://HOST:9400/metrics"):
        DcgmExporter(url, GPU, Plausible())
