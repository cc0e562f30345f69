"""Rows of puzzle tables with the columns source, question, answer, rating: from CSV files or `datasets`
repositories."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hrmdoc.errors import InputError

COLUMNS = ("question", "answer", "rating")
_BLOCK = 20_000


class Rows(NamedTuple):
    """A block of rows as text, and the line of the first of them (1-based)."""

    questions: list[str]
    answers: list[str]
    ratings: list[str]
    line: int


def csv_rows(file: str | Path) -> Iterator[Rows]:
    """The rows of a CSV file, in blocks.

    Raises:
        InputError: the file cannot be read, lacks a column, or a row has another number of fields than the
            header.
    """
    path = Path(file)
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            yield from _blocks(path, csv.reader(stream))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"is no CSV text: {error}", file=path) from error


def _blocks(path: Path, reader: Iterator[list[str]]) -> Iterator[Rows]:
    header = next(reader, [])
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise InputError(f"lacks the column(s) {', '.join(missing)}", file=path, line=1)
    places = [header.index(name) for name in COLUMNS]
    line = 2
    while block := list(islice(reader, _BLOCK)):
        for offset, row in enumerate(block):
            if len(row) != len(header):
                raise InputError(
                    f"has {len(row)} fields, the header has {len(header)}", file=path, line=line + offset
                )
        questions, answers, ratings = ([row[place] for row in block] for place in places)
        yield Rows(questions, answers, ratings, line)
        line += len(block)


def repository_rows(source: str, split: str, cache: str | Path | None = None) -> Iterator[Rows]:
    """The rows of one split of a `datasets` repository: an id such as `sapientinc/sudoku-extreme`, or a
    folder of CSV files.

    Args:
        cache: where `datasets` keeps what it loads; None is its own default.
    """
    import datasets

    text = datasets.Value("string")
    features = datasets.Features(
        {"source": text, "question": text, "answer": text, "rating": datasets.Value("int64")}
    )
    try:
        table = datasets.load_dataset(
            source, split=split, features=features, cache_dir=None if cache is None else str(cache)
        )
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "give the repository's id, or a folder with train.csv and test.csv"
        raise InputError(f"split {split!r} cannot be loaded: {first}", file=source, hint=hint) from error
    line = 1
    for block in table.iter(batch_size=_BLOCK):
        yield Rows(block["question"], block["answer"], [str(rating) for rating in block["rating"]], line)
        line += len(block["question"])


def split_rows(source: str | Path, split: str) -> tuple[str, Iterator[Rows]]:
    """Name and rows of `<source>/<split>.csv` when `source` is a folder, else of the split of the repository
    of that id."""
    folder = Path(source)
    if folder.is_dir():
        file = folder / f"{split}.csv"
        return str(file), csv_rows(file)
    if folder.is_file():
        raise InputError(
            "is one file, and two splits are needed",
            file=folder,
            hint="give a folder with train.csv and test.csv",
        )
    if folder.suffix == ".csv" or folder.is_absolute():
        raise InputError("there is no such file or folder", file=folder)
    return f"{source} ({split})", repository_rows(str(source), split)
