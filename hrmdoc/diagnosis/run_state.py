"""How a run stands, and whether enough of it was read for a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from hrmdoc.examination.behind import behind_end
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.records import CELL_STOPPED
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.rulebook import Rulebook

STOPPED = "stopped"
"""What a monitor that ended a training says of its end."""
CURVES = ("train.", "eval.", "perplexity", "rl.reward", "dpo.", "act.")
"""How the roles of losses, scores and rewards begin."""
FAMILIES = frozenset({"loss", "error", "score", "reward"})
"""Of series without a role by which a run can be judged all the same: the losses of two adversaries."""
FEWEST_POINTS = 3
RunState = Literal["running", "finished", "crashed", "hung", "stopped", "unknown"]


def run_state(
    run: Run, facts: Mapping[str, Any], symptoms: Iterable[Symptom], book: Rulebook, *, closed: bool
) -> RunState:
    """How the run stands: an end event before a fatal line that it did not outlive, the planned last step,
    silence, going on."""
    if (end := run.end) is not None:
        if end.detail in (CELL_STOPPED, STOPPED):
            return "stopped"
        return "crashed" if "crash" in end.detail or "exception" in end.detail else "finished"
    present = [symptom for symptom in symptoms if symptom.state == "present"]
    if _broke_off(run, present):
        return "stopped" if _by_hand(run, present) else "crashed"
    if _came_to_its_last_step(run, facts.get("run.total_steps")):
        return "finished"
    became = {rule.run_state for symptom in present if (rule := book.symptoms.get(symptom.id))}
    states: tuple[RunState, ...] = ("hung", "stopped")
    return next((state for state in states if state in became), "unknown" if closed else "running")


def _came_to_its_last_step(run: Run, total: object) -> bool:
    series = run.progress
    return series is not None and isinstance(total, int | float) and int(series.steps[-1]) >= total - 1


def _broke_off(run: Run, present: Iterable[Symptom]) -> bool:
    """Whether a fatal line or an exception ended the run."""
    fatal = (s for s in present if s.signature_role in ("root", "cascade") and s.severity == "critical")
    if any(not symptom.behind for symptom in fatal):
        return True
    last = (event for event in run.events[-1:] if event.kind == "exception")
    return any(not run.outlived(event) and behind_end(run, event) is None for event in last)


def _by_hand(run: Run, present: Iterable[Symptom]) -> bool:
    """Whether nothing but an interrupt from the keyboard ended the run."""
    fatal = any(s.severity == "critical" and s.signature_role in ("root", "cascade") for s in present)
    return not fatal and all(event.detail.startswith("KeyboardInterrupt") for event in run.events[-1:])


def says_too_little(run: Run, verdict: str, symptoms: Sequence[Symptom], *, closed: bool) -> bool:
    """Whether nothing was read that a verdict can rest on, or nothing shows in a run that has ended without a
    curve by which it could be called healthy."""
    if not _says_anything(run, verdict):
        return True
    shows = verdict != "healthy" or any(symptom.seen for symptom in symptoms)
    return closed and not shows and not _has_curve(run)


def _says_anything(run: Run, verdict: str) -> bool:
    """Whether there is a message, an event of the run, or a metric, whose role must be known where nothing
    was found. That something was launched says nothing of it."""
    if run.lines or any(event.kind != "launch" for event in run.events):
        return True
    return bool(run.points) and (verdict != "healthy" or any(map(_has_meaning, run.series.values())))


def _has_meaning(series: Series) -> bool:
    """Whether it is known what a series is, or of which sort."""
    return series.role.role is not None or (len(series) >= FEWEST_POINTS and _of_a_family(series))


def _has_curve(run: Run) -> bool:
    """Whether there is a curve by which a run can be called healthy: a loss, a score or a reward of three
    points and more."""
    judged = (s for s in run.series.values() if _is_judged(s))
    return any(np.count_nonzero(np.isfinite(series.values)) >= FEWEST_POINTS for series in judged)


def _is_judged(series: Series) -> bool:
    role = series.role.role
    return _of_a_family(series) if role is None else role.startswith(CURVES)


def _of_a_family(series: Series) -> bool:
    """Whether it is a curve by its family; rows at no step may be a table of runs, whose roles were taken."""
    return series.axis != "index" and series.nature.family in FAMILIES
