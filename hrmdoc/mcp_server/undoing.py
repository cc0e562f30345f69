"""Taking a patch back: the newest one that still holds in a config of the run, under the policy by which
patches are written."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from hrmdoc.analysis import Analysis
from hrmdoc.errors import PatchError
from hrmdoc.live.notes import note_undone
from hrmdoc.mcp_server.treatment import KIND, barred
from hrmdoc.remedies import store
from hrmdoc.remedies.files import digest
from hrmdoc.remedies.store import Entry
from hrmdoc.remedies.targets import targets
from hrmdoc.web.roots import Roots


def newest(analysis: Analysis, roots: Roots) -> Entry:
    """The patch of a run that was written last and still holds.

    Raises:
        PatchError: there is none.
    """
    where = targets(analysis.run, analysis.situation, analysis.book, within=roots.hold)
    held = [one for path in (*where.files, *where.records) for one in store.history(path)[-1:]]
    if not held:
        raise PatchError("no patch of this run is left to take back", hint="only what hrmdoc wrote is undone")
    return max(held, key=lambda one: one.time)


def proof(entry: Entry) -> str:
    """What binds the undoing to the very patch that was shown."""
    return digest(f"{entry.file}\0{entry.id}\0{entry.after}".encode())[:16]


def written_at(entry: Entry) -> str:
    """When, in UTC to the second."""
    return datetime.fromtimestamp(entry.time, UTC).isoformat(timespec="seconds")


def refused(entry: Entry, analysis: Analysis, roots: Roots, *, allowed: bool) -> str:
    """Why a patch may not be taken back; "" where it may."""
    remedy = analysis.book.remedies.get(entry.remedy)
    if remedy is None:
        return "its remedy is unknown to the rules, so no policy speaks of it; a person may undo it"
    causes = (
        cause
        for cause, offered in analysis.prescriptions.items()
        if any(one.remedy.id == remedy.id for one in offered)
    )
    cause = next(causes, "a cause that the run no longer shows")
    if why := barred(remedy, cause, analysis, allowed=allowed):
        return why
    return "" if roots.hold(entry.file) else "its config lies outside of the folders that may be written"


def undo(entry: Entry, analysis: Analysis) -> None:
    """Restores the config byte for byte, and notes it in the run's record.

    Raises:
        PatchError: the file was edited since, or the backup is missing or damaged.
    """
    taken = store.undo(entry.file)
    note_undone(taken if taken.run else replace(taken, run=analysis.run.path), kind=KIND)
