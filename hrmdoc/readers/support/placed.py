"""Lines of text that were taken out of a file, read by the reader of text, with places of that file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec.structs import replace

from hrmdoc.readers.support.base import Opened
from hrmdoc.record.records import Damage, Event, Fact, Line, Points, Record


class Placed:
    """A session of text that is handed single lines, each with its place in the file.

    Args:
        session: reads the lines as if they were a file of their own.
    """

    def __init__(self, session: Opened) -> None:
        self._session = session
        self._places = array("q")

    @property
    def lines(self) -> int:
        """How many lines of text have ended so far."""
        return self._session.lines

    def feed(self, lines: Iterable[tuple[int, str]]) -> Iterator[Record]:
        """Records of the next lines; of each its place and its text without the line end."""
        texts = []
        for place, text in lines:
            self._places.append(place)
            texts.append(f"{text}\n")
        yield from map(self._moved, self._session.feed("".join(texts).encode("utf-8", "replace")))

    def close(self) -> Iterator[Record]:
        """What waited for lines that do not come any more."""
        yield from map(self._moved, self._session.close())

    def _moved(self, record: Record) -> Record:
        """`record` with the line of the file instead of that of the text."""
        if isinstance(record, Points) and record.lines is not None:
            places = np.frombuffer(self._places, np.int64)
            return replace(record, lines=places[np.clip(record.lines - 1, 0, len(places) - 1)])
        if isinstance(record, Line | Event | Fact | Damage) and record.line is not None and len(self._places):
            return replace(record, line=self._places[min(max(record.line, 1), len(self._places)) - 1])
        return record
