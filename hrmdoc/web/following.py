"""Large runs that are being written: a process that keeps them reads on from where it read to."""

from __future__ import annotations

import os
from collections import OrderedDict

from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.errors import InputError
from hrmdoc.live.follow import Follower
from hrmdoc.readers import RunGroup

LARGE = 4 << 20
"""Bytes from which on a run is followed; a smaller one is read again in a moment."""
MOST = 2 << 30
"""Bytes of the runs that are kept at a time, as they lie on disk; the last one is kept whatever its size."""


class Followed:
    """One run, read as far as it goes.

    Args:
        group: its files.
        prepared: settings and rules.

    Attributes:
        size: bytes of its files when they were read last.
    """

    def __init__(self, group: RunGroup, prepared: Prepared) -> None:
        self.prepared = prepared
        self.size = 0
        self._session = AnalysisSession(group.folder, prepared=prepared)
        self._follower = Follower(
            [], self._session.run, self._session.matcher.wanted, group, self._session.names_of_settings
        )

    def take(self, group: RunGroup) -> Analysis:
        """The run as it is now; what was written since the last call is read, and files that are new."""
        self._follower.group = group
        self._follower.find()
        self._follower.poll()
        self.size = sum(_size_of(one.path) for one in group.sources)
        run = self._session.run
        if not run.version:
            self._session.note_nothing_read(InputError("holds no metric and no message that the rules know"))
        self._session.sight(group, group.changed)
        return self._session.diagnose(closed=False, prescriptions=False)

    def is_of(self, group: RunGroup, prepared: Prepared) -> bool:
        """Whether it goes on with this run: with the same rules, and with every file that it read."""
        there = {source.path for source in group.sources}
        return self.prepared is prepared and all(one.path in there for one in self._follower.sources)


_kept: OrderedDict[str, Followed] = OrderedDict()


def follows(group: RunGroup) -> bool:
    """Whether a live run is read on instead of anew: it is large, and none of its files is packed or holds
    other runs."""
    plain = not any(one.codec or one.stored or one.part for one in group.sources)
    return plain and sum(_size_of(one.path) for one in group.sources) >= LARGE


def follow(group: RunGroup, prepared: Prepared) -> Analysis:
    """The analysis of a run as far as it was written."""
    known = _kept.pop(group.folder, None)
    if known is None or not known.is_of(group, prepared):
        known = Followed(group, prepared)
    found = known.take(group)
    _kept[group.folder] = known
    while len(_kept) > 1 and sum(one.size for one in _kept.values()) > MOST:
        _kept.popitem(last=False)
    return found


def _size_of(path: str) -> int:
    """Bytes of a file on disk now, 0 where it is gone."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
