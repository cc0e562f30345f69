"""Counts what a reader leaves out of a file, so that nothing is dropped without a word."""

from __future__ import annotations

from collections.abc import Iterator

from hrmdoc.record.records import Damage

NAMED = 20
"""Places that are named one by one; those behind them are counted."""


class LeftOut:
    """What was left out of one file: the first places are named as they come, the others in one sum at the
    end.

    Args:
        path: the file.
        things: what is left out, in the plural, such as `lines that are no JSON objects`.
    """

    def __init__(self, path: str, things: str) -> None:
        self._path = path
        self._things = things
        self._count = 0

    def at(self, line: int | None, what: str) -> Iterator[Damage]:
        """Notes one place."""
        self._count += 1
        if self._count <= NAMED:
            yield Damage(self._path, line, what, left_out=1)

    def rest(self) -> Iterator[Damage]:
        """How many there were beyond those that were named."""
        more = self._count - NAMED
        if more > 0:
            yield Damage(self._path, None, f"{more:,} more {self._things} were left out", left_out=more)
            self._count = NAMED
