"""What a line that was read alone tells of others of its shape: how they are read, or that they give
nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hrmdoc.readers.log.formats.keras_bar import EpochRedraws
from hrmdoc.readers.log.formats.tqdm_bar import ManyRedraws
from hrmdoc.readers.log.lines import scan
from hrmdoc.readers.log.repeats.layout import hangs_on_digits, layout_of
from hrmdoc.readers.log.repeats.shapes import Recipe, Shape, Shapes
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hrmdoc.readers.log.dispatch import Dispatcher, Outcome
    from hrmdoc.readers.log.lines.message import Message
    from hrmdoc.readers.log.state.cursor import Cursor, Line
    from hrmdoc.readers.log.state.facts import Facts

Mode = tuple["Hashable", ...]
_OF_EPOCH = patterns.lazy(rb"[\x08 ]{0,999}[0-9]+/[0-9]+ \[={0,99}>")


class Learner:
    """Teaches the shapes of one log."""

    def __init__(self, shapes: Shapes, dispatcher: Dispatcher, facts: Facts) -> None:
        self._shapes, self._dispatcher, self._facts = shapes, dispatcher, facts

    def note(
        self,
        shape: Shape,
        raw: bytes,
        message: Message,
        line: Line,
        cursor: Cursor,
        outcome: Outcome,
        before: tuple[int, Mode],
        *,
        inside: bool,
    ) -> None:
        """Notes what became of a line.

        Args:
            before: how many facts were stated, and the mode, before it was read.
            inside: something of several lines was open, or is.
        """
        again, (stated, mode) = outcome.again, before
        if again is not None:
            if not inside or (again.many is not None and again.many.TAKEN):
                _learn(shape, raw, message, Recipe(again, mode, message.shift))
        elif inside or outcome.something or self._facts.stated != stated:
            return
        elif not line.kinds & (scan.METRIC | scan.BAR) and not hangs_on_digits(raw):
            # libraries say the same all day
            self._shapes.nothing[shape.number] = shape.nothing = line.kinds
        elif cursor.mode == mode and shape.is_due():
            again = self._dispatcher.silent(line, cursor)
            if again is not None:
                _learn(shape, raw, message, Recipe(again, mode, message.shift))


def _learn(shape: Shape, raw: bytes, message: Message, recipe: Recipe) -> None:
    """The line shows how others of its shape are read."""
    if not shape.learns or message.world_size or hangs_on_digits(raw):
        return
    if b"%|" in raw and not isinstance(recipe.again.many, ManyRedraws):
        return  # how far a bar is drawn has a meaning for other formats
    if b">.]" in raw and _OF_EPOCH.match(raw) and not isinstance(recipe.again.many, EpochRedraws):
        return
    found = layout_of(raw, message.whole, message, recipe.again)
    if found is not None:
        shape.learn(*found, recipe)
