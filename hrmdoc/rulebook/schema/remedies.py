"""rules/remedies/: what helps, how risky it is, and how one sees that it helped."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from hrmdoc.rulebook.schema.common import Applies


class Change(Struct, forbid_unknown_fields=True, frozen=True):
    """One canonical key and how it changes. `value` may be a number, a string, a boolean or an expression
    over facts (`=...`). One that is `optional` is passed over where it cannot be made."""

    key: str
    op: Literal["set", "multiply", "clamp", "remove"]
    value: Any = None
    min: float | None = None
    max: float | None = None
    optional: bool = False


class Verify(Struct, forbid_unknown_fields=True, frozen=True):
    """How one sees that a remedy helped: which symptoms must be gone, by when, and what else to look at."""

    gone: tuple[str, ...] = ()
    within: str = ""
    also: str = ""


class Fit(Struct, forbid_unknown_fields=True, frozen=True):
    """A condition without which a remedy is not offered; `why` says what hinders. An unknown fact hinders
    nothing."""

    check: str
    why: str


class Remedy(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/remedies/<id>.yaml. `applies`: the kinds of runs that it suits; `fits`: what else must hold.

    `afterwards`: the action that takes this one back once the symptoms that it is for are gone.
    `first_aid`: it is for these symptoms whatever their cause, and when they only warn.
    `specific`: it helps against what `verify.gone` names alone, so that it is offered where that shows."""

    id: str
    title: str
    kind: Literal["patch", "action", "manual"]
    risk: Literal["safe", "guarded", "manual"]
    why: str
    verify: Verify
    changes: tuple[Change, ...] = ()
    action: dict[str, Any] | None = None
    afterwards: dict[str, Any] | None = None
    first_aid: bool = False
    steps: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    specific: bool = False
    applies: Applies = Applies()
    fits: tuple[Fit, ...] = ()
    formerly: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
