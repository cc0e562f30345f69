"""Lines that show the epoch alone: one that comes back within the epoch stands for a step."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import field

from hrmdoc.readers.log.grammar.position import Flow
from hrmdoc.readers.log.state.cursor import State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.record.records import Axis

Shape = tuple[str, ...]
Values = list[tuple[str, float]]
Placed = tuple[Values, int, Axis, Mark]


class EpochLines(State):
    """What is known of them, by their shapes.

    Attributes:
        first: the first line of a shape, which waits; None once there was a second.
        counting: the shape of lines that came back within an epoch and so count steps.
    """

    first: dict[Shape, Placed | None] = field(default_factory=dict)
    counting: Shape | None = None

    def place(self, flow: Flow, shape: Shape, epoch: int | None, values: Values, mark: Mark) -> list[Placed]:
        """Where the values belong, and those that waited for this line."""
        if epoch is not None:
            flow.enter_epoch(epoch)
        here: Placed = (values, flow.epoch or 0, "epoch", mark)
        if shape == self.counting:
            flow.step = 0 if flow.step is None else flow.step + 1
            return [(values, flow.step, "step", mark)]
        if shape not in self.first:
            self.first[shape] = here
            return []
        first, self.first[shape] = self.first[shape], None
        if first is None:
            return [here]
        if first[1] == here[1] and self.counting is None:
            self.counting, flow.step = shape, 1
            return [(first[0], 0, "step", first[3]), (values, 1, "step", mark)]
        return [first, here]

    def before(self, shape: Shape) -> list[Placed]:
        """The line of a shape that waits, now that steps are counted: it stood before the first of them."""
        first = self.first.get(shape)
        if first is None:
            return []
        self.first[shape] = None
        return [(first[0], 0, "step", first[3])]

    def close(self, step: int | None) -> Iterator[Placed]:
        """Lines that came once; at the step that the log has come to, where it counts any."""
        for values, epoch, axis, mark in filter(None, self.first.values()):
            yield (values, epoch, axis, mark) if step is None else (values, step, "step", mark)
        self.first.clear()
