"""What becomes of a run as a condition: its events, and its silence while somebody watches."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable

import numpy as np

from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.record.records import Event
from hrmdoc.record.series import Series
from hrmdoc.rulebook import EventWhen, SilenceWhen


class EventNode:
    """Events of one kind, often enough, within so little progress."""

    def __init__(self, when: EventWhen) -> None:
        self._when = when
        self._pattern = re.compile(when.pattern) if when.pattern else None

    def evaluate(self, scene: Scene) -> Finding:
        if not scene.run.events:
            return Finding("not_evaluated", missing=("lifecycle events",))
        kinds = ("restart", "resume") if self._when.kind == "restart" else (self._when.kind,)
        count, recent = 0, deque[Event](maxlen=self._when.at_least)
        for event in filter(self._is_meant, scene.run.events.of(*kinds)):
            count += 1
            recent.append(event)
        if len(recent) < self._when.at_least or not self._near(recent, scene.run.progress):
            return Finding("absent", count=count)
        first = recent[0]
        return Finding(
            "present",
            first_step=first.step,
            last_step=recent[-1].step,
            first_time=None if math.isnan(first.time) else first.time,
            count=count,
            values={"detail": recent[-1].detail},
            file=recent[-1].file,
            line=recent[-1].line,
            rank=first.rank,
        )

    def _is_meant(self, event: Event) -> bool:
        return self._pattern is None or bool(self._pattern.search(event.detail))

    def _near(self, events: Iterable[Event], progress: Series | None) -> bool:
        """Whether they fall into as little progress as is asked for; where epochs are counted, into one."""
        steps = [event.step for event in events if event.step is not None]
        within = self._when.within_steps
        if within is not None and progress is not None and progress.axis == "epoch":
            within = 0
        return within is None or (len(steps) > 1 and max(steps) - min(steps) <= within)


class SilenceNode:
    """No progress for much longer than usual, by the clock of who watches: post-mortem it is not evaluated,
    and a run that logged its end, or reached its last step, is not silent."""

    def __init__(self, when: SilenceWhen) -> None:
        self._when = when

    def evaluate(self, scene: Scene) -> Finding:
        run, clock, series = scene.run, scene.run.clock, scene.run.progress
        if clock is None or math.isnan(clock.quiet) or not (run.points or run.line_count or run.events):
            return Finding("not_evaluated", missing=("a live run",))
        usual = self._usual(scene)
        limit = self._when.start if math.isnan(usual) else max(self._when.factor * usual, self._when.floor)
        values = {"value": clock.quiet, "usual": usual, "enter": limit}
        if clock.quiet < limit or self._ended(scene):
            return Finding("absent", values=values)
        if series is None:
            return Finding("present", count=1, values=values)
        at = float(series.times[-1])
        step, time = int(series.steps[-1]), at if math.isfinite(at) else None
        return Finding("present", first_step=step, last_step=step, first_time=time, count=1, values=values)

    def _usual(self, scene: Scene) -> float:
        """The usual seconds between two points: differences of their own stamps, or as the watcher saw them;
        NaN for fewer than three."""
        series, clock = scene.run.progress, scene.run.clock
        times = np.empty(0) if series is None else series.times[np.isfinite(series.times)]
        if len(times) < 3:
            return math.nan if clock is None else clock.usual
        return max(0.0, float(np.median(np.diff(times[-200:]))))

    def _ended(self, scene: Scene) -> bool:
        series, total = scene.run.progress, scene.facts.get("run.total_steps")
        if scene.run.end is not None:
            return True
        return series is not None and isinstance(total, int | float) and int(series.steps[-1]) >= total - 1
