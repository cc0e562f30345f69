"""A mini notation for series, in the manner of Prometheus' rule tests.

Items are separated by blanks: `VALUE[+INCREMENT|-INCREMENT][*FACTOR][~NOISE][xCOUNT]`. `2.5-0.01~0.05x100` is
a hundred points that fall from 2.5 by 0.01 each with normal noise of standard deviation 0.05; `1*2x8`
doubles. `nan`, `inf` and `-inf` are values, `_` is a missing point.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.errors import RuleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 10_000_000
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_ITEM = re.compile(
    rf"(?P<value>[+-]?(?:{_NUMBER}|nan|inf)|_)(?P<increment>[+-]{_NUMBER})?(?:\*(?P<factor>{_NUMBER}))?"
    rf"(?:~(?P<noise>{_NUMBER}))?(?:x(?P<count>\d+))?"
)


def series_from(notation: str, *, seed: str) -> NDArray[np.float64]:
    """The values that `notation` describes, shape [n]; missing points are NaN.

    Args:
        notation: see the module.
        seed: any text; the same text gives the same noise.

    Raises:
        RuleError: an item cannot be read; the message names it.
    """
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    generator = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    parts: list[NDArray[np.float64]] = []
    total = 0
    for item in notation.split():
        found = _ITEM.fullmatch(item)
        if found is None:
            raise RuleError(
                f"{item!r} is no item of a series", hint="write VALUE[+INCREMENT][*FACTOR][~NOISE][xCOUNT]"
            )
        count = int(found["count"] or 1)
        total += count
        if total > MOST:
            raise RuleError(f"a series of more than {MOST} points")
        value = float("nan") if found["value"] == "_" else float(found["value"])
        index = np.arange(count)
        values = value * float(found["factor"] or 1.0) ** index + float(found["increment"] or 0.0) * index
        if found["noise"]:
            values = values + float(found["noise"]) * generator.standard_normal(count)
        parts.append(values)
    return np.concatenate(parts) if parts else np.empty(0)
