"""What a supervisor keeps beside the log of its command, so that another can go on where it was killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hrmdoc.errors import InputError
from hrmdoc.paths import read_kept, replace_file, supervised_folder
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.place import is_spare

FILE = "state.json"
Phase = Literal["running", "waiting", "interrupted", "ended"]


class State(Struct, frozen=True):
    """How far a supervised command has come.

    Attributes:
        phase: `running`; `waiting` for the next start at `due`; `interrupted`, when supervisor and command
            were asked to end; `ended`, when it finished or was given up.
        attempts: all starts, the oldest first.
        pid, started: the process of the last one and its start (Unix seconds), by which it is known again.
        due: Unix seconds.
        verdict: the last one, in a line.
        before: attempts of former commands that wrote to the same log.
    """

    command: tuple[str, ...] = ()
    phase: Phase = "ended"
    attempts: tuple[Attempt, ...] = ()
    pid: int = 0
    started: float = 0.0
    due: float = 0.0
    verdict: str = ""
    before: int = 0
    schema: str = "hrmdoc.supervised/1"


def load(log: Path) -> State | None:
    """What was kept of the command that writes `log`; None where it was never supervised.

    Raises:
        InputError: it cannot be read, or is no such state.
    """
    path = supervised_folder(log) / FILE
    try:
        if path.lstat().st_uid != os.getuid():
            raise InputError("the state of the supervisor belongs to somebody else", file=path)
        found = msgspec.convert(json.loads(read_kept(path)), State)
        return replace(found, attempts=tuple(replace(one, log=_beside(log, one)) for one in found.attempts))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"the state of the supervisor cannot be read: {error.strerror}", file=path
        ) from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        hint = "move it away to begin anew"
        raise InputError(f"this is no state of a supervisor: {error}", file=path, hint=hint) from error


def _beside(log: Path, attempt: Attempt) -> str:
    """Where the output of an attempt lies: beside `log`, whatever folder one was in then and whatever the
    state says; elsewhere only where the disk of the log was full."""
    kept = Path(attempt.log)
    return str(kept if is_spare(kept) else log.with_name(kept.name or log.name))


def save(log: Path, state: State) -> bool:
    """Keeps the state, whole or not at all; False when it cannot be written."""
    text = json.dumps(msgspec.to_builtins(state))  # with escapes for a name that is no UTF-8
    return replace_file(supervised_folder(log) / FILE, text + "\n")
