"""The writing and the reading side of iteration marks, and the meter on them."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from gpoeo_env.errors import TraceError
from gpoeo_env.progress.choosing import KnowsPeriod
from gpoeo_env.progress.marks import PATH_VARIABLE, Marks, MarksMeter, open_marks, read_marks
from gpoeo_env.progress.marks_file import MarksFile, decode
from gpoeo_env.records import Progress, Window
from gpoeo_env.signals import POWER

SECOND_NS = 1_000_000_000


def window(begin_s: float, end_s: float) -> Window:
    t_s = np.linspace(begin_s, end_s, 11)
    return Window(t_s, np.full((11, 1), 300.0), (POWER,), requested=None, observed=None)


def marks_at(edges_s: list[float]) -> Marks:
    """Return iterations that follow one another without a gap."""
    edges = np.array(edges_s)
    return Marks(edges[:-1], edges[1:], np.ones(len(edges) - 1, dtype=np.int64), ("",) * (len(edges) - 1))


def measured(marks: Marks, begin_s: float, end_s: float) -> Progress:
    return MarksMeter(marks).measure(window(begin_s, end_s))


class TestWriting:
    def test_a_wrapped_loop_yields_its_items(self, tmp_path: Path) -> None:
        marks = open_marks(tmp_path / "marks")
        assert list(marks.iterate("abc")) == ["a", "b", "c"]

    def test_a_wrapped_loop_marks_every_turn(self, tmp_path: Path) -> None:
        for _ in open_marks(tmp_path / "marks").iterate(range(5)):
            pass
        assert read_marks(tmp_path / "marks").iterations.sum() == 5

    def test_a_wrapped_loop_can_be_run_again(self, tmp_path: Path) -> None:
        loop = open_marks(tmp_path / "marks").iterate([1, 2, 3])
        assert [*loop, *loop] == [1, 2, 3, 1, 2, 3]
        assert read_marks(tmp_path / "marks").iterations.sum() == 6

    def test_a_wrapped_loop_has_the_length_of_the_original(self) -> None:
        assert len(open_marks(environment={}).iterate(range(7))) == 7

    def test_a_turn_that_was_left_is_no_iteration(self, tmp_path: Path) -> None:
        for item in open_marks(tmp_path / "marks").iterate(range(9)):
            if item == 4:
                break
        assert read_marks(tmp_path / "marks").iterations.sum() == 4

    def test_a_block_is_an_iteration(self, tmp_path: Path) -> None:
        marks = open_marks(tmp_path / "marks")
        before_s = time.monotonic()
        with marks.iteration():
            time.sleep(0.01)
        read = read_marks(tmp_path / "marks")
        assert before_s <= read.start_s[0] < read.end_s[0] <= time.monotonic()

    def test_a_block_that_raises_is_no_iteration(self, tmp_path: Path) -> None:
        marks = open_marks(tmp_path / "marks")
        with pytest.raises(KeyError), marks.iteration():
            raise KeyError
        assert len(read_marks(tmp_path / "marks").start_s) == 0

    def test_the_file_outlives_its_writer(self, tmp_path: Path) -> None:
        with open_marks(tmp_path / "marks") as marks, marks.iteration():
            pass
        assert read_marks(tmp_path / "marks").iterations.sum() == 1

    def test_after_closing_nothing_is_marked(self, tmp_path: Path) -> None:
        marks = open_marks(tmp_path / "marks")
        marks.close()
        marks.close()
        with marks.iteration():
            pass
        assert not marks.is_on

    def test_a_second_program_replaces_the_marks_of_the_first(self, tmp_path: Path) -> None:
        first = open_marks(tmp_path / "marks")
        list(first.iterate(range(3)))
        second = open_marks(tmp_path / "marks")
        list(second.iterate(range(2)))
        list(first.iterate(range(3)))
        assert read_marks(tmp_path / "marks").iterations.sum() == 2

    def test_no_other_file_is_left(self, tmp_path: Path) -> None:
        open_marks(tmp_path / "marks")
        assert [path.name for path in tmp_path.iterdir()] == ["marks"]


class TestWhereToWrite:
    def test_the_environment_names_the_file(self, tmp_path: Path) -> None:
        assert open_marks(environment={PATH_VARIABLE: str(tmp_path / "marks")}).is_on

    def test_without_a_file_nothing_is_marked(self) -> None:
        assert not open_marks(environment={}).is_on

    @pytest.mark.parametrize("variable", ["LOCAL_RANK", "SLURM_LOCALID", "RANK"])
    def test_only_the_first_process_of_a_distributed_program_marks(self, tmp_path: Path, variable: str) -> None:
        environment = {PATH_VARIABLE: str(tmp_path / "marks")}
        assert open_marks(environment=environment | {variable: "0"}).is_on
        assert not open_marks(environment=environment | {variable: "1"}).is_on

    def test_every_host_has_a_first_process(self, tmp_path: Path) -> None:
        environment = {PATH_VARIABLE: str(tmp_path / "marks"), "RANK": "8", "LOCAL_RANK": "0"}
        assert open_marks(environment=environment).is_on

    def test_a_file_that_cannot_be_written_warns_once_and_disturbs_nothing(self, tmp_path: Path) -> None:
        with pytest.warns(UserWarning, match="not marked"):
            marks = open_marks(tmp_path / "no such folder" / "marks")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(marks.iterate(range(3))) == [0, 1, 2]


def write_steadily(
    path: Path, started: multiprocessing.synchronize.Event, stop: multiprocessing.synchronize.Event
) -> None:
    file = MarksFile.create(path)
    started.set()
    iteration = 0
    while not stop.is_set():
        for _ in range(200):
            iteration += 1
            file.add(iteration * SECOND_NS, iteration * SECOND_NS + SECOND_NS // 2)
        time.sleep(5e-4)  # a reader needs a gap between writes, and every real iteration leaves one


class TestSharedFile:
    def test_short_iterations_share_a_mark(self, tmp_path: Path) -> None:
        file = MarksFile.create(tmp_path / "marks")
        for index in range(1000):
            file.add(index * SECOND_NS // 100, (index + 1) * SECOND_NS // 100)
        marks = read_marks(tmp_path / "marks")
        assert len(marks.start_s) < 120
        assert marks.iterations.sum() == 1000

    def test_the_latest_marks_are_kept_in_order(self, tmp_path: Path) -> None:
        file = MarksFile.create(tmp_path / "marks")
        for index in range(3000):
            file.add(index * SECOND_NS, (index + 1) * SECOND_NS)
        record = decode(tmp_path / "marks")
        assert record.completed == 3000
        assert record.end_ns[-1] == 3000 * SECOND_NS
        assert set(np.diff(record.begin_ns)) == {SECOND_NS}

    def test_the_writer_is_named(self, tmp_path: Path) -> None:
        MarksFile.create(tmp_path / "marks")
        assert decode(tmp_path / "marks").pid == os.getpid()

    def test_a_reader_never_sees_half_a_write(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        started, stop = context.Event(), context.Event()
        writer = context.Process(target=write_steadily, args=(tmp_path / "marks", started, stop))
        writer.start()
        try:
            assert started.wait(30)
            for _ in range(500):
                record = decode(tmp_path / "marks")
                assert np.all(np.diff(record.begin_ns) == SECOND_NS)
                assert np.all(record.end_ns - record.begin_ns == SECOND_NS // 2)
                assert len(record.end_ns) == 0 or record.begin_ns[-1] == record.completed * SECOND_NS
        finally:
            stop.set()
            writer.join()

    def test_a_writer_that_died_in_a_write_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "marks"
        MarksFile.create(path)
        content = bytearray(path.read_bytes())
        content[16] = 1
        path.write_bytes(content)
        with pytest.raises(TraceError, match="middle of a write"):
            read_marks(path)

    def test_a_cut_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "marks"
        MarksFile.create(path)
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(TraceError, match="no marks file"):
            read_marks(path)


class TestCsv:
    def test_starts_ends_and_kinds_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "marks.csv"
        path.write_text("start_s,end_s,kind\n1.0,2.0,iter\n2.0,3.5,iter+eval\n")
        marks = read_marks(path, offset_s=10.0)
        assert marks.start_s.tolist() == [11.0, 12.0]
        assert marks.end_s.tolist() == [12.0, 13.5]
        assert marks.kinds == ("iter", "iter+eval")

    @pytest.mark.parametrize("text", ["", "start_s,end_s\n", "start_s,end_s,kind\n"])
    def test_a_file_without_marks_has_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "marks.csv").write_text(text)
        assert len(read_marks(tmp_path / "marks.csv").start_s) == 0

    @pytest.mark.parametrize("row", ["1.0,x,iter", "1.0", "2.0,1.0,iter", "1.0,nan,iter"])
    def test_a_damaged_row_is_refused(self, tmp_path: Path, row: str) -> None:
        (tmp_path / "marks.csv").write_text(f"start_s,end_s,kind\n0.0,1.0,iter\n{row}\n")
        with pytest.raises(TraceError, match="marks"):
            read_marks(tmp_path / "marks.csv")

    def test_other_columns_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "marks.csv").write_text("begin,end\n0.0,1.0\n")
        with pytest.raises(TraceError, match="start_s, end_s, kind"):
            read_marks(tmp_path / "marks.csv")

    def test_a_missing_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match="cannot be read"):
            read_marks(tmp_path / "marks.csv")


class TestMeter:
    def test_whole_iterations_are_counted(self) -> None:
        progress = measured(marks_at([0.0, 2.0, 4.0, 6.0, 8.0, 10.0]), 2.0, 8.0)
        assert progress.work_rate == pytest.approx(0.5)
        assert progress.kind == "marks"

    def test_parts_of_iterations_are_counted(self) -> None:
        assert measured(marks_at([0.0, 4.0, 8.0, 10.0]), 3.0, 9.0).work_rate == pytest.approx((0.25 + 1 + 0.5) / 6)

    def test_time_between_marks_is_no_iteration(self) -> None:
        marks = Marks(np.array([0.0, 6.0]), np.array([4.0, 10.0]), np.ones(2, dtype=np.int64), ("", ""))
        assert measured(marks, 0.0, 10.0).work_rate == pytest.approx(0.2)

    def test_a_running_iteration_is_left_out(self) -> None:
        assert measured(marks_at([0.0, 2.0, 4.0, 6.0, 8.0]), 0.0, 9.5).work_rate == pytest.approx(0.5)

    def test_even_iterations_are_sure(self) -> None:
        assert measured(marks_at([float(edge) for edge in range(20)]), 2.3, 12.3).rel_sd == pytest.approx(0.001)

    def test_the_stated_error_covers_the_scatter_of_windows(self) -> None:
        rng = np.random.default_rng(4)
        edges_s = np.cumsum(0.7 * np.maximum(1 + 0.2 * rng.standard_normal(3000), 0.1))
        windows = [measured(marks_at(edges_s.tolist()), begin_s, begin_s + 10) for begin_s in range(0, 1500, 10)]
        rates = np.array([progress.work_rate for progress in windows])
        stated = np.array([progress.rel_sd for progress in windows])
        scatter = np.std(rates) / np.mean(rates)
        assert 0.5 * scatter < np.median(stated) < 2 * scatter

    def test_the_mean_iteration_is_known_to_who_aligns_windows(self) -> None:
        meter = MarksMeter(marks_at([0.0, 2.0, 4.0, 6.0, 8.0, 10.0]))
        meter.measure(window(1.0, 9.0))
        assert isinstance(meter, KnowsPeriod)
        assert meter.period_s == pytest.approx(2.0)

    @pytest.mark.parametrize(
        ("edges_s", "reason"),
        [
            ([100.0, 101.0, 102.0], "too much"),
            ([0.0, 1.0, 2.0, 3.0], "too much"),
            ([0.0, 0.5, 1.0, *np.arange(1.1, 6.0, 0.1)], "too much"),
            ([0.0, 50.0], "longer"),
        ],
    )
    def test_a_window_that_marks_do_not_cover_is_refused(self, edges_s: list[float], reason: str) -> None:
        progress = measured(marks_at(edges_s), 2.5, 12.5)
        assert np.isnan(progress.work_rate)
        assert reason in progress.reason

    def test_a_file_is_read_anew_for_every_window(self, tmp_path: Path) -> None:
        file = MarksFile.create(tmp_path / "marks")
        meter = MarksMeter(lambda: read_marks(tmp_path / "marks", offset_s=-5.0))
        assert "not marked" in meter.measure(window(0.0, 10.0)).reason
        for second in range(5, 15):
            file.add(second * SECOND_NS, (second + 1) * SECOND_NS)
        assert meter.measure(window(0.0, 10.0)).work_rate == pytest.approx(1.0)

    def test_an_unreadable_file_is_a_refusal(self, tmp_path: Path) -> None:
        progress = MarksMeter(lambda: read_marks(tmp_path / "marks")).measure(window(0.0, 10.0))
        assert np.isnan(progress.work_rate)
        assert "cannot be read" in progress.reason

    @pytest.mark.parametrize("name", ["gpt2_accum", "gcn", "resnet50_stall", "stream"])
    def test_recorded_iterations_are_constant(self, shared_data: Path, name: str) -> None:
        marks = read_marks(shared_data / "h200_training" / f"{name}.marks.csv")
        begins_s = np.arange(marks.start_s[0], marks.end_s[-1] - 10, 1.7)
        rates = np.array([measured(marks, begin_s, begin_s + 10).work_rate for begin_s in begins_s])
        assert np.abs(rates / np.median(rates) - 1).max() < 0.002
