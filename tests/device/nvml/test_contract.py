from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpoeo_env.device.nvml.opening import build
from gpoeo_env.testing.devices import DEVICE_CONTRACT
from tests.device.nvml.scenes import SITE_COMMANDS
from tests.nvml_stand_in.gpus import hand_made
from tests.nvml_stand_in.stand_in import StandIn

PROCESSES = 4
ON_CLOCKS = {
    "starts every run released",
    "reports the requested pair",
    "honours the pairs of its table or says why not",
}
CASES = [("nvml", check.name) for check in DEVICE_CONTRACT]
CASES += [("command", check.name) for check in DEVICE_CONTRACT if check.name in ON_CLOCKS]

Outcomes = Mapping[tuple[str, str], "Future[None]"]


def keep_clause(actuator: str, clause: str, gpu: int) -> None:
    check = next(check for check in DEVICE_CONTRACT if check.name == clause)
    commands = SITE_COMMANDS if actuator == "command" else {}
    check.run(lambda: build(str(gpu), {"rate_hz": 20, "actuator": actuator, **commands}))


@pytest.fixture(scope="module")
def outcomes(nvml_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """The outcome of every clause. Time really passes, so they are kept on several GPUs at once."""
    folder = tmp_path_factory.mktemp("contract")
    stand_in = StandIn.create(folder, [hand_made()] * PROCESSES, nvml_library)
    with ExitStack() as stack:
        processes = [stack.enter_context(stand_in.process()) for _ in range(PROCESSES)]
        yield {
            case: processes[number % PROCESSES].start(keep_clause, *case, number % PROCESSES)
            for number, case in enumerate(CASES)
        }


def test_the_clauses_on_clocks_are_those_of_the_contract() -> None:
    assert {check.name for check in DEVICE_CONTRACT} >= ON_CLOCKS


@pytest.mark.parametrize(("actuator", "clause"), CASES)
def test_a_live_gpu_keeps_every_clause(actuator: str, clause: str, outcomes: Outcomes) -> None:
    outcomes[actuator, clause].result()
