"""How a command ended, as who started it saw: a line for the diagnosis, since what dies can say nothing, and
a file for `hrmdoc verdict`."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from hrmdoc import systems
from hrmdoc.live.actionlog import FILE as ACTIONS
from hrmdoc.live.actionlog import ActionLog
from hrmdoc.live.incidents import Incident
from hrmdoc.live.state import state_folder
from hrmdoc.paths import kept_in, read_kept, replace_file
from hrmdoc.record.records import Line

ASKED = systems.signals("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2")
"""Signals by which a run is asked to end: it did not fail then."""
WORD = "hrmdoc run: the command "
"""How what is told begins."""
FILE = "ended.json"
LATER_S = 2.0
"""What was written to the log so many seconds after the end is of another command."""


class Ending(Struct, frozen=True):
    """How the command that wrote a log ended. `status`: as `subprocess` gives it; `ended`: Unix seconds."""

    status: int
    ended: float
    schema: str = "hrmdoc.ended/1"


def signal_of(status: int) -> int:
    """The signal by which a status says that a process was ended, 0 where it says none; above 128 it may be
    one that a shell reports."""
    return -status if status < 0 else max(0, status - 128)


def words(status: int) -> str:
    """How a process ended."""
    try:
        return f"was ended by {signal.Signals(signal_of(status)).name}"
    except ValueError:
        return f"ended with exit status {status}"


def told(status: int | None, still: float | None = None) -> list[Line]:
    """What is said of a command that failed: by its exit status, by a signal by which nobody is asked to end,
    or because it stood `still` for so many seconds and was ended."""
    if still is not None:
        how = f"stood still for {still:g} s, and was ended"
    elif not status or signal_of(status) in ASKED:
        return []
    else:
        how = words(status)
    return [Line(WORD + how, "", 0)]


def note_stop(log: Path, incident: Incident, at: float) -> None:
    """Notes in the record of what was done that the command was stopped, and for what."""
    folder = state_folder(log.resolve())
    if folder is not None:
        why = f"for {incident.symptom}: {incident.evidence or incident.title}"
        entry = {"kind": "stop", "status": "stopped", "what": "the command", "why": why}
        ActionLog(folder / ACTIONS).append([{**entry, "step": incident.step, "at": at}])


def keep(log: Path, status: int) -> None:
    """Keeps it for `kept`, where there is room."""
    folder = state_folder(log.resolve())
    if folder is not None:
        replace_file(folder / FILE, json.dumps(msgspec.to_builtins(Ending(status, time.time()))) + "\n")


def kept(log: Path) -> Ending | None:
    """What was kept of the command that wrote a log last; None where nothing was."""
    try:
        found = msgspec.json.decode(read_kept(kept_in(log.resolve()) / FILE), type=Ending)
        return found if log.stat().st_mtime <= found.ended + LATER_S else None
    except (OSError, msgspec.MsgspecError):
        return None
