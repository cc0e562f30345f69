"""Scores of an evaluation that are told again behind each sample, as programs of segmentation do:
`Sample: 407, Validation pixAcc: 0.779, mIoU: 0.168`. They are means so far: the last of a pass counts."""

from __future__ import annotations

from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Held, Reading
from hrmdoc.readers.log.grammar.values import values_of
from hrmdoc.readers.log.grammar.words import EVALUATIONS, split_of
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_SAMPLE = patterns.lazy(r"\W{0,4}(?:[Ss]ample|[Ii]mage)s?:? {0,8}(\d{1,9})\b,?(?=\s)")


class Pass(State):
    """The newest line of a pass over the samples."""

    newest: Held | None = None


class RunningMean(Format):
    """One record a pass."""

    ORDER: ClassVar[int] = 56
    MARKS: ClassVar[tuple[str, ...]] = ("ample", "mage")

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """One line; where it begins another pass, the last one of the pass before."""
        found = _SAMPLE.match(line.text)
        known = None if found is None else self.log.plans.read(line.text[found.end() :])
        if found is None or known is None:
            return None
        plan, numbers = known
        if plan.counters or not plan.measures or split_of(plan.measures[0].name) not in EVALUATIONS:
            return None
        reading, passed, sample = Reading(), cursor.of(Pass), int(found[1])
        if passed.newest is not None and sample <= passed.newest.n:
            self._flush(passed, reading)
        step, axis = cursor.place()
        passed.newest = Held(values_of(plan, numbers), step, axis, line.mark, sample)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that does not begin with a sample."""
        del cursor
        return _SAMPLE.match(line.text) is None

    def close(self, cursor: Cursor) -> Reading | None:
        """The last pass."""
        reading = Reading()
        self._flush(cursor.of(Pass), reading)
        return reading

    @staticmethod
    def _flush(passed: Pass, reading: Reading) -> None:
        held, passed.newest = passed.newest, None
        if held is not None:
            reading.add(held.values, held.step, held.axis, held.mark)
