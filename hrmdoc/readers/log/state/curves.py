"""Curves that a log prints whole, kept until its end shows whether they are some.

Programs print such lists at the end, or again in every epoch, longer each time. A list of few values that
comes again with others is what one step gave, and no curve.
"""

from __future__ import annotations

from collections.abc import Iterator

from hrmdoc.readers.log.grammar.words import plain
from hrmdoc.readers.log.state.cursor import Log
from hrmdoc.readers.log.state.sink import Mark

FEWEST = 4
"""Values of a curve."""
MOST = 10_000


class Curves:
    """Lists of values by name and rank."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int | None], tuple[list[float], Mark]] = {}
        self._others: set[tuple[str, int | None]] = set()

    def keep(self, name: str, values: list[float], mark: Mark) -> None:
        """Takes a list in."""
        key = (name, mark.rank)
        before = self._found.get(key)
        if before is not None and values[: len(before[0])] != before[0]:
            self._others.add(key)
        self._found[key] = (values, mark)

    def finish(self, log: Log) -> Iterator[tuple[str, list[float], Mark]]:
        """Curves whose measures no line shows point by point."""
        known = {plain(name) for name in log.sink.metrics()}
        for key, (values, mark) in self._found.items():
            if key not in self._others and len(values) >= FEWEST and plain(key[0]) not in known:
                yield key[0], values, mark
        self._found.clear()
