"""How much one source may cost. Every limit on the work for hostile files stands here.

What a source holds beyond a limit is left out, and a `Damage` says so: nobody's log is that large, and what
is left out is no evidence of health.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from hrmdoc.record.records import Damage, Points, Record

MAX_LINE = 16 << 20
MAX_DOCUMENT = 256 << 20
MAX_RECORD = 256 << 20
MAX_CONFIG = 1 << 20
MAX_OBJECTS = 4_000_000
"""Lists and mappings in one document; each takes 50 to 250 bytes of memory for two bytes of the file."""
MAX_LEAVES = 100_000
MAX_DEPTH = 12
MAX_METRICS = 100_000
"""Names of metrics in one source."""
MAX_OPERATIONS = 8_000_000
"""Operations of one pickle."""
MAX_HEADER = 1 << 20
"""Bytes of a name or of other headers in an archive."""
MAX_MEMBERS = 200_000
MAX_FILES = 5_000
MAX_UNPACKED = 8 << 30
MAX_JOURNAL = 4 << 30
_SMALL = 64 << 20
_RATIO = 300
"""Logs shrink 10 to 100 times; what grows more than this is no log."""
_SECONDS = 120.0
_SECONDS_PER_BYTE = 5e-6
"""The slowest reader takes a tenth of this on a busy machine."""


def may_unpack(packed: int) -> int:
    """How many bytes may come out of so many packed ones."""
    return min(MAX_UNPACKED, _SMALL + _RATIO * packed)


class Budget:
    """The time that reading one source may take, and the metrics that it may have.

    Args:
        path: the file.
        size: its bytes on disk.
    """

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._seconds = _SECONDS + _SECONDS_PER_BYTE * size
        self._end = time.monotonic() + self._seconds
        self._names: set[str] = set()
        self._points = 0

    @property
    def seconds_left(self) -> float:
        """Below 0 when the time is used up."""
        return self._end - time.monotonic()

    def limited(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records without the points of metrics beyond `MAX_METRICS`."""
        for record in records:
            if isinstance(record, Points) and record.metric not in self._names:
                if len(self._names) >= MAX_METRICS:
                    self._points += len(record.values)
                    continue
                self._names.add(record.metric)
            yield record

    def more(self, size: int) -> None:
        """Gives time for bytes that came on top, as on standard input."""
        self._seconds += _SECONDS_PER_BYTE * size
        self._end += _SECONDS_PER_BYTE * size

    def timed_out(self) -> Damage:
        """Says that the rest was not read."""
        what = f"reading took more than {self._seconds:.0f} seconds; the rest was not read"
        return Damage(self._path, None, what, incomplete=True)

    def rest(self) -> Iterator[Damage]:
        """Says what was left out."""
        if self._points:
            what = f"has more than {MAX_METRICS:,} metrics; {self._points:,} points of others were left out"
            yield Damage(self._path, None, what, left_out=self._points, incomplete=True)
