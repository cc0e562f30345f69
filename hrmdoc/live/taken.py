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
APPLIED, FAILED = ("done", "written"), ("refused", "failed")


@dataclass(frozen=True, slots=True)
class TakenAction:
    """What was done to a run, and how it went.

    Attributes:
        reason: the cause that it is for, or the symptom that it ends.
        status: `done` (the run executed the action), `written` (the config was patched), `refused` or
            `failed` (with `why`), `withheld` (the policy does not allow it, `why` says why), `asked` (it
            waits for a person's yes), `helped` (a later update did not show the symptoms any more),
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
    """What was done before; what is no action of this kind is passed over."""
    if record is None:
        return
    for entry in Journal(record).entries():
        with suppress(msgspec.ValidationError):
            action = msgspec.convert(entry, TakenAction)
            if not action.id or is_id(action.id):
                yield action


def questions(record: Path) -> tuple[dict[str, TakenAction], dict[str, TakenAction]]:
    """What a person was asked, by its id; and of it what needs no answer any more, with what became of it."""
    every = [one for one in recorded(record) if one.status != "withheld"]
    asked = {one.id: one for one in every if one.status == "asked"}
    latest = {one.remedy: one for one in every}
    return asked, {
        name: latest[one.remedy] for name, one in asked.items() if latest[one.remedy].status != "asked"
    }


def shortened(why: str) -> str:
    """A reason that a run gave, as it may be kept and shown."""
    return redact(clean(why, 300))
