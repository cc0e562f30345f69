"""What was done to a run or its config, and by whom, in the records of both."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from hrmdoc.live.actionlog import FILE, ActionLog
from hrmdoc.live.state import state_folder
from hrmdoc.remedies.store import Entry

BY_HAND = "by hand"


def note(path: str | Path, remedy: str, what: str, status: str, *, kind: str = BY_HAND) -> None:
    """Notes it in the record of the run, or the config, at `path`; nothing where there is none."""
    folder = state_folder(Path(path).resolve()) if path and os.path.exists(path) else None
    if folder is not None:
        entry = {"kind": kind, "remedy": remedy, "what": what, "status": status, "at": time.time()}
        ActionLog(folder / FILE).append([entry])


def note_files(entries: Iterable[Entry], what: str, *, kind: str = BY_HAND) -> None:
    """Notes in the record of each config that a patch was written to it."""
    for entry in entries:
        note(entry.file, entry.remedy, what, "written", kind=kind)


def note_undone(entry: Entry, *, kind: str = BY_HAND) -> None:
    """Notes that a patch was taken back, in the record of its config and of the run that it was made for."""
    for path in (entry.file, entry.run):
        note(path, entry.remedy, Path(entry.file).name, "taken back", kind=kind)
