"""Answers of a bounded size: lists are cut from their end, where the least important stands, and what was
left out is counted."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args

Detail = Literal["short", "more", "full"]
LIMITS: dict[Detail, int] = {"short": 3_000, "more": 12_000, "full": 40_000}
"""Bytes of an answer."""
assert tuple(LIMITS) == get_args(Detail)


def text(answer: dict[str, Any], detail: Detail) -> str:
    """The answer as JSON of at most as many bytes as `detail` allows, as far as its lists make it long.
    Changes `answer`."""
    limit = LIMITS[detail]
    document = _dumped(answer)
    while len(document.encode()) > limit and (longest := _longest(answer)) is not None:
        excess = len(document.encode()) - limit
        name, items = longest
        mean = max(1, len(_dumped(items)) // len(items))
        gone = min(len(items) - 1, max(1, excess // (2 * mean)))
        del items[-gone:]
        left = answer.setdefault("left_out", {})
        left[name] = left.get(name, 0) + gone
        document = _dumped(answer)
    return document


def cut(document: str, limit: int) -> str:
    """The beginning of a text that takes at most so many bytes in an answer."""
    kept = document[:limit]
    while (excess := len(_dumped(kept).encode()) - limit) > 0:
        kept = kept[: -max(1, excess // 4)]
    return kept


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def _longest(answer: dict[str, Any]) -> tuple[str, list[Any]] | None:
    """The list of two items or more that takes most room, by its name."""
    found = [(name, value) for name, value in answer.items() if isinstance(value, list) and len(value) > 1]
    return max(found, key=lambda one: len(_dumped(one[1])), default=None)
