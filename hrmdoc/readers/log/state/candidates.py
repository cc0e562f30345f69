"""Lines that may be metrics, kept until their like has come often enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.position import Flow, Position
from hrmdoc.readers.log.grammar.words import is_result, plain
from hrmdoc.readers.log.state.cursor import Cursor, Log
from hrmdoc.readers.log.state.sink import Mark

_MOST_SHAPES = 4096
ALIKE = 3
"""So many lines of one shape without a step are needed before they count as metric lines."""
_ALIKE_IN_RUN = 2
"""The same once the run's position is known."""
_SETTINGS = frozenset(
    {"coef", "coefficient", "weight", "scale", "factor", "lambda", "beta", "decay", "threshold"}
)

Key = tuple[int | None, tuple[str, ...]]
"""Rank and shape of a line."""


class Candidate(Struct, frozen=True):
    """A line that may be one of metrics.

    Attributes:
        whole: nothing but measures stands on it.
        pure: its measures have the names of some, and it shows no position.
    """

    values: list[tuple[str, float]]
    position: Position
    mark: Mark
    whole: bool
    pure: bool


class Candidates:
    """The candidates of one log; None for a shape that has come often enough."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._held: dict[Key, list[Candidate] | None] = {}

    def often(self, key: Key) -> bool:
        """Whether lines of this shape have come often enough before."""
        return self._held.get(key, ()) is None

    def add(self, key: Key, one: Candidate, needed: int) -> list[Candidate] | None:
        """Those that waited, where this one makes them as many as needed; else None, and it waits, too."""
        held = self._held.get(key) or []
        if len(held) + 1 >= needed:
            self._held[key] = None
            return held
        if len(self._held) >= _MOST_SHAPES:
            for others in filter(None, self._held.values()):
                self._log.leave_out("lines of too many kinds that may be metrics", one.mark, len(others))
            self._held.clear()
        held.append(one)
        self._held[key] = held
        return None

    def believed(self) -> Iterator[tuple[list[tuple[str, float]], Mark]]:
        """Values of the lines that still wait at the end of the log, and show measures, with their places."""
        known = self._log.sink.metrics()
        for one in self._chosen(known):
            yield [(name, value) for name, value in one.values if name not in known], one.mark
        self._held.clear()

    def _chosen(self, known: set[str]) -> list[Candidate]:
        waiting = list(filter(None, self._held.values()))
        every = list(chain.from_iterable(waiting))
        single = self._log.sink.single() and len(every) == len(waiting)
        if single and _believable(known, [one for one in every if one.pure]):
            return [one for one in every if one.whole and not _sets(one)]
        often = chain.from_iterable(held for held in waiting if len(held) + 1 >= ALIKE)
        return [one for one in often if one.pure]


def _believable(known: set[str], pure: list[Candidate]) -> bool:
    """Whether results that stand alone on their lines are more than one number, or no number at all."""
    results = {name for candidate in pure for name, _ in candidate.values if is_result(name)}
    broken = any(not math.isfinite(value) for candidate in pure for _, value in candidate.values)
    return bool(results) and (len(results | known) > 1 or broken)


def _sets(candidate: Candidate) -> bool:
    """Whether one of its names is that of a setting, such as `aux_loss_coef`."""
    return any(plain(name).rpartition(" ")[2] in _SETTINGS for name, _ in candidate.values)


def needed(flow: Flow, plan: Plan, position: Position) -> int:
    """How many lines of a shape are needed."""
    if not position.silent or (flow.step is None and flow.epoch is None):
        return ALIKE
    return 1 if plan.pure else _ALIKE_IN_RUN


def here(cursor: Cursor) -> Position:
    """Where a line without counters stands: the step, or the epoch where no steps are counted."""
    step = cursor.flow.step
    return Position(step=step, epoch=cursor.flow.epoch if step is None else None, restarts=False)


def before_all(flow: Flow) -> Position:
    """Where a line stood that came before the first step and epoch."""
    return Position(flow.lowest) if flow.first is None else Position(step=flow.first, restarts=False)
