"""Whether an assistant may write a patch, and the writing. By default it may not."""

from __future__ import annotations

from pathlib import Path

from hrmdoc import settings
from hrmdoc.analysis import Analysis
from hrmdoc.live.notes import note, note_files
from hrmdoc.remedies import store
from hrmdoc.remedies.choice import check_rerun
from hrmdoc.remedies.policy import Gate
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.rulebook import Remedy
from hrmdoc.web.roots import Roots

KIND = "by an assistant"
"""How the record names it."""


def barred(remedy: Remedy, cause: str, analysis: Analysis, *, allowed: bool) -> str:
    """Why the server or `[policy]` keeps an assistant from a remedy; "" where neither does. An assistant is
    held to what the policy lets be done without asking, since nobody is asked here."""
    if not allowed:
        return "the server was started without --allow-apply; show it to a person"
    own = settings.current(settings.load(Path.cwd()), analysis.book)
    if "policy" in own.withheld:
        return "[policy] of the settings is not trusted (hrmdoc trust)"
    gate = Gate(own.policy)
    if why := gate.bars(remedy, cause):
        return f"{why} ([policy] in hrmdoc.toml)"
    return "the policy wants a person to be asked first" if gate.asks(remedy) else ""


def refused(offer: Prescription, cause: str, analysis: Analysis, roots: Roots, *, allowed: bool) -> str:
    """Why a patch may not be written; "" where it may."""
    if why := barred(offer.remedy, cause, analysis, allowed=allowed):
        return why
    own = settings.current(settings.load(Path.cwd()), analysis.book)
    likely = next((one.probability for one in analysis.diagnosis.hypotheses if one.cause == cause), 0.0)
    if likely < own.policy.min_probability:
        return f"its cause has {likely:.0%}, less than the {own.policy.min_probability:.0%} of the policy"
    edits = offer.patch.edits if offer.patch else ()
    if not edits:
        return "programs are not edited; show the change to a person"
    if not all(roots.hold(edit.path) for edit in edits):
        return "its config lies outside of the folders that may be written"
    return ""


def apply(analysis: Analysis, offer: Prescription) -> list[str]:
    """Writes the patch with a backup, notes it in the run's record, and names the files.

    Raises:
        PatchError: it was written before and no run has seen it yet, or the file changed.
    """
    assert offer.patch is not None
    check_rerun(analysis, offer.patch)
    written = store.write(offer.patch, analysis.run.path)
    note(analysis.run.path, offer.remedy.id, offer.patch.overrides, "written", kind=KIND)
    note_files(written, offer.patch.overrides, kind=KIND)
    return [entry.file for entry in written]
