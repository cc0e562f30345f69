"""Curves printed whole: `val_losses = [2.3, 2.1, ...]`, a history of lists by name, and numbers alone, one to
a line, under a heading.

Programs print such lists at the end, or again in every epoch, longer each time. A list of few values that
comes again with others is what one step gave, and no curve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.words import is_result, plain
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|NaN|Infinity)"
_LIST = patterns.lazy(
    r"(?<![\w.])[\"']?([A-Za-z_][\w ./-]{0,60}?)[\"']?\s{0,4}[:=]\s{0,4}(?:(?:np\.|numpy\.)?array\(|tensor\()?"
    r"\[([^\[\]\"'=:]{5,60000})\]"
)
_OPENS = patterns.lazy(
    r"[:=]\s{0,4}(?:[\w.]{1,12}\()?\[\s{0,4}(?:(?:tensor|(?:np\.)?float\d\d)\()?[-+.\dnNiI][\w.+-]{0,30}\)?[,\s]"
)
"""Two elements at least: `Epoch: [3][10/50]` is no list."""
_WRAPPED = patterns.lazy(r"(?:tensor|(?:np\.)?float\d\d)\(([^()]{1,40})\)")
_ALONE = patterns.lazy(rf"\s{{0,8}}(?:\d{{1,4}}[.):]\s{{1,4}})?({_NUMBER}),?\s{{0,8}}\Z")
_MEASURE = patterns.lazy(
    r"(?<![a-z])((?:(?:train|training|val|valid|validation|eval|evaluation|test)[ _-]?)?"
    r"(?:loss|losses|accuracy|accuracies|acc))(?![a-z])",
    re.IGNORECASE,
)
_LONGEST_HEADING = 100
_FEWEST = 4
_MOST = 10_000
_PLURALS = frozenset({"accs", "ppls", "perplexities"})


class Column(Struct):
    """Numbers alone, one to a line, below a line that named them."""

    name: str
    mark: Mark
    values: list[float] = field(default_factory=list)


class Lists:
    """Keeps the curves that a log prints whole until its end tells whether they are some."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._found: dict[tuple[str, int | None], tuple[list[float], Mark]] = {}
        self._others: set[tuple[str, int | None]] = set()

    def read(self, text: str, mark: Mark) -> bool:
        """Whether the line tells such lists. Few values may as well be what one step gave, unless the name is
        a plural."""
        told = False
        for name, values in _lists_in(text):
            self._keep(name, values, mark)
            told = told or len(values) >= _FEWEST or plain(name).endswith("s")
        return told

    @staticmethod
    def heading(text: str, mark: Mark) -> Column | None:
        """What the numbers below a line would be, where it holds no number and names one measure."""
        if len(text) > _LONGEST_HEADING or any(char.isdigit() for char in text):
            return None
        names = {name.lower() for name in _MEASURE.findall(text)}
        return Column(names.pop(), mark) if len(names) == 1 else None

    @staticmethod
    def take(column: Column, text: str) -> bool:
        """Whether the line is one number, which then belongs to the column."""
        found = _ALONE.match(text)
        if found is None or len(column.values) >= _MOST:
            return False
        column.values.append(float(found.group(1)))
        return True

    def end(self, column: Column) -> None:
        """No more numbers come below its heading. Whole ones alone are rather numbers of steps, or of
        lines."""
        if len(column.values) >= _FEWEST and not all(value.is_integer() for value in column.values):
            self._keep(column.name, column.values, column.mark)

    def finish(self) -> None:
        """Curves whose measures no line tells point by point become points."""
        known = {plain(name) for name in self._sink.metrics()}
        for key, (values, mark) in self._found.items():
            if key not in self._others and len(values) >= _FEWEST and plain(key[0]) not in known:
                for epoch, value in enumerate(values):
                    self._sink.point(key[0], value, epoch, "epoch", mark)
        self._found.clear()

    def _keep(self, name: str, values: list[float], mark: Mark) -> None:
        key = (name, mark.rank)
        before = self._found.get(key)
        if before is not None and values[: len(before[0])] != before[0]:
            self._others.add(key)
        self._found[key] = (values, mark)


def _lists_in(text: str) -> Iterator[tuple[str, list[float]]]:
    """The lists of numbers on a line that bear the name of a result."""
    if not _OPENS.search(text):
        return
    for name, inside in _LIST.findall(_WRAPPED.sub(r"\1", text)):
        if is_result(name) or plain(name).rpartition(" ")[2] in _PLURALS:
            values = _numbers(inside)
            if len(values) > 1:
                yield name.strip(), values[:_MOST]


def _numbers(text: str) -> list[float]:
    """The numbers of a list; none where one of them is something else."""
    try:
        return [float(value) for value in text.replace(",", " ").split()]
    except ValueError:
        return []
