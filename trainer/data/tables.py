"""Reads Sudoku tables with the columns of Sudoku-Extreme: source, question, answer, rating ('.' or 0 is a blank cell)."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .rules import Boards, is_solution

COLUMNS = ("question", "answer", "rating")
_BLOCK = 20_000
_DIGITS = np.full(256, -1, np.int8)
for _value, _char in enumerate("0123456789ABCDEFG"):
    _DIGITS[ord(_char)] = _value
_DIGITS[ord(".")] = 0

Rows = tuple[list[str], list[str], list[str]]  # questions, answers, ratings


@dataclass(frozen=True, slots=True)
class Table:
    """Puzzles of one side: questions and answers [N, side * side], ratings [N]."""

    questions: Boards
    answers: Boards
    ratings: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Table:
        return Table(self.questions[index], self.answers[index], self.ratings[index])


def read_csv(file: str | Path) -> Table:
    """Reads and checks a table.

    Raises:
        InputError: names the line of the first row that is no puzzle with its solution.
    """
    path = Path(file)
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return _table(path, _csv_blocks(path, csv.reader(stream)), first_line=2)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"is no CSV text: {error}", file=path) from error


def read_repository(source: str, split: str, cache: str | Path | None = None) -> Table:
    """Reads one split of a `datasets` repository: an id such as `sapientinc/sudoku-extreme`, or a local folder of CSV files.

    Args:
        cache: where `datasets` keeps what it loads; None is its own default.
    """
    import datasets

    text = datasets.Value("string")
    features = datasets.Features({"source": text, "question": text, "answer": text, "rating": datasets.Value("int64")})
    try:
        rows = datasets.load_dataset(source, split=split, features=features, cache_dir=None if cache is None else str(cache))
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "give the repository's id, or a folder with train.csv and test.csv"
        raise InputError(f"split {split!r} cannot be loaded: {first}", file=source, hint=hint) from error
    blocks = ((b["question"], b["answer"], [str(r) for r in b["rating"]]) for b in rows.iter(batch_size=_BLOCK))
    return _table(source, blocks, first_line=1)


def _csv_blocks(path: Path, reader: Iterator[list[str]]) -> Iterator[Rows]:
    header = next(reader, [])
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise InputError(f"lacks the column(s) {', '.join(missing)}", file=path, line=1)
    places = [header.index(name) for name in COLUMNS]
    line = 2
    while block := list(islice(reader, _BLOCK)):
        for offset, row in enumerate(block):
            if len(row) != len(header):
                raise InputError(f"has {len(row)} fields, the header has {len(header)}", file=path, line=line + offset)
        questions, answers, ratings = ([row[place] for row in block] for place in places)
        yield questions, answers, ratings
        line += len(block)


def _table(file: str | Path, blocks: Iterator[Rows], first_line: int) -> Table:
    parts, line, cells = [], first_line, 0
    for questions, answers, ratings in blocks:
        cells = cells or _cells(file, questions[0], line)
        parts.append(_parse(file, (questions, answers, ratings), cells, line))
        line += len(questions)
    if not parts:
        raise InputError("holds no puzzles", file=file)
    return Table(*(np.concatenate(c) for c in zip(*((p.questions, p.answers, p.ratings) for p in parts), strict=True)))


def _cells(file: str | Path, question: str, line: int) -> int:
    if len(question) not in (16, 81, 256):
        raise InputError(f"the question has {len(question)} cells, not 16, 81 or 256", file=file, line=line)
    return len(question)


def _parse(file: str | Path, rows: Rows, cells: int, line: int) -> Table:
    questions, answers, ratings = rows
    for kind, texts in (("question", questions), ("answer", answers)):
        for offset, text in enumerate(texts):
            if text is None or len(text) != cells or not text.isascii():
                raise InputError(f"the {kind} does not have {cells} cells", file=file, line=line + offset)
    boards = [_DIGITS[np.frombuffer("".join(texts).encode(), np.uint8)].reshape(-1, cells) for texts in (questions, answers)]
    question, answer = boards
    side = math.isqrt(cells)
    problems = (
        (((question < 0) | (question > side)).any(1), "the question holds a character that is no digit of this board"),
        (~is_solution(answer), "the answer breaks the rules"),
        (((question > 0) & (question != answer)).any(1), "the answer contradicts the question"),
    )
    for wrong, what in problems:
        if wrong.any():
            raise InputError(what, file=file, line=line + int(wrong.argmax()))
    for offset, rating in enumerate(ratings):
        if not rating.lstrip("-").isdecimal():
            raise InputError(f"the rating {rating[:20]!r} is no whole number", file=file, line=line + offset)
    return Table(question, answer, np.array([int(r) for r in ratings], np.int64))
