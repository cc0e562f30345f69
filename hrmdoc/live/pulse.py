"""How long a run has been silent, by the growth of its files and the watcher's own clock.

What the run stamps its lines with serves differences alone: a stamp without a zone, a container with another
clock, and a change to summer time all say something else than this machine's clock. The one time of this
machine that a run leaves is the last write of its files; it counts for what lies before the watch began.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable

from hrmdoc.record.records import Tick
from hrmdoc.record.run import Run

_LONG_GONE_S = 86_400.0
"""What had not grown for so long when the watch began is no run that anybody waits for: it has ended without
a word, or hung long ago. Once the watch ends it is judged as a run that nobody watched."""
_ARRIVALS = 50
_ENOUGH = 4
"""Arrivals of points, from which on the usual pause between two of them is known."""


class Pulse:
    """Feels for signs of life of one run.

    Args:
        run: what is read so far.
        files: the files that are followed.
        wall: Unix seconds, as files are stamped with.
        steady: seconds of a clock that nobody sets.
        beaten: when the heartbeat that the user named was renewed last, on the steady clock; NaN where that
            is not known.

    Attributes:
        long_gone: the run had been silent for so long when it was first felt for, and has not moved since.
    """

    def __init__(
        self,
        run: Run,
        files: Callable[[], Iterable[str]],
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        beaten: Callable[[], float] = lambda: math.nan,
    ) -> None:
        self._run, self._files, self._named = run, files, beaten
        self._wall, self._steady = wall, steady
        self._progress: tuple[object, ...] | None = None
        self._moved = math.nan
        self.long_gone = False
        self._beat: object = None
        self._beaten = math.nan
        self._felt, self._held = -math.inf, math.nan
        self._version = -1
        self._arrivals: deque[tuple[float, int]] = deque(maxlen=_ARRIVALS)

    def feel(self, *, held: bool = False) -> None:
        """Takes in what was read since the last call. `held`: something came that will be read later."""
        if held:
            self._held = self._felt
        if self._version != self._run.version:
            self._version = self._run.version
            came, self._held = self._felt if math.isnan(self._held) else self._held, math.nan
            self._feel_progress(came)
            stated = self._run.fact("heartbeat.time")
            if stated is not None and stated.value != self._beat:
                self._beaten = max(came, self._written([stated.file]))
                self._beat = stated.value
        self._felt = self._steady()

    def tick(self) -> Tick:
        """How the run stands now."""
        now = self._steady()
        beats = [beat for beat in (self._beaten, self._named()) if math.isfinite(beat)]
        return Tick(now - self._moved, self._usual(), now - max(beats, default=math.nan))

    def _feel_progress(self, came: float) -> None:
        """Whether there is more than before, of which the newest came after a moment."""
        run, series = self._run, self._run.progress
        if series is None:
            mark: tuple[object, ...] = (run.points, run.line_count, len(run.events))
            where: Iterable[str] = self._files()
        else:
            mark, where = (series.key, series.came), series.files
        if mark == self._progress:
            return
        first, self._progress = self._progress is None, mark
        self._moved = max(came, self._written(where))
        self.long_gone = first and self._steady() - self._moved > _LONG_GONE_S
        if self.long_gone:
            self._moved = math.nan
        if series is not None and not first:
            self._arrivals.append((self._moved, series.came))

    def _written(self, files: Iterable[str]) -> float:
        """When the newest of these files was last written, on the steady clock."""
        return self._steady() - max(0.0, self._wall() - self._stamped(files))

    @property
    def written(self) -> float:
        """When the newest of the run's files was last written, as files are stamped; now where none is."""
        return self._stamped(self._files())

    def _stamped(self, files: Iterable[str]) -> float:
        times = []
        for file in files:
            try:
                times.append(os.stat(file).st_mtime)
            except OSError:
                continue
        return max(times, default=self._wall())

    def _usual(self) -> float:
        """The usual seconds between two points that arrived while somebody watched."""
        pairs = list(self._arrivals)
        if len(pairs) < _ENOUGH:
            return math.nan
        paces = [
            (later - sooner) / (more - less)
            for (sooner, less), (later, more) in itertools.pairwise(pairs)
            if more > less
        ]
        return statistics.median(paces) if paces else math.nan
