"""The board follows its folders."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import Row, row_of
from hrmdoc.web.workers import WorkerDiedError
from tests.reports.runs_of import write_run
from tests.web.conftest import Here, settled


def again(board: Board) -> Board:
    """The board after it searched anew."""
    board._next_search = 0.0
    for entry in board.entries.values():
        entry.at = -1e9

    async def examine_all() -> None:
        for _ in range(4):
            await board.step()
            await asyncio.gather(*board._tasks)

    asyncio.run(examine_all())
    return board


def names(board: Board) -> list[str]:
    return [one.name for one in board.ranked()]


def test_runs_come_and_go(runs: Path) -> None:
    board = settled(Board(Roots.of([str(runs)]), Here()))
    write_run(runs / "new", sick_from=100)
    assert "new" in names(again(board))
    shutil.rmtree(runs / "new")
    assert "new" not in names(again(board))


def test_what_is_written_changes_the_verdict_and_is_told(runs: Path) -> None:
    board = settled(Board(Roots.of([str(runs)]), Here()))
    before = board.version
    healthy = next(one for one in board.entries.values() if one.name == "healthy")
    with (runs / "healthy" / "metrics.jsonl").open("a") as log:
        log.writelines(json.dumps({"step": step, "loss": float("nan")}) + "\n" for step in range(400, 440, 2))
    again(board)
    assert healthy.row is not None
    assert healthy.row.verdict == "critical"

    async def first() -> tuple[int, list[str]]:
        return await anext(board.news(before))

    version, keys = asyncio.run(first())
    assert version == board.version
    assert keys == [healthy.key]


def test_what_did_not_change_is_not_looked_at_again(runs: Path) -> None:
    calls: list[str] = []

    class Counting(Here):
        async def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(args[0].folder)
            return await super().call(function, *args, **kwargs)

    board = settled(Board(Roots.of([str(runs)]), Counting()))
    again(again(board))
    assert sorted(calls) == sorted(set(calls))


def test_a_run_that_falls_silent_is_looked_at_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = settled(Board(Roots.of([str(runs)]), Here()))
    healthy = next(one for one in board.entries.values() if one.name == "healthy")
    assert healthy.row is not None
    assert healthy.row.live
    monkeypatch.setattr("hrmdoc.web.rows.LIVE_S", -1.0)
    again(board)
    assert not healthy.row.live


def test_a_run_whose_files_are_gone_is_not_called_without_data_until_it_is_forgotten(runs: Path) -> None:
    board = settled(Board(Roots.of([str(runs)]), Here()))
    shutil.rmtree(runs / "healthy")
    board._next_search = board._settled = float("inf")

    async def step() -> list[str]:
        await board.step()
        await asyncio.gather(*board._tasks)
        return [one.row.verdict for one in board.entries.values() if one.name == "healthy" and one.row]

    assert asyncio.run(step()) == ["healthy"]
    assert asyncio.run(step()) == []


def test_an_empty_folder_is_a_board_without_runs(tmp_path: Path) -> None:
    board = again(Board(Roots.of([str(tmp_path)]), Here()))
    assert names(board) == []
    assert board.searched


def test_a_worker_that_dies_costs_one_verdict(runs: Path) -> None:
    class Dying(Here):
        async def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
            if args[0].folder.endswith("hostile"):
                raise WorkerDiedError("gone")
            return await super().call(function, *args, **kwargs)

    board = settled(Board(Roots.of([str(runs)]), Dying()))
    rows = {one.name: one.row for one in board.entries.values()}
    assert rows["hostile"] == Row("no_data", "gone", cost=60.0, fault=True)
    assert rows["sick"] is not None
    assert rows["sick"].verdict == "critical"


def test_a_fault_of_the_doctor_is_a_row_and_no_end(runs: Path, monkeypatch: Any) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("so it is")

    monkeypatch.setattr("hrmdoc.web.rows.examine", broken)
    roots = Roots.of([str(runs)])
    row = row_of(roots.runs()[0], roots)
    assert row.verdict == "no_data"
    assert "ZeroDivisionError" in row.said
