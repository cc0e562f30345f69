"""A detector at work on the best series of a role.

It is rebuilt from the run whenever its source of points changes; since every detector is chunk-invariant, a
rebuilt one and one that saw the points arrive agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from hrmdoc import measures
from hrmdoc.examination.pairing import Pairing, pairs_by_run
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.symptom import State
from hrmdoc.examination.tracks import PHASES, phases
from hrmdoc.measures.base import SLAB
from hrmdoc.measures.trigger import Episode, Trigger
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import Series
from hrmdoc.rulebook import When

UNITS = {"epoch": "epoch", "index": "point", "sample": "sample"}
"""What a step of an axis is called; `step` where it is none of these."""
_PLAN = ("schedule.warmup_steps", "run.total_steps")
_Piece = Callable[[int, int], FloatArray]


class DetectorNode:
    """A detector on the best series of a role, or on the first of several roles that shows the condition; on
    that of each rank where the rule asks for it."""

    def __init__(self, when: When, phase_names: tuple[str, ...]) -> None:
        self._when = when
        self._phases = phase_names
        roles = (when.role,) if isinstance(when.role, str) else (when.role or ())
        self._leads: list[tuple[str, int | None]] = [(role, None) for role in roles]
        self._watches = {(role, rank): _Watch(when, role, phase_names) for role, rank in self._leads}

    def evaluate(self, scene: Scene) -> Finding:
        watched = self._leads
        if self._when.each_rank:
            watched = watched + [(role, rank) for role, _ in watched for rank in _other_ranks(scene, role)]
        return strongest([self._watch(role, rank).evaluate(scene) for role, rank in watched])

    def _watch(self, role: str, rank: int | None) -> _Watch:
        if (role, rank) not in self._watches:
            self._watches[role, rank] = _Watch(self._when, role, self._phases, rank)
        return self._watches[role, rank]


def _other_ranks(scene: Scene, role: str) -> list[int]:
    """The ranks that log `role` beside the one whose series is the best of it."""
    best = scene.run.best(role)
    return [rank for rank, series in scene.of_ranks(role).items() if series is not best]


def strongest(findings: Sequence[Finding]) -> Finding:
    """The finding that tells most: present before resolved before absent before not evaluated, the earliest
    of equals.

    Where a detector or a line speaks, an expression does not, since it knows less of when and where.
    """
    if not findings:
        return Finding("not_evaluated")
    order = {"present": 0, "resolved": 1, "absent": 2, "not_evaluated": 3}
    best = min(
        findings,
        key=lambda f: (order[f.state], not f.count, f.first_step if f.first_step is not None else 2**62),
    )
    if best.state == "not_evaluated":
        return replace(best, missing=tuple(dict.fromkeys(name for f in findings for name in f.missing)))
    return best


def _held_since(episodes: Sequence[tuple[int, Episode]], offset: int, chosen: Episode) -> int:
    """How many points of its run show it from an episode on."""
    return sum(one.held for at, one in episodes if at == offset and one.start >= chosen.start)


class _Source(NamedTuple):
    """Where the points of a detector come from.

    Attributes:
        series: the best series of its role.
        other: that of the role it is compared with.
        fresh: where another run begins in the same file.
        wraps: the steps count batches of an epoch.
        alike: both series hold as many runs, so that each is compared with its own.
        planned: steps of the warm-up and of the run, where the rule speaks of phases.
    """

    series: Series
    other: Series | None
    fresh: tuple[int, ...]
    wraps: bool
    alike: bool
    planned: tuple[Any, ...]

    def without_falls(self) -> tuple[object, ...]:
        """What must stay the same for scores to be gone on with; runs may be added behind."""
        return self.series, self.other, self.alike, self.planned


class _Watch:
    """One detector on one role, of one rank where it is told which."""

    def __init__(self, when: When, role: str, phase_names: tuple[str, ...], rank: int | None = None) -> None:
        self._when = when
        self._role = role
        self._rank = rank
        self._phases = phase_names
        self._source: _Source | None = None
        self._reset()

    def _reset(self) -> None:
        assert self._when.detector is not None
        self._detector = measures.make(self._when.detector, self._when.with_)
        self._triggers = [self._new_trigger()]
        self._offsets = [0]
        self._began: dict[int, int] = {}
        self._taken = 0

    def _new_trigger(self) -> Trigger:
        when = self._when
        enter = float(when.enter if when.enter is not None else 0.5)
        leave = float(when.leave) if when.leave is not None else enter
        return Trigger(enter, leave, when.patience, when.leave_patience, when.direction)

    def evaluate(self, scene: Scene) -> Finding:
        series = scene.best(self._role, self._rank)
        other = scene.best(self._when.against, self._rank) if self._when.against else None
        missing = self._missing(series, other)
        if series is None or missing:
            return Finding("not_evaluated", role=self._role, missing=missing)
        source = self._source_of(scene, series, other)
        if self._outdated(source):
            self._reset()
        self._source = source
        self._feed(source, scene)
        return self._finding(series)

    def _missing(self, series: Series | None, other: Series | None) -> tuple[str, ...]:
        if other is not None and other is series:
            return (f"a {self._when.against} of its own",)
        asked = ((self._role, series), (self._when.against, other))
        return tuple(role for role, one in asked if role and one is None)

    def _source_of(self, scene: Scene, series: Series, other: Series | None) -> _Source:
        falls = scene.falls(series)
        beside = scene.falls(other).fresh if other is not None else ()
        alike = bool(beside) and len(beside) == len(falls.fresh)
        planned = tuple(scene.facts.get(key) for key in _PLAN) if self._phases else ()
        return _Source(series, other, falls.fresh, falls.wraps, alike, planned)

    def _outdated(self, source: _Source) -> bool:
        """Whether the scores so far come from other points than those of `source`."""
        known = self._source
        if known is None or known == source or not self._taken:
            return False
        begun = any(index < self._taken for index in source.fresh if index not in self._offsets)
        joined = source.wraps and len(self._offsets) > 1
        return begun or joined or known.without_falls() != source.without_falls()

    def _feed(self, source: _Source, scene: Scene) -> None:
        steps = np.arange(len(source.series), dtype=np.int64) if source.wraps else source.series.steps
        piece, stop = self._points(source, steps, scene)
        cuts = [self._taken, *(i for i in source.fresh if self._taken <= i < stop), stop]
        for begin, end in pairwise(cuts):
            if begin in source.fresh and begin not in self._offsets and begin > 0:
                assert self._when.detector is not None
                self._detector = measures.make(self._when.detector, self._when.with_)
                self._triggers.append(self._new_trigger())
                self._offsets.append(begin)
            for at in range(begin, end, SLAB):
                until = min(at + SLAB, end)
                self._judge(at, steps[at:until], piece(at, until), source)
        self._taken = stop

    def _judge(self, at: int, steps: IntArray, values: FloatArray, source: _Source) -> None:
        """Scores the points from index `at` on and gives the scores to the trigger."""
        early = max(0, self._offsets[-1] + self._when.min_points - 1 - at)
        scores = self._detector.update(steps, values, early)
        if self._phases:
            scores[~self._in_phase(steps, source)] = np.nan
        scores[:early] = np.nan
        self._triggers[-1].update(scores)

    def _points(self, source: _Source, steps: IntArray, scene: Scene) -> tuple[_Piece, int]:
        """What the detector takes of the points from an index up to another: values, shape [m], or each with
        the one beside it, shape [m, 2]; and how many points there are."""
        values, other = source.series.values, source.other
        if other is None:
            return lambda begin, end: values[begin:end], len(values)
        if not source.alike:
            pairing = Pairing(steps, values, other.steps, other.values, closed=scene.closed)
            return pairing.of, pairing.ready
        own, beside = (steps, values, source.fresh), (other.steps, other.values, scene.falls(other).fresh)
        pairs = pairs_by_run(own, beside, closed=scene.closed)
        return lambda begin, end: pairs[begin:end], len(pairs)

    def _in_phase(self, steps: IntArray, source: _Source) -> NDArray[np.bool_]:
        """Which of the steps lie in a phase that the rule speaks of."""
        return np.isin(phases(steps, *source.planned), [PHASES.index(name) for name in self._phases])

    def _finding(self, series: Series) -> Finding:
        triggers = list(zip(self._offsets, self._triggers, strict=True))
        episodes = [(offset, episode) for offset, trigger in triggers for episode in trigger.episodes]
        needed = ""
        if len(series) < self._when.min_points:
            needed = f"{self._when.min_points} points of {self._role} (have {len(series)})"
        elif not episodes and not any(trigger.evaluated for trigger in self._triggers):
            needed = f"more points of {self._role}"
        if needed or not episodes:
            state: State = "not_evaluated" if needed else "absent"
            missing = (needed,) if needed else ()
            return Finding(state, role=self._role, metric=series.key.metric, missing=missing)
        last = self._triggers[-1].episodes[-1:]
        open_now = bool(last) and last[0].closed is None
        sign = -1.0 if self._when.direction == "below" else 1.0
        strongest = max(episodes, key=lambda pair: sign * pair[1].peak)
        offset, chosen = episodes[-1] if open_now else strongest
        counts = {"episodes": len(episodes), "held": _held_since(episodes, offset, chosen)}
        return self._describe(series, offset, chosen, counts, open_now)

    def _began_at(self, series: Series, offset: int, start: int) -> int:
        """The point at which that began which showed from the point `start` of a run on."""
        at = offset + start
        if self._detector.COLUMNS > 1:
            return at
        if at not in self._began:
            sound = np.flatnonzero(np.isfinite(series.values[offset : at + 1]))
            asked = len(sound) and sound[-1] == start
            self._began[at] = (
                offset + int(sound[self._detector.began(series.values[offset + sound])]) if asked else at
            )
        return self._began[at]

    def _bound(self, value: float) -> Any:
        """The threshold that a sentence may say a value is beyond: that which ends an episode, where it lies
        between both."""
        enter, leave = self._when.enter, self._when.leave
        if enter is None or leave is None:
            return enter
        return leave if min(float(enter), float(leave)) < value < max(float(enter), float(leave)) else enter

    def _describe(
        self, series: Series, offset: int, episode: Episode, counts: Mapping[str, int], open_now: bool
    ) -> Finding:
        first, peak = self._began_at(series, offset, episode.start), offset + episode.peak_index
        ends = [at - 1 for at in self._offsets if at > offset]
        end = min(ends, default=len(series) - 1)
        last = end if episode.closed is None else offset + episode.closed
        told = end if episode.closed is None else max(first, last - 1)
        finite = series.values[offset : last + 1][np.isfinite(series.values[offset : last + 1])]
        values = {
            "value": float(series.values[offset + episode.opened]),
            "peak": float(series.values[peak]),
            "score": float(episode.peak),
            "recent": float(episode.latest),
            "first": float(series.values[offset]),
            "last": float(series.values[told]),
            "now": float(series.values[-1]),
            "reached": float(series.values[told if episode.closed is None else peak]),
            "unit": UNITS.get(series.axis, "step"),
            "best": float(finite.min()) if len(finite) else math.nan,
            "highest": float(finite.max()) if len(finite) else math.nan,
            "enter": self._bound(float(series.values[told])),
            **counts,
            "held": counts["held"] + max(0, offset + episode.start - first),
            "duration": episode.held,
            "points": told - offset + 1,
            "in_all": end - offset + 1,
            "of_last_run": offset == self._offsets[-1],
        }
        if self._rank is not None:
            values["of_rank"] = self._rank
        file, line = series.place(first)
        time = float(series.times[first])
        return Finding(
            "present" if open_now else "resolved",
            role=self._role,
            metric=series.key.metric,
            first_step=int(series.steps[first]),
            last_step=int(series.steps[last]),
            first_time=None if math.isnan(time) else time,
            count=counts["episodes"],
            values=values,
            file=file,
            line=line,
            rank=series.key.rank,
            score=float(episode.peak),
        )
