"""ARC tasks as they lie on the disk: a JSON file each, or many in one of Kaggle's with their solutions
beside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

SIDE = 30  # of the largest grid
_CHALLENGES, _SOLUTIONS = "_challenges", "_solutions"  # of Kaggle's two files of the same tasks

Grid = NDArray[np.uint8]
Pair = tuple[Grid, Grid]


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its name, the pairs that go to the training split and those that go to the test split."""

    name: str
    train: list[Pair]
    test: list[Pair]

    def pairs(self, split: str) -> list[Pair]:
        return self.train if split == "train" else self.test


def task_files(folder: Path) -> list[Path]:
    """The files of tasks below a folder, or the one file.

    Raises:
        InputError: there are none.
    """
    if folder.is_file():
        return [folder]
    files = [file for file in sorted(folder.rglob("*.json")) if not _is_solutions(file)]
    if not files:
        raise InputError(
            "there are no ARC tasks here",
            file=folder,
            hint="give a folder of JSON files such as ARC-AGI/data",
        )
    return files


def read_tasks(file: Path) -> list[Task]:
    """The task of a file, or all tasks of one of Kaggle's, by their ids; the outputs of its tests stand in
    the file of solutions beside it.

    Raises:
        InputError: it holds no tasks; names it.
    """
    raw = _json(file)
    if isinstance(raw, dict) and raw and not raw.keys() & {"train", "test"}:
        held = "evaluation" in file.name or file.parent.name == "evaluation"
        solutions = _solutions(file)
        return [
            _task(file, name, _solved(task, solutions.get(name)), held) for name, task in sorted(raw.items())
        ]
    return [_task(file, file.stem, raw, file.parent.name == "evaluation")]


def _task(file: Path, name: str, raw: Any, held: bool) -> Task:
    """A task, whose test pairs are `held` for the test split."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(split), list) for split in ("train", "test")):
        raise InputError("is no ARC task: it has no lists `train` and `test`", file=file)
    train, test = ([_pair(file, pair) for pair in raw[split]] for split in ("train", "test"))
    return Task(name, train, test) if held else Task(name, train + test, [])


def _is_solutions(file: Path) -> bool:
    return file.name.endswith(f"{_SOLUTIONS}.json") and _challenges(file).is_file()


def _challenges(file: Path) -> Path:
    return file.with_name(file.name.removesuffix(f"{_SOLUTIONS}.json") + f"{_CHALLENGES}.json")


def _solutions(file: Path) -> dict[str, Any]:
    """The outputs of the tests by task, where a file of them lies beside `file`."""
    place = file.with_name(file.name.removesuffix(f"{_CHALLENGES}.json") + f"{_SOLUTIONS}.json")
    found = _json(place) if place != file and place.is_file() else {}
    if not isinstance(found, dict):
        raise InputError("is no object of solutions by task", file=place)
    return found


def _solved(task: Any, outputs: Any) -> Any:
    """A task of Kaggle's with the outputs of its tests, where they stand apart."""
    if not isinstance(task, dict) or not isinstance(outputs, list) or not isinstance(task.get("test"), list):
        return task
    tests = [
        {**pair, "output": output} if isinstance(pair, dict) else pair
        for pair, output in zip(task["test"], outputs, strict=False)
    ]
    return {**task, "test": tests}


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except ValueError as error:
        raise InputError(f"is no valid JSON: {error}", file=file) from error


def _pair(file: Path, pair: Any) -> Pair:
    if not isinstance(pair, dict):
        raise InputError("holds a pair that is no object with `input` and `output`", file=file)
    return _grid(file, pair.get("input")), _grid(file, pair.get("output"))


def _grid(file: Path, rows: Any) -> Grid:
    lists = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if (
        not lists
        or not 1 <= len(rows) <= SIDE
        or not 1 <= len(rows[0]) <= SIDE
        or {len(row) for row in rows} != {len(rows[0])}
    ):
        raise InputError(f"holds a grid that is no rectangle of up to {SIDE} by {SIDE}", file=file)
    if not all(type(cell) is int and 0 <= cell <= 9 for row in rows for cell in row):
        raise InputError("holds a grid with a colour that is no whole number from 0 to 9", file=file)
    return np.array(rows, np.uint8)
