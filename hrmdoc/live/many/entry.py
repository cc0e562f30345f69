"""One run of many: what is shown of it, and its watch while it is followed."""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from hrmdoc.live.incidents import Incident
from hrmdoc.live.taken import TakenAction
from hrmdoc.live.watch import Update, Watch
from hrmdoc.readers import RunGroup

State = Literal["new", "running", "ended", "idle", "gone", "unreadable", "elsewhere", "old"]
"""`new`: not examined yet; `idle`: silent for long, and put aside until it is written again; `elsewhere`:
another watcher follows it; `old`: was not written for long when it was found."""
BEHIND_S = 300.0
"""Seconds after which a run is examined as far as it was read, although more of it is there."""


@dataclass(slots=True)
class Entry:
    """One run.

    Attributes:
        name: its path below the root.
        why: why it cannot be read.
        examined: when it was examined last, on the steady clock.
        polled: when it is to be read next.
        taken: when all that was written was taken in last; since then usual lines are held back.
        calm: until then nothing is held back, since something was new about it.
        stamp: size and time of its files when it was put aside.
        behind: since when it is read and not examined, since more is there than was read; NaN: not so.
        ended: whether it was told that it ended; what a logger writes behind that is told of no more.
        treated: what is being done about it in a thread; meanwhile nothing else touches the run.
    """

    name: str
    group: RunGroup
    state: State = "new"
    watch: Watch | None = None
    verdict: str = ""
    cause: str = ""
    probability: float = 0.0
    step: int | None = None
    open: list[Incident] = field(default_factory=list)
    why: str = ""
    examined: float = float("-inf")
    polled: float = 0.0
    taken: float = float("-inf")
    calm: float = float("-inf")
    stamp: tuple[tuple[int, int], ...] = ()
    behind: float = math.nan
    ended: bool = False
    treated: Future[list[TakenAction]] | None = None

    @property
    def severity(self) -> str:
        """The worst of its verdict and its open incidents."""
        found = {self.verdict, *(one.severity for one in self.open)}
        return next((one for one in ("critical", "warning") if one in found), self.verdict or "no_data")

    def take(self, update: Update) -> None:
        """Takes in what an examination found."""
        analysis = update.analysis
        leading = next((one for one in analysis.diagnosis.hypotheses if not one.benign), None)
        self.verdict, self.why = analysis.verdict, ""
        self.cause = leading.cause if leading else ""
        self.probability = leading.probability if leading else 0.0
        series = analysis.run.progress
        self.step = None if series is None else int(series.steps[-1])
        self.open = [] if self.watch is None else self.watch.incidents.open

    @property
    def is_followed(self) -> bool:
        """Whether it is read and examined."""
        return self.watch is not None and self.treated is None

    def is_behind(self, behind: bool, now: float) -> bool:
        """Whether to read on before it is examined: more is there than was read, and not for so long that an
        examination as far as it was read is better than none."""
        if not behind:
            self.behind = math.nan
            return False
        if math.isnan(self.behind):
            self.behind = now
        return now - self.behind < BEHIND_S

    def set_aside(self, state: State) -> None:
        """Follows it no more and gives its memory back; what is known of it stays."""
        if self.watch is not None:
            self.watch.close()
        self.watch, self.state, self.stamp, self.behind = None, state, self.stamped(), math.nan

    def stamped(self) -> tuple[tuple[int, int], ...]:
        """How its files stand."""
        return tuple(_stamp(str(source.file)) for source in self.group.sources)

    @property
    def inside(self) -> str:
        """Where its files lie in its folder; empty where they lie in it, or in several."""
        homes = {os.path.dirname(os.path.relpath(one.path, self.group.folder)) for one in self.group.sources}
        return homes.pop() if len(homes) == 1 and os.path.isdir(self.group.folder) else ""

    @property
    def written_s(self) -> float:
        """Seconds since one of its files was written, by the clock that stamps files."""
        newest = max((at for _, at in self.stamped()), default=0)
        return max(0.0, time.time() - newest / 1e9)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return -1, 0
    return found.st_size, found.st_mtime_ns
