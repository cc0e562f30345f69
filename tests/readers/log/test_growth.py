"""The work for a log grows with its lines, whatever they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hrmdoc.examination import ranks
from hrmdoc.readers.log.lines.stream import Block
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess, Series
from tests.readers.test_hostile import read


def looked_at(
    owner: type, method: str, rows: int, log: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> float:
    """How many rows a method is given in all while a log is read, for each line of it.

    Args:
        rows: which of its arguments are the rows.
    """
    whole, seen = getattr(owner, method), 0

    def counted(*given: Any) -> Any:
        nonlocal seen
        seen += len(given[rows])
        return whole(*given)

    monkeypatch.setattr(owner, method, counted)
    log.write_text(text)
    run = read(log)
    assert run.lines or run.points
    return seen / text.count("\n")


def test_lines_whose_reading_changes_at_each_epoch_are_taken_apart_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"Epoch {n}/{n + 5}\nval_loss: {n}.5 acc: 0.{n}\n" for n in range(1500))
    assert looked_at(Outlines, "_column", 2, tmp_path / "a.log", text, monkeypatch) < 60


def test_many_tracebacks_in_one_block_are_each_followed_to_their_end_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(
        f'Traceback (most recent call last):\n  File "{n}.py", line {n}, in f\n    x()\nValueError: {n}x\n'
        for n in range(1500)
    )
    assert looked_at(Block, "of", 1, tmp_path / "a.log", text, monkeypatch) < 60


def test_many_names_with_other_digits_are_sorted_in_one_step(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("".join(f"step {n // 40} layer{n % 40}_loss 1.{n}\n" for n in range(4000)))
    run = read(log)
    assert len(run.series) == 40
    assert {len(series) for series in run.series.values()} == {100}


def test_many_ranks_are_held_against_each_other_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    run, asked, length = Run(role_of=lambda _: RoleGuess("train.loss")), 0, Series.__len__
    for rank in range(200):
        values, steps = np.array([1.0, 0.9]), np.array([1, 2], np.int64)
        run.add(Points("loss", steps, values, np.full(2, np.nan), "a.log", steps, rank=rank))

    def counted(series: Series) -> int:
        nonlocal asked
        asked += 1
        return length(series)

    monkeypatch.setattr(Series, "__len__", counted)
    assert ranks.behind(run) == []
    assert ranks.levels(run, "train.loss") == {}
    assert asked < 20 * 200
