"""What rules of several sorts state alike."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["info", "warning", "critical"]
Status = Literal["experimental", "stable", "deprecated"]
Number = float | int | str  # a string is an expression over facts, `=optimizer.lr`
Phase = Literal["warmup", "early", "middle", "end"]


class Applies(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a rule speaks: run kinds (or all but some), phases, frameworks. Empty means everywhere."""

    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    frameworks: tuple[str, ...] = ()

    def fits(self, kind: str, framework: str) -> bool:
        """Whether it speaks about runs of this kind and framework."""
        return (
            kind not in self.not_kinds
            and (not self.kinds or kind in self.kinds)
            and (not self.frameworks or framework in self.frameworks)
        )
