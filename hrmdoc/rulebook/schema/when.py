"""`when`: what makes a symptom present."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hrmdoc.rulebook.schema.common import Number


class LinesWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Log lines matched by the signatures that name this symptom. `recovers`: it is over when training goes
    on behind the last of them, as it always is for a fatal line. `got_over`: the signature by which the
    program says so itself."""

    at_least: int = 1
    recovers: bool = False
    got_over: str = ""


class EventWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Events of one kind; `within_steps` asks that they fall into so little progress."""

    kind: str
    at_least: int = 1
    within_steps: int | None = None
    pattern: str | None = None


class SilenceWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """No progress for longer than `factor` times the median interval between points, and than `floor`
    seconds; than `start` seconds where no interval is known yet."""

    factor: float = 10.0
    floor: float = 120.0
    start: float = 1800.0


_FORMS = ("detector", "lines", "check", "event", "silence", "all", "any", "absent")


class When(Struct, forbid_unknown_fields=True, frozen=True):
    """What makes a symptom present: exactly one of `detector`, `lines`, `check`, `event`, `silence`, `all`,
    `any`, `absent`.

    A detector gives one score a point of `role` (paired with `against` where it compares two roles). The
    symptom opens when the score has reached `enter` for `patience` points in a row, and closes when it has
    fallen to `leave` (default: `enter`) for `leave_patience` points. `direction: below` turns both
    comparisons round. Below `min_points` points it is not evaluated. Of several ranks that log the role the
    lowest is watched, with `each_rank` every one: what is wrong on one of them is no matter of comparison.
    """

    detector: str | None = None
    role: str | tuple[str, ...] | None = None
    against: str | None = None
    with_: dict[str, Any] = field(name="with", default_factory=dict)
    enter: Number | None = None
    leave: Number | None = None
    patience: int = 1
    leave_patience: int = 1
    direction: Literal["above", "below"] = "above"
    min_points: int = 1
    each_rank: bool = False
    lines: LinesWhen | None = None
    check: str | None = None
    event: EventWhen | None = None
    silence: SilenceWhen | None = None
    all: tuple[When, ...] | None = None
    any: tuple[When, ...] | None = None
    absent: When | None = None

    def form(self) -> str:
        """Which one of the forms this is."""
        forms = (
            self.detector,
            self.lines,
            self.check,
            self.event,
            self.silence,
            self.all,
            self.any,
            self.absent,
        )
        used = [name for name, form in zip(_FORMS, forms, strict=True) if form is not None]
        if len(used) != 1:
            raise ValueError(
                f"`when` needs exactly one of {', '.join(_FORMS)}, found {', '.join(used) or 'none'}"
            )
        return used[0]

    @property
    def parts(self) -> tuple[When, ...]:
        """The conditions that `all`, `any` or `absent` joins; none for the other forms."""
        return (*(self.all or ()), *(self.any or ()), *((self.absent,) if self.absent else ()))

    @property
    def only_checks(self) -> bool:
        """Whether it is made of expressions alone, however they are joined."""
        return all(part.check is not None for part in self.walk() if not part.parts)

    def walk(self) -> Iterator[When]:
        """This condition and everything inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def with_detectors(self, changed: Callable[[When], When]) -> When:
        """This condition with every detector of it, however deep, as `changed` gives it back."""
        if self.detector is not None:
            return changed(self)
        parts = tuple(part.with_detectors(changed) for part in self.parts)
        if self.absent is not None:
            return replace(self, absent=parts[0])
        return replace(self, **{joint: parts for joint in ("all", "any") if getattr(self, joint) is not None})
