"""Lines that show the epoch alone: one that comes back within the epoch stands for a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec import field

from hrmdoc.readers.log.grammar.position import Flow
from hrmdoc.readers.log.state.cursor import State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.record.records import Axis

V = TypeVar("V")
Shape = tuple[str, ...]
Values = list[tuple[str, float]]
Placed = tuple[Values, int, Axis, Mark]


class EpochLines(State):
    """What is known of them, by their shapes.

    Attributes:
        first: the first line of a shape, which waits; None once there was a second.
        counting: the shape of lines that came back within an epoch and so count steps.
        stepped: names of measures that lines with a step or bars show: of an epoch they are a mean, and
            another curve.
        settled: shapes of lines that have stood for their epochs: they go on to, where a bar that was left
            over tells a step.
        entered: how many epochs had been entered at the first line of a shape: behind another training of as
            many epochs the same one comes again.
    """

    first: dict[Shape, Placed | None] = field(default_factory=dict)
    counting: Shape | None = None
    entered: dict[Shape, int] = field(default_factory=dict)
    stepped: set[str] = field(default_factory=set)
    settled: set[Shape] = field(default_factory=set)

    def often(self, shape: Shape) -> bool:
        """Whether lines of a shape came before and wait no more."""
        return shape == self.counting or self.first.get(shape, ()) is None

    def keeps(self, shape: Shape, *, silent: bool) -> bool:
        """Whether lines of a shape stand for a step each, or for their epoch, whatever the step is; those$
        are `silent` show no place."""
        return shape == self.counting or (silent and shape in self.settled)

    def place(self, flow: Flow, shape: Shape, epoch: int | None, values: Values, mark: Mark) -> list[Placed]:
        """Where the values belong, and those that waited for this line."""
        if epoch is not None:
            flow.enter_epoch(epoch)
        here: Placed = (values, flow.epoch or 0, "epoch", mark)
        if shape == self.counting:
            flow.step = 0 if flow.step is None else flow.step + 1
            return [(values, flow.step, "step", mark)]
        if shape not in self.first:
            self.first[shape], self.entered[shape] = here, flow.entered
            return []
        first, self.first[shape] = self.first[shape], None
        if first is None:
            return [here]
        if first[1] == here[1] and self.entered[shape] == flow.entered and self.counting is None:
            self.counting, flow.step = shape, 1
            return [(first[0], 0, "step", first[3]), (values, 1, "step", mark)]
        self.settled.add(shape)
        return [first, here]

    def step(self, values: Iterable[tuple[str, object]]) -> None:
        """A line with a step shows measures."""
        self.stepped.update([name for name, _ in values])

    def of_epoch(self, values: Iterable[tuple[str, V]]) -> list[tuple[str, V]]:
        """The measures of a line of an epoch alone, where steps are counted."""
        return [(f"{name}_epoch" if name in self.stepped else name, value) for name, value in values]

    @property
    def waits(self) -> bool:
        """Whether a line waits for its like."""
        return any(self.first.values())

    def heads(self, shape: Shape) -> None:
        """A line of a shape came before any epoch was named: such lines stand between epochs, and count
        nothing."""
        self.first[shape] = None

    def close(self, step: int | None) -> Iterator[Placed]:
        """Lines that came once and wait; at a step, where the log counts any."""
        for shape, waiting in list(self.first.items()):
            if waiting is None:
                continue
            self.first[shape] = None
            values, epoch, axis, mark = waiting
            yield (values, epoch, axis, mark) if step is None else (values, step, "step", mark)
