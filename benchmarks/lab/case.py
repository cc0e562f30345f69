"""What a fault of a program is to the lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.lab.spec import Value


@dataclass(frozen=True, slots=True)
class Case:
    """A fault with its true causes, its strength and its onset; a program's own defaults where these are
    None."""

    fault: str
    causes: tuple[str, ...]
    strength: float | None = None
    onset: int | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
