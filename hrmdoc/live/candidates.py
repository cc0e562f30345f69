"""What may be done about a diagnosis, one after the other, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hrmdoc.analysis import Analysis
from hrmdoc.live.taken import TakenAction, shortened
from hrmdoc.remedies import actions
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.reports.layout import typed
from hrmdoc.rulebook import Remedy


def candidates(analysis: Analysis, most: int) -> Iterator[tuple[str, Prescription]]:
    """The remedies that change a config, or would if it let them: of each cause the first `most`."""
    for cause, group in analysis.prescriptions.items():
        for one in group[:most]:
            if one.is_hindered or (one.patch is not None and one.patch.edits):
                yield cause, one


def hindered_action(analysis: Analysis, one: Prescription, cause: str, now: float) -> TakenAction:
    """A remedy that the config does not let be made."""
    action = begun(analysis, one.remedy, cause, one.remedy.title, now)
    return replace(action, status="withheld", why=shortened(one.obstacle))


def facts_now(analysis: Analysis) -> dict[str, Any]:
    """The facts of a live run as they are by now."""
    return actions.live_facts(analysis.run, analysis.situation.facts)


def foreign(one: Prescription) -> str | None:
    """Why a file is not changed that nothing but the run's own record names."""
    if not one.unnamed or one.patch is None:
        return None
    file = one.patch.edits[0].path
    return f"no file of the run's folder names it; hrmdoc apply --config {typed(str(file))} changes it"


def begun(analysis: Analysis, remedy: Remedy, reason: str, what: str, now: float) -> TakenAction:
    """An action as it is done, with the symptoms that must be gone when it has helped."""
    showing = {symptom.id for symptom in analysis.present}
    gone = tuple(name for name in remedy.verify.gone if name in showing)
    return TakenAction(remedy.id, remedy.title, reason, what, "done", now, gone=gone)


def patched(analysis: Analysis, patch: Patch, remedy: Remedy, reason: str, now: float) -> TakenAction:
    """The same of a patch."""
    what = ", ".join(f"{change.path} {change.before} -> {change.after}" for change in patch.changes)
    return replace(
        begun(analysis, remedy, reason, what, now),
        status="written",
        files=tuple(str(edit.path) for edit in patch.edits),
    )
