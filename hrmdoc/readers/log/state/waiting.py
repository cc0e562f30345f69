"""Records of a training that wait for the run's bar to be drawn again, which shows their step.

One at a time waits where the output is not buffered. Standard output that goes to a file is written in blocks
of some kilobytes, or when another bar is begun, while the bar on standard error is drawn at once: then
several wait for the same redraw, and from there on their epochs decide (`grammar/pace.py`).
"""

from __future__ import annotations

from msgspec import field

from hrmdoc.readers.log.grammar.mapping import Mapping
from hrmdoc.readers.log.grammar.pace import Bar, Pace, Whole, pace_of
from hrmdoc.readers.log.state.bar_of_run import BarOfRun
from hrmdoc.readers.log.state.cursor import State
from hrmdoc.readers.log.state.sink import Mark

_MOST = 2048
"""More records are not held at a time: blocks of 128 KiB are the longest."""

_BUFFER, _NUMBER = 8192, 14
"""Bytes of the shortest buffer, and of a number in a record beside its key."""


class Waiting(State):
    """The records, in order.

    Attributes:
        given: the step of those that were given before.
        before: what the bar showed when the first of them came.
        pace: how steps follow from epochs, once records have come together.
    """

    records: list[tuple[Mapping, Mark]] = field(default_factory=list)
    given: int = 0
    before: int = 0
    pace: Pace | None = None

    @property
    def late(self) -> bool:
        """Whether records come behind the place of the bar that they belong to."""
        if self.pace is not None:
            return True
        epochs = [mapping.epoch for mapping, _ in self.records if mapping.epoch is not None]
        return len(epochs) > 1 and (len(self._trained) > 1 or min(epochs) < max(epochs))

    def holds(self, mapping: Mapping) -> bool:
        """Whether another record waits beside those that do, as one that came together with them."""
        trained = self._trained
        if mapping.shape.evaluation or not trained:
            return True
        last = trained[-1].epoch
        alike = mapping.epoch is not None and last is not None and last <= mapping.epoch
        return alike and self._rough and len(self.records) < _MOST

    def add(self, mapping: Mapping, mark: Mark, bar: BarOfRun) -> None:
        """Another one waits."""
        if not self.records:
            self.before = bar.come_to
        self.records.append((mapping, mark))

    def learn(self, bar: BarOfRun, step: int | None, epochs: float | None = None) -> None:
        """Learns the pace from records that came together, at the latest before a redraw that shows `step`;
        `epochs` are those of the whole run where its summary follows."""
        trained = self._trained
        if not trained or not self.late or (self.pace is not None and (len(trained) < 2 or not self._rough)):
            return
        drawn = bar.drawn if step is None else bar.drawn[:-1]
        size = sum(len(key) + _NUMBER for mapping, _ in self.records for key in mapping.values)
        shown = Bar(self.before, self.before if step is None else step, drawn, self.given, size > _BUFFER / 2)
        every = [mapping.epoch or 0.0 for mapping in trained]
        self.pace = pace_of(every, shown, Whole(bar.steps, epochs)) or self.pace

    def step_of(self, mapping: Mapping, step: int | None) -> int | None:
        """Where a record belongs that a redraw at `step` follows, or none."""
        if self.pace is None or mapping.epoch is None:
            self.given = step or self.given
            return step
        found = self.pace.step(mapping.epoch, trained=not mapping.shape.evaluation)
        if step is None or found <= step:
            return found
        if found > step + self.pace.tolerance(mapping.epoch):
            self.pace = None  # the bar is never behind a record: epochs are of another length now
        return step

    @property
    def _rough(self) -> bool:
        """Whether the pace is not known, or not how many steps are from one record to the next."""
        return self.pace is None or not self.pace.every

    @property
    def _trained(self) -> list[Mapping]:
        return [mapping for mapping, _ in self.records if not mapping.shape.evaluation]
