"""`gpoeo trace period`: how long an iteration takes, or why that cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpoeo_env.cli.analysis.options import (
    FileArgument,
    FromOption,
    MarksOption,
    PlotOption,
    ToOption,
    check_plot,
    read_stretch,
)
from gpoeo_env.cli.options import JsonOption
from gpoeo_env.cli.output import print_json, stdout
from gpoeo_env.cli.tables import percent
from gpoeo_env.progress.marks import read_marks

if TYPE_CHECKING:
    from gpoeo_env.progress.period import PeriodEstimate

__all__ = ["period"]


def period(
    *,
    file: FileArgument,
    from_s: FromOption = None,
    to_s: ToOption = None,
    marks: MarksOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Find the period of a training loop in its power, utilisation and counters, or say why there is none.

    The result is periodic, aperiodic (enough was seen, and nothing repeats) or refused (it cannot be told; the reason
    says why, for example because the sensor's own refresh may have made the rhythm). A period may be one iteration or a
    cycle of several.
    """
    from gpoeo_env.progress.period import estimate_period  # noqa: PLC0415 - scipy

    check_plot(plot)
    recording = read_stretch(file, from_s, to_s)
    marks_s = None if marks is None else read_marks(marks).start_s
    estimate = estimate_period(recording.t_s, recording.values, recording.names, marks_s=marks_s)
    verdict = _verdict(estimate)
    if plot is not None:
        from gpoeo_env.cli.analysis.figure import save  # noqa: PLC0415 - matplotlib
        from gpoeo_env.cli.analysis.period_figure import draw_period  # noqa: PLC0415 - matplotlib

        save(draw_period(recording, estimate, verdict), plot)
    if json:
        print_json(
            {
                "kind": estimate.kind,
                "period_s": estimate.period_s,
                "uncertainty_s": estimate.uncertainty_s,
                "confidence": estimate.confidence,
                "reason": estimate.reason,
                "channels": estimate.channels,
            }
        )
        return
    console = stdout()
    console.print(f"{recording.name}: {verdict}", markup=False, highlight=False)
    if estimate.channels:
        console.print(f"seen in {', '.join(estimate.channels)}", markup=False, highlight=False)


def _verdict(estimate: PeriodEstimate) -> str:
    if estimate.is_periodic:
        length = f"period {estimate.period_s:.5g} s ± {1000 * estimate.uncertainty_s:.2g} ms"
        confidence = "over 99.9 %" if estimate.confidence > 0.999 else percent(estimate.confidence)
        return f"{length}, confidence {confidence}: {estimate.reason}"
    return f"{estimate.kind}: {estimate.reason}"
