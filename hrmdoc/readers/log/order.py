"""Which formats are asked about a line, and in which order."""

from __future__ import annotations

from typing import NamedTuple

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.lines.scan import ANYTHING, METRIC
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log


class _Asked(NamedTuple):
    """A format at its place, with its marks, and whether lines of some kinds concern it by what they are
    about; others do where what is open makes any line one about metrics."""

    place: int
    format: Format
    marks: tuple[str, ...] | None
    concerned: bool


class InOrder:
    """Formats in the order in which they are asked: the declared one; among equals, the last to understand a
    line is the first."""

    def __init__(self, known: list[Format]) -> None:
        self._known = known
        self._asked: dict[tuple[int, bool], list[_Asked]] = {}

    def parse(self, log: Log, line: Line, cursor: Cursor, *, opened: bool) -> Reading | None:
        """The reading of the first format that takes the line; `opened`: something of several lines is."""
        text, key = line.text, (line.kinds, opened)
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = self._of_interest(*key)
        measures: bool | None = None
        for place, format_, marks, concerned in asked:
            if not concerned:
                measures = cursor.measures if measures is None else measures
                if not measures:
                    continue
            if marks is not None and not opened and not any(map(text.__contains__, marks)):
                continue
            reading, measures = format_.parse(line, cursor), None
            if reading is None:
                continue
            if reading.left == "line":
                reading.give(log.sink)
                continue
            if place and self._known[place - 1].ORDER == format_.ORDER:
                self._prefer(place)
            return reading
        return None

    def _of_interest(self, kinds: int, opened: bool) -> list[_Asked]:
        """The formats that are asked about lines of some kinds."""
        found = []
        for place, format_ in enumerate(self._known):
            concerned = bool(kinds & format_.KINDS) or format_.KINDS == ANYTHING
            if concerned or (opened and format_.KINDS & METRIC):
                found.append(_Asked(place, format_, format_.MARKS, concerned))
        return found

    def _prefer(self, place: int) -> None:
        self._asked.clear()
        found = self._known.pop(place)
        first = next(at for at, other in enumerate(self._known) if other.ORDER == found.ORDER)
        self._known.insert(first, found)
