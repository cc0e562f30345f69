"""The cells of a notebook that train: where each of their trainings begins and ends, as events.

A cell trains by its code, a call that trains or makes a step outside of what is only defined there, where it
measured something, said that a training ended, or came to an error; else by the course of a loss.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hrmdoc.readers.support.python_settings import BIGGEST
from hrmdoc.readers.support.python_syntax import name_of
from hrmdoc.record.records import CELL_ENDED, CELL_STOPPED, Event, Points, Record
from hrmdoc.text import patterns

_FEWEST = 3
"""Values of a loss that are the course of a training."""
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_TRAINS = patterns.lazy(
    r"(?:fit|fit_generator|fit_one_cycle|fine_?tune|learn|backward|minimize|apply_gradients|train_on_batch)"
    r"|(?:\w{1,40}_)?train(?:ing)?_(?:loop|model|models|epochs?|step|batch|one_epoch|network|net|agent|all)"
    r"|(?:run|start|do|launch)_train(?:ing)?|train",
    re.IGNORECASE,
)
_PREPARES = patterns.lazy(r"scaler|imputer|encoder|tokenizer|vectorizer|pca|binarizer", re.IGNORECASE)
"""What is fitted to data before a model is: part of the name of the object whose `fit` is called."""
_TIMED = patterns.lazy(r"^([ \t]{0,80})%time(?:it)?[ \t]", re.MULTILINE)
_MAGIC = patterns.lazy(r"^([ \t]{0,80})[%!?].*$", re.MULTILINE)
_COMMAND = patterns.lazy(r"^[ \t]{0,80}(?:!|%run\s).{0,2000}\btrain\w{0,40}\.(?:py|sh)\b", re.MULTILINE)


class Cell(NamedTuple):
    """A cell that printed something: its code, its first and last line, the first of its error, whether that
    says no more than that somebody stopped it, and whether no kernel counted it as one that ended."""

    source: str
    first: int
    last: int
    failed: int | None
    stopped: bool = False
    running: bool = False


def trainings(path: str, cells: Sequence[Cell], records: Sequence[Record]) -> Iterator[Event]:
    """A launch at each cell that trains, and an end at the last line of what is of the training: there an
    error behind the word that it ended is of something else."""
    seen = _Seen(records)
    for cell in cells:
        said = seen.ended(cell)
        told = said or cell.failed is not None or seen.measured(cell)
        if not seen.course(cell):
            if not trains(cell.source):
                continue
            if not told:  # what it came to nobody knows, but it came to its end
                yield Event("end", path, cell.last, detail=CELL_ENDED)
                continue
        yield Event("launch", path, cell.first)
        if cell.stopped:
            yield Event("end", path, cell.last, detail=CELL_STOPPED)
        elif cell.failed is None and not (cell.running and cell is cells[-1]):
            yield Event("end", path, cell.last, detail=CELL_ENDED)
        elif said and cell.failed and said < cell.failed:
            yield Event("end", path, cell.failed - 1, detail=CELL_ENDED)


class _Seen:
    """Where records stand."""

    def __init__(self, records: Sequence[Record]) -> None:
        points = [
            (one.metric, one.lines.tolist())
            for one in records
            if isinstance(one, Points) and one.lines is not None
        ]
        self._points = [(line, metric) for metric, lines in points for line in lines]
        self._ends = [
            one.line for one in records if isinstance(one, Event) and one.kind == "end" and one.line
        ]

    def measured(self, cell: Cell) -> bool:
        """Whether a value stands in what a cell printed."""
        return any(cell.first <= line <= cell.last for line, _ in self._points)

    def course(self, cell: Cell) -> bool:
        """Whether several values of a loss do."""
        losses = Counter(
            metric
            for line, metric in self._points
            if cell.first <= line <= cell.last and "loss" in metric.lower()
        )
        return any(count >= _FEWEST for count in losses.values())

    def ended(self, cell: Cell) -> int | None:
        """The line in which a cell said that a training ended."""
        return next((line for line in self._ends if cell.first <= line <= cell.last), None)


def trains(source: str) -> bool:
    """Whether a cell trains; False for source that is no Python."""
    if len(source) > BIGGEST:
        return False
    if _COMMAND.search(source):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(_MAGIC.sub(r"\1pass", _TIMED.sub(r"\1", source)))
        return any(_trains(call) for call in _calls(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls outside of definitions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _DEFINED):
            continue
        if isinstance(node, ast.Call):
            yield node
        yield from _calls(node)


def _trains(call: ast.Call) -> bool:
    name = name_of(call.func)
    if not _TRAINS.fullmatch(name):
        return False
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if owner and name == "train":
        # `model.train()` only says in which mode a model is, beside the steps that train it
        return bool(call.args or call.keywords) or "train" in owner.lower()
    return not (name == "fit" and _PREPARES.search(owner))
