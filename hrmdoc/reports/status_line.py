"""One line on how a watched run stands: step, speed, loss, time left, open incidents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.record.series import Series
from hrmdoc.reports.layout import safe
from hrmdoc.reports.terminal_curves import number
from hrmdoc.text.clean import duration

if TYPE_CHECKING:
    from hrmdoc.live.incidents import Incident

RECENT = 50
"""Points from which the speed is taken."""
NAMED = 3


def status_line(analysis: Analysis, open_incidents: Sequence[Incident]) -> str:
    """The line; parts that nobody can know are left out."""
    parts = [*_progress(analysis), *_loss(analysis), *_silence(analysis), _incidents(open_incidents)]
    return "  ·  ".join(parts)


def _progress(analysis: Analysis) -> list[str]:
    series = analysis.run.progress
    if series is None:
        lines = analysis.run.line_count
        return [f"{lines:,} lines, no metric yet" if lines else "nothing written yet"]
    planned = analysis.situation.facts.get("run.total_steps")
    step, total = int(series.steps[-1]), int(planned) if isinstance(planned, int | float) else 0
    words = [f"step {step:,}" + (f" of {total:,}" if total else "")]
    pace = speed(series)
    if not math.isfinite(pace):
        return words
    words.append(f"{pace:.3g} steps/s" if pace >= 0.1 else f"{1 / pace:.3g} s a step")
    return words + ([f"{duration((total - step) / pace)} left"] if total > step else [])


def speed(series: Series) -> float:
    """Steps a second over the last points, by differences of their own times; NaN where they have none."""
    steps, times = series.steps[-RECENT:], series.times[-RECENT:]
    timed = np.isfinite(times)
    if timed.sum() < 2:
        return math.nan
    rise = float(steps[timed][-1] - steps[timed][0])
    passed = float(times[timed][-1] - times[timed][0])
    return rise / passed if rise > 0 and passed > 0 else math.nan


def _loss(analysis: Analysis) -> list[str]:
    found = (analysis.run.best(role) for role in ("train.loss", "rl.reward"))
    series = next((one for one in found if one is not None), None)
    return [] if series is None else [f"{safe(series.key.metric, 24)} {number(float(series.values[-1]))}"]


def _silence(analysis: Analysis) -> list[str]:
    quiet = math.nan if analysis.run.clock is None else analysis.run.clock.quiet
    return [f"quiet for {duration(quiet)}"] if quiet >= 60 else []


def _incidents(incidents: Sequence[Incident]) -> str:
    if not incidents:
        return "no open incident"
    more = f" and {len(incidents) - NAMED} more" if len(incidents) > NAMED else ""
    return f"{len(incidents)} open: {', '.join(one.symptom for one in incidents[:NAMED])}{more}"
