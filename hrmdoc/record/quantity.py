"""What a metric's name promises: between which values it lies, and which of them costs no knowledge."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct


class Quantity(Struct, forbid_unknown_fields=True, frozen=True):
    """A quantity that has one definition wherever it is computed.

    Attributes:
        names: neighbouring words of a metric's name that say so, in lower case.
        unless: words beside them that say that it is another.
        lowest, highest: no value lies beyond them.
        percent: it is a share, which programs also give in percents.
        better: which way is better.
        guess: what whoever knows nothing gets, such as 0.5 for an order by chance; `margin`: what is no more
            than that away from it tells next to nothing.
        reverse: from here on, on the other side of the guess, it is known what is right, and the contrary is
            said.
        incredible: what honest results never come to, though its definition allows it.
        source: where that is defined.
    """

    names: tuple[str, ...]
    source: str
    unless: tuple[str, ...] = ()
    lowest: float = -math.inf
    highest: float = math.inf
    percent: bool = False
    better: Literal["high", "low"] = "high"
    guess: float | None = None
    margin: float = 0.0
    reverse: float | None = None
    incredible: float | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError("a quantity needs a name")
        if not self.lowest < self.highest:
            raise ValueError("`lowest` must lie below `highest`")
        if (self.guess is None) != (self.margin == 0.0) or (self.guess is None and self.reverse is not None):
            raise ValueError(
                "a `guess` needs a `margin` above 0; without a guess there is neither margin nor reverse"
            )
