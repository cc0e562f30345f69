"""Whether an action may be judged yet: how far the run has come since, and what still shows of the fault."""

from __future__ import annotations

import re

from hrmdoc.analysis import Analysis
from hrmdoc.live.taken import TakenAction
from hrmdoc.remedies.aims import DECIDED, is_setting
from hrmdoc.rulebook import Remedy

STEPS = 50
"""Steps over which something is judged where its remedy names none."""
SECONDS = 60.0
"""The same where the steps of the run are not known."""
_STEPS = re.compile(r"(\d{1,6}) steps")


def went_on(analysis: Analysis, action: TakenAction, remedy: Remedy, now: float) -> bool:
    """Whether the run has gone on far enough since an action for its effect to be seen: the steps that the
    remedy names, or half of what was left of the run."""
    series = analysis.run.progress
    if series is None or not len(series) or action.step is None:
        return now - action.at >= SECONDS
    named = _STEPS.search(remedy.verify.within or "")
    stretch = float(named[1]) if named else STEPS
    total = analysis.situation.facts.get("run.total_steps")
    if isinstance(total, int | float) and total > action.step:
        stretch = min(stretch, (total - action.step) / 2)
    return float(series.steps[-1]) - action.step >= stretch


def still_shown(analysis: Analysis, remedy: Remedy, reason: str) -> bool:
    """Whether anything shows that the remedy is against, or that speaks for the cause that it was for. What
    the config says does not count: a live action changes no file."""
    measured = {
        one.id
        for one in analysis.symptoms
        if one.state == "present" and one.signature_role is None and not is_setting(one.id, analysis.book)
    }
    causes = (one for one in analysis.diagnosis.hypotheses if one.cause == reason)
    spoken = {found.symptom for one in causes if one.probability >= DECIDED for found in one.for_}
    return not measured.isdisjoint({*remedy.verify.gone, *spoken})
