"""Reads the runs beside a run, by which it is judged too: what a program usually comes to, its other runs
tell."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.examination.examine import Examination
from hrmdoc.readers.sources.beside import beside
from hrmdoc.record.peer import Peer

MOST = 16
"""Runs that are read: the nearest in time."""
MOST_BYTES = 8 << 20
"""Of them together: nobody waits for longer ones."""
MOST_COMPARED = 64
"""Runs that are kept to be compared with others. Of more that are examined together none is: each would be
read again and again."""


class Peers:
    """Reads peers, and keeps the last ones that were read: the runs of one folder are peers of each other."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Peer | None] = OrderedDict()

    def of(
        self,
        group: readers.RunGroup,
        opened: Callable[[str], Examination],
        settings: frozenset[str],
        stated: Hashable = None,
    ) -> Iterator[Peer]:
        """The runs beside one that is read, as far as they can be read.

        Args:
            opened: gives an examination of a run of that name that holds nothing yet.
            settings: names of settings, as readers take them.
            stated: whatever else decides what a run is read as.
        """
        left = MOST_BYTES
        for path in beside(group)[:MOST]:
            try:
                sources = readers.discover([path])
            except InputError:
                continue
            left -= sum(source.size for source in sources)
            if left < 0:
                return
            key = path, stated, tuple(source.identity for source in sources)
            if key not in self._kept:
                self._kept[key] = _read(sources, opened(path), settings)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_COMPARED:
                self._kept.popitem(last=False)
            if (peer := self._kept[key]) is not None:
                yield peer


def _read(
    sources: Iterable[readers.Source], examination: Examination, settings: frozenset[str]
) -> Peer | None:
    try:
        readers.read_into(examination.run, sources, settings=settings)
    except InputError:
        return None
    return examination.as_peer()
