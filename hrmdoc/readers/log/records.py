"""Printed mappings become points; their step comes from the mapping, the progress bar's next redraw, or the
epoch.

The bar is drawn again right after a record is printed, and then shows the step of the record exactly, while
the redraw before it may be steps behind. So a record without a step waits for that redraw.
"""

from __future__ import annotations

import math

from hrmdoc.readers.log.dicts import Mapping
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import RankState
from hrmdoc.record.records import Event, Fact

_ALIKE = 3
_MOST_SHAPES = 4096


class RecordReader:
    """Reads mappings into the sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._seen: dict[tuple[str, ...], list[tuple[Mapping, Mark]] | None] = {}

    def read(self, state: RankState, mapping: Mapping, mark: Mark) -> bool:
        """Whether the mapping was a record of metrics."""
        if mapping.shape.closing:
            self._close_training(state, mapping, mark)
            return True
        if not mapping.shape.measured:
            return False
        placed = mapping.step is not None or (mapping.epoch is not None and len(mapping.values) > 1)
        if not placed and not mapping.shape.certain and not self._repeated(state, mapping, mark):
            return False
        if mapping.total:
            self._sink.record(Fact("run.total_steps", mapping.total, "run", self._sink.file, mark.line))
        if mapping.step is not None or not self._awaits_bar(state, mapping):
            self._emit(state, mapping, mark, mapping.step)
            return True
        if any(not waiting.shape.evaluation for waiting, _ in state.waiting) and not mapping.shape.evaluation:
            self.flush(state)
        state.waiting.append((mapping, mark))
        return True

    def read_alike(self, state: RankState, mappings: list[Mapping], lines: range, rank: int | None) -> bool:
        """Whether mappings of `lines` could be read at once: they have the same keys, and tell their places
        by themselves."""
        last = mappings[-1]
        shape, stepped = last.shape, last.step is not None
        if any(
            one.shape is not shape or one.total or (one.step is not None) is not stepped for one in mappings
        ):
            return False
        placed = stepped or (last.epoch is not None and len(last.values) > 1 and not state.steps_per_epoch)
        if (
            not placed
            or not shape.measured
            or shape.closing
            or shape.evaluation
            or state.waiting
            or not state.bar.unseen
        ):
            return False
        if last.step is not None:
            state.flow.step = last.step
            lengths = (
                one.step / one.epoch for one in reversed(mappings) if one.step is not None and one.epoch
            )
            state.steps_per_epoch = next(lengths, state.steps_per_epoch)
        values = zip(*(one.values.values() for one in mappings), strict=True)
        columns = {
            key: column for key, column in zip(last.values, values, strict=True) if key not in shape.other
        }
        self._sink.columns(
            columns, [one.step for one in mappings if one.step is not None] or None, lines, rank
        )
        return True

    def _repeated(self, state: RankState, mapping: Mapping, mark: Mark) -> bool:
        """Mappings that tell no position must come back with the same keys; the first ones wait till then."""
        key = tuple(mapping.values)
        held = self._seen.get(key, [])
        if held is None:
            return True
        if len(held) + 1 < _ALIKE:
            if len(self._seen) >= _MOST_SHAPES:
                self._seen.clear()
            held.append((mapping, mark))
            self._seen[key] = held
            return False
        self._seen[key] = None
        for earlier, where in held:
            self._emit(state, earlier, where, None)
        return True

    def _awaits_bar(self, state: RankState, mapping: Mapping) -> bool:
        if not mapping.shape.evaluation:
            state.bar.choose()
        return not state.bar.complete

    def redraw(self, state: RankState) -> None:
        """The main bar was drawn again: the waiting records belong to its position."""
        for mapping, mark in state.waiting:
            self._emit(state, mapping, mark, state.bar.n)
        state.waiting.clear()

    def flush(self, state: RankState) -> None:
        """No redraw will tell the step of the waiting records."""
        for mapping, mark in state.waiting:
            self._emit(state, mapping, mark, None)
        state.waiting.clear()

    def _emit(self, state: RankState, mapping: Mapping, mark: Mark, step: int | None) -> None:
        if step is None:
            step = self._guess(state, mapping)
        elif mapping.epoch:
            state.steps_per_epoch = step / mapping.epoch
        if step is not None:
            state.flow.step = step
        for key in mapping.shape.other:
            del mapping.values[key]
        self._sink.points(mapping.values.items(), step, "step", mark, precision=0 if mapping.quoted else 1)

    @staticmethod
    def _guess(state: RankState, mapping: Mapping) -> int | None:
        """By the epoch where its length is known, else by the bar, else the step of the record before."""
        if mapping.epoch is not None and state.steps_per_epoch:
            return round(mapping.epoch * state.steps_per_epoch)
        if state.bar.n is not None:
            return state.bar.n
        return state.flow.step if mapping.shape.evaluation or mapping.epoch is None else None

    def _close_training(self, state: RankState, mapping: Mapping, mark: Mark) -> None:
        self.flush(state)
        file = self._sink.file
        for key, value in mapping.values.items():
            if key.startswith("train_"):
                self._sink.record(Fact(key, value, "config", file, mark.line))
        mean = mapping.values.get("train_loss", 0.0)
        if not math.isfinite(
            mean
        ):  # one value that is no number, anywhere in the run, makes the mean of all none
            self._sink.point("train_loss", mean, state.flow.step, "step", mark)
        detail = f"train_runtime {mapping.values['train_runtime']:g} s"
        self._sink.record(Event("end", file, mark.line, state.flow.step, mark.time, mark.rank, detail))
