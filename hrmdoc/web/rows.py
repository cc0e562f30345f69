"""What a worker process does: reads one run, and says in a line how it stands."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from hrmdoc import settings
from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.fleet.work import prepared
from hrmdoc.readers import RunGroup
from hrmdoc.record.records import FloatArray
from hrmdoc.remedies.prescribe import prescribe
from hrmdoc.reports.html import capital, first_step
from hrmdoc.reports.layout import safe
from hrmdoc.reports.verdict import blame, sentence
from hrmdoc.web.following import follow, follows
from hrmdoc.web.roots import Roots

LIVE_S = 120.0
"""Seconds since its last write for which a run counts as going on."""
SPARKS = 40


@dataclass(frozen=True, slots=True)
class Row:
    """One run in a line.

    Attributes:
        said: the verdict in a sentence; `cause`: who is most probably to blame; `remedy`: what to do first.
        step: how far it is, in words; `spark`: points of its main curve in a box of 100 by 24, and
            `broken`: strokes along its foot where it has values that are not finite.
        live: whether it was going on when it was examined.
        cost: seconds that the examination took.
        fault: whether it did not come to its end.
    """

    verdict: str
    said: str
    cause: str = ""
    remedy: str = ""
    state: str = "unknown"
    step: str = ""
    metric: str = ""
    spark: str = ""
    broken: str = ""
    live: bool = False
    cost: float = 0.0
    fault: bool = False


def row_of(group: RunGroup, roots: Roots) -> Row:
    """Examines one run and sums it up; never raises."""
    began, live = time.perf_counter(), is_live(group)
    try:
        analysis = examine(group, roots)
    except Exception as error:  # noqa: BLE001 (one run that breaks the doctor must not hide the others)
        said = f"a fault of hrmdoc itself: {type(error).__name__}: {safe(str(error))}"
        return Row("no_data", said, cost=time.perf_counter() - began, fault=True)
    step = first_step(analysis)
    metric, progress, (spark, broken) = _progress(analysis)
    return Row(
        analysis.verdict,
        capital(sentence(analysis)),
        capital(blame(analysis)),
        step.remedy.title if step else "",
        analysis.state,
        progress,
        metric,
        spark,
        broken,
        live,
        time.perf_counter() - began,
    )


def is_live(group: RunGroup) -> bool:
    """Whether the run was written just now, so that more may come."""
    return time.time() - group.changed <= LIVE_S


def examine(group: RunGroup, roots: Roots) -> Analysis:
    """The analysis of one run, with remedies whose configs lie below the roots; one that was written just now
    counts as going on, unless it broke off by what is told only where nothing more is waited for.

    Raises:
        HrmdocError: the user's own settings or rules are wrong.
    """
    ready, live = prepared(settings.load(Path.cwd())), is_live(group)
    analysis = follow(group, ready) if live and follows(group) else _read(group, ready, closed=not live)
    if live and analysis.state == "crashed" and analysis.verdict in ("healthy", "info"):
        analysis = _read(group, ready, closed=True)
    if not analysis.diagnosis.hypotheses:
        return analysis
    offered = prescribe(
        analysis.run, analysis.situation, analysis.diagnosis, analysis.book, within=roots.hold
    )
    return replace(analysis, prescriptions=offered)


def _read(group: RunGroup, ready: Prepared, *, closed: bool) -> Analysis:
    session = AnalysisSession(group.folder, prepared=ready, compare=False)
    session.try_to_read_run(group)
    return session.diagnose(closed=closed, prescriptions=False)


def _progress(analysis: Analysis) -> tuple[str, str, tuple[str, str]]:
    """The metric that tells best how far training has come, its last step in words, and its curve."""
    series = analysis.run.progress
    if series is None:
        return "", "", ("", "")
    unit = {"index": "point", "epoch": "epoch", "sample": "sample"}.get(series.axis, "step")
    return safe(series.key.metric, 60), f"{unit} {int(series.steps.max()):,}", _spark(series.values)


def _spark(values: FloatArray) -> tuple[str, str]:
    """Medians of up to `SPARKS` stretches as points of a polyline, the lowest at the bottom, and as a path
    those stretches that hold values which are not finite."""
    if len(values) < 2:
        return "", ""
    parts = np.array_split(values, min(SPARKS, len(values)))
    x = np.linspace(1, 99, len(parts))
    finite = [part[np.isfinite(part)] for part in parts]
    broken = [at for at, part, whole in zip(x, finite, parts, strict=True) if len(part) < len(whole)]
    levels = np.array([np.median(part) for part in finite if len(part)])
    x = x[[len(part) > 0 for part in finite]]
    strokes = " ".join(f"M{at:.0f} 18V24" for at in broken)
    if len(levels) < 2:
        return "", strokes
    if levels.min() > 0 and levels.max() / 100 > levels.min():
        levels = np.log10(levels)
    levels = levels / (
        float(np.abs(levels).max()) or 1.0
    )  # a difference of the largest floats would overflow
    low, span = float(levels.min()), float(levels.max() - levels.min()) or 1.0
    points = (f"{a:.0f},{22 - (b - low) / span * 20:.1f}" for a, b in zip(x, levels, strict=True))
    return " ".join(points), strokes
