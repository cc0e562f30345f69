"""Curves printed as lists: `val_losses = [2.3, 2.1, ...]`, or a history of lists by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.values import position_of
from hrmdoc.readers.log.grammar.words import is_result, plain
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log
from hrmdoc.readers.log.state.curves import FEWEST, MOST, Curves
from hrmdoc.text import patterns

_LIST = patterns.lazy(
    r"(?<![\w.])[\"']?([A-Za-z_][\w ./-]{0,60}?)[\"']?\s{0,4}[:=]\s{0,4}"
    r"(?:(?:np\.|numpy\.)?array\(|tensor\()?"
    r"\[([^\[\]\"'=:]{5,60000})\]"
)
_OPENS = patterns.lazy(
    r"[:=]\s{0,4}(?:[\w.]{1,12}\()?\[\s{0,4}(?:(?:tensor|(?:np\.)?float\d\d)\()?[-+.\dnNiI][\w.+-]{0,30}\)?[,\s]"
)
"""Two elements at least: `Epoch: [3][10/50]` is no list."""
_MAY_OPEN = patterns.lazy(r"[:=]\s*(?:[\w.]{1,400}\()?\[")
_WRAPPED = patterns.lazy(r"(?:tensor|(?:np\.)?float\d\d)\(([^()]{1,40})\)")
_PLURALS = frozenset({"accs", "ppls", "perplexities"})


class NumberList(Format):
    """Few values may as well be what one step gave, unless the name is a plural."""

    ORDER: ClassVar[int] = 40
    MARKS: ClassVar[tuple[str, ...]] = ("[",)

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._curves = Curves()
        self._lengths: dict[str, int] = {}

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The lists on a line."""
        del cursor
        if "[" not in line.text:
            return None
        taken, of_a_step = False, True
        for name, values in _lists_in(line.text):
            if len(values) > MOST:
                self.log.leave_out("values of too long a list", line.mark, len(values) - MOST)
            self._curves.keep(name, values[:MOST], line.mark)
            taken = taken or len(values) >= FEWEST or plain(name).endswith("s")
            of_a_step = self._lengths.setdefault(name, len(values)) == len(values) and of_a_step
        return Reading() if taken and not (of_a_step and self._shows_place(line.text)) else None

    def _shows_place(self, text: str) -> bool:
        """Whether a line says where its lists belong: each step gives one of as many values, unless it
        grows."""
        known = self.log.plans.read(text)
        return known is not None and not position_of(*known).silent

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without a list."""
        del cursor
        return "[" not in line.text or not _MAY_OPEN.search(line.text)

    def finish(self) -> Reading | None:
        """The lists that are curves."""
        return Reading.of_curves(self._curves.finish(self.log))


def _lists_in(text: str) -> Iterator[tuple[str, list[float]]]:
    """The lists of numbers on a line that bear the name of a result."""
    if not _OPENS.search(text):
        return
    for name, inside in _LIST.findall(_WRAPPED.sub(r"\1", text)):
        if is_result(name) or plain(name).rpartition(" ")[2] in _PLURALS:
            values = _numbers(inside)
            if len(values) > 1:
                yield name.strip(), values


def _numbers(text: str) -> list[float]:
    """The numbers of a list; none where one of them is something else."""
    try:
        return [float(value) for value in text.replace(",", " ").split()]
    except ValueError:
        return []
