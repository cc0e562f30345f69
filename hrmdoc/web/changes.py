"""The two things that a page can change: a patch is written, or the last one taken back. Both ask again
whether they may."""

from __future__ import annotations

from dataclasses import dataclass

from hrmdoc.errors import HrmdocError, PatchError
from hrmdoc.readers import RunGroup
from hrmdoc.remedies import store
from hrmdoc.remedies.choice import check_rerun
from hrmdoc.web.guard import same
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import examine
from hrmdoc.web.run_page import proof, writable, written


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it, in a sentence."""

    done: bool
    said: str


def apply(group: RunGroup, roots: Roots, remedy: str, shown: str) -> Outcome:
    """Writes the patch of a remedy of a run, if it still is the one that was `shown`."""
    try:
        analysis = examine(group, roots)
        every = (one for offered in analysis.prescriptions.values() for one in offered)
        offer = next((one for one in every if one.remedy.id == remedy and one.patch is not None), None)
        if offer is None or offer.patch is None:
            return Outcome(False, "the run has no such patch any more; nothing was written")
        if not same(proof(offer), shown):
            return Outcome(False, "the patch is another one by now; look at it again. Nothing was written")
        if not writable(offer, roots):
            return Outcome(False, "its config lies outside the folders that are served; nothing was written")
        check_rerun(analysis, offer.patch)
        files = [entry.file for entry in store.write(offer.patch)]
    except HrmdocError as error:
        return Outcome(False, error.message())
    return Outcome(
        True, f"written to {', '.join(map(roots.name, files))}; start the run again to see its effect"
    )


def undo(group: RunGroup, roots: Roots, file: str, shown: str) -> Outcome:
    """Takes back the newest patch of a config of the run, if it still is the one that was `shown`."""
    try:
        known = {one.file: one for one in written(examine(group, roots), roots)}
        if file not in known or not same(known[file].digest, shown) or not roots.hold(file):
            raise PatchError("there is no such patch to take back")
        entry = store.undo(file)
    except HrmdocError as error:
        return Outcome(False, error.message())
    return Outcome(True, f"taken back: {roots.name(entry.file)} is what it was before")
