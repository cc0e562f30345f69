"""What was done to a run, or withheld from it, as it is kept and read again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from hrmdoc.live.consent import is_id
from hrmdoc.live.journal import Journal
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

Status = Literal[
    "done", "written", "refused", "failed", "withheld", "asked", "helped", "ineffective", "released"
]
FORMER_NAME = "deeds.jsonl"
FORMER_STATUS: dict[object, Status] = {"in vain": "ineffective"}
"""What stood for it before: an action log that an older watch wrote is still read."""
APPLIED, FAILED = ("done", "written"), ("refused", "failed")


@dataclass(frozen=True, slots=True)
class TakenAction:
    """What was done to a run, and how it went.

    Attributes:
        reason: the cause that it is for, or the symptom that it ends.
        status: `done` (the run executed the action), `written` (the config was patched), `refused` or
            `failed` (with `why`), `withheld` (the policy does not allow it, `why` tells), `asked` (it
            waits for a person's yes), `helped` (a later look did not show the symptoms any more),
            `ineffective` (they still showed when its time was up or the run ended), `released` (taken
            back, as it is needed no more).
        what: the action with its value, or the changes of the patch.
        gone: the symptoms that showed and must be gone when it has helped.
        files: the patched configs, none for an action.
        id: what it is approved by, where it was asked for.
    """

    remedy: str
    title: str
    reason: str
    what: str
    status: Status
    at: float
    step: int | None = None
    why: str = ""
    gone: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    id: str = ""


def recorded(record: Path | None) -> Iterator[TakenAction]:
    """What was done before, also by the name that the log of actions once had; what is no action of this kind
    is passed over."""
    if record is None:
        return
    for path in (record.with_name(FORMER_NAME), record):
        for entry in Journal(path).entries():
            status = entry.get("status")
            former = FORMER_STATUS.get(status, status) if isinstance(status, str) else status
            with suppress(msgspec.ValidationError):
                action = msgspec.convert({**entry, "status": former}, TakenAction)
                if not action.id or is_id(action.id):
                    yield action


def told(why: str) -> str:
    """A reason that a run gave, as it may be kept and shown."""
    return redact(clean(why, 300))
