"""Metrics on progress bars: one record a position, however often it is redrawn."""

from __future__ import annotations

from collections.abc import Callable

from hrmdoc.readers.log.bars import Bar
from hrmdoc.readers.log.flow import Position
from hrmdoc.readers.log.lines import number, position_of, totals_of
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import Held, RankState
from hrmdoc.readers.log.template import Plans
from hrmdoc.readers.log.words import EVALUATIONS, measures, split_of


class ProgressReader:
    """Reads bars into the sink."""

    def __init__(self, sink: Sink, plans: Plans, fact: Callable[[str, int, Mark], None]) -> None:
        self._sink = sink
        self._plans = plans
        self._fact = fact

    def read(self, state: RankState, bar: Bar, mark: Mark) -> bool:
        """Takes one redraw; says whether it counts the run's steps."""
        main = not bar.desc and bar.counts_steps and state.bar.see(bar)
        evaluating = split_of(bar.desc) in EVALUATIONS and "epoch" not in bar.desc.lower()
        values, position = self._values(bar)
        if evaluating or bar.counts_bytes or not values or state.filed:
            return main
        n = bar.n
        if position.step is not None:
            n = max(n, 1)
        else:
            position = Position(position.epoch, bar.n, bar.total, True, position.epochs)
        for key, total in totals_of(position):
            self._fact(key, total, mark)
        step, axis = state.flow.place(position)
        redraw = state.redraw
        if redraw is not None and (redraw.step, redraw.n, redraw.total) != (step, n, bar.total):
            self.flush(state)
            redraw = None
        if redraw is not None:
            values = list({**dict(redraw.values), **dict(values)}.items())
        state.redraw = Held(values, step, axis, mark, n, bar.total)
        return main

    def flush(self, state: RankState) -> None:
        """The redraw that was the last one at its position becomes points."""
        redraw, state.redraw = state.redraw, None
        if redraw is None:
            return
        for name, value in redraw.values:
            if _is_slow(name):
                if repr(state.last_slow.get(name)) == repr(value) and redraw.n < redraw.total:
                    continue
                state.last_slow[name] = value
            elif redraw.n == 0 and redraw.total > 1:
                continue
            self._sink.point(name, value, redraw.step, redraw.axis, redraw.mark, precision=0)

    def _values(self, bar: Bar) -> tuple[list[tuple[str, float]], Position]:
        """Measures in the description and after the rate; the former also tells the epoch, either may tell
        the step."""
        values: list[tuple[str, float]] = []
        position = Position()
        for text in (bar.desc, bar.postfix):
            known = self._plans.read(text) if text else None
            if known is None:
                continue
            plan, numbers = known
            named = [measure for measure in plan.measures if text is bar.postfix or measures(measure.name)]
            values += [(measure.name, number(numbers[measure.at]) * measure.scale) for measure in named]
            told = position_of(plan, numbers)
            if text is bar.desc:
                position = told
            elif told.step is not None:
                position = Position(position.epoch, told.step, told.total, False, position.epochs)
        return values, position


def _is_slow(name: str) -> bool:
    return split_of(name) in EVALUATIONS or name.endswith("_epoch")
