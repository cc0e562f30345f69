"""A server that starts shows what was found before, and looks at what changed since."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hrmdoc.fleet.store import Store
from hrmdoc.fleet.triage import Asked, Triage
from hrmdoc.fleet.work import Request
from hrmdoc.settings import Settings
from hrmdoc.web import pages
from hrmdoc.web.board import Board
from hrmdoc.web.kept import Kept
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import Row
from tests.reports.runs_of import HOSTILE, write_run
from tests.web.conftest import Here, settled


class Counting(Here):
    """Notes which runs are examined."""

    def __init__(self) -> None:
        super().__init__()
        self.looked: list[str] = []

    async def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        self.looked.append(Path(args[0].folder).name)
        return await super().call(function, *args, **kwargs)


def started(runs: Path, store: Path) -> tuple[Board, list[str]]:
    """A board that another server kept something for, as it first appears, and which runs it looked at."""
    roots, workers = Roots.of([str(runs)]), Counting()
    workers.number = 0
    board = Board(roots, workers, Kept(roots, store))
    asyncio.run(board.step())
    return board, workers.looked


def finished(board: Board) -> Board:
    """The board once all runs that are due were looked at; its store is closed."""
    board.workers.number = 9
    settled(board)
    asyncio.run(_rest(board))
    assert board.kept is not None
    board.kept.close()
    return board


async def _rest(board: Board) -> None:
    await board.step()
    await asyncio.gather(*board._tasks)


def verdicts(board: Board) -> dict[str, str]:
    return {one.name: one.row.verdict for one in board.entries.values() if one.row is not None}


@pytest.fixture
def store(tmp_path: Path, runs: Path) -> Path:
    """What a server left that has shown all runs."""
    finished(started(runs, tmp_path / "kept.sqlite")[0])
    return tmp_path / "kept.sqlite"


def test_a_second_server_shows_every_run_at_once_and_examines_none(runs: Path, store: Path) -> None:
    board, _ = started(runs, store)
    assert verdicts(board) == {"healthy": "healthy", "sick": "critical", "hostile": "critical"}
    assert (board.waiting, board.recalled) == (0, 0)
    finished(board)
    assert isinstance(board.workers, Counting)
    assert board.workers.looked == []


def test_a_run_that_was_written_since_is_shown_as_last_seen_until_it_was_looked_at(
    runs: Path, store: Path
) -> None:
    with (runs / "healthy" / "metrics.jsonl").open("a") as log:
        log.writelines(json.dumps({"step": step, "loss": float("nan")}) + "\n" for step in range(400, 440, 2))
    board, _ = started(runs, store)
    assert verdicts(board)["healthy"] == "healthy"
    assert [one.name for one in board.entries.values() if one.recalled] == ["healthy"]
    assert "1 as last seen" in pages.board(board, {})
    finished(board)
    assert isinstance(board.workers, Counting)
    assert board.workers.looked == ["healthy"]
    assert verdicts(board)["healthy"] == "critical"
    assert "as last seen" not in pages.board(board, {})


def test_other_settings_have_every_run_looked_at_again(runs: Path, store: Path) -> None:
    Path("hrmdoc.toml").write_text('disable = ["loss-spike"]\n')
    board, _ = started(runs, store)
    assert (board.waiting, board.recalled) == (0, 3)
    finished(board)
    assert board.recalled == 0


def test_what_a_triage_found_is_shown_at_the_first_start(tmp_path: Path, runs: Path) -> None:
    kept = Store(tmp_path / "fleet.sqlite")
    Triage([str(runs)], Request(Settings()), kept).run(Asked(), lambda _: lambda _: None)
    kept.close()
    board, _ = started(runs, tmp_path / "fleet.sqlite")
    assert verdicts(board)["sick"] == "critical"
    assert board.recalled == 3
    finished(board)


def test_what_could_not_be_examined_is_not_kept(tmp_path: Path, runs: Path) -> None:
    class Broken(Counting):
        async def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
            return Row("no_data", "a fault", fault=True)

    roots = Roots.of([str(runs)])
    finished(Board(roots, Broken(), Kept(roots, tmp_path / "kept.sqlite")))
    board, _ = started(runs, tmp_path / "kept.sqlite")
    assert board.waiting == 3


def test_lines_that_were_planted_in_the_store_are_text_or_passed_by(runs: Path, store: Path) -> None:
    with sqlite3.connect(store) as planted:
        places = [row[0] for row in planted.execute("select place from lines")]
        bad = [
            b"\xc1",
            msgspec.msgpack.encode(Row("dead", "x")),
            msgspec.msgpack.encode(Row("info", HOSTILE)),
        ]
        for place, line in zip(places, bad, strict=True):
            planted.execute("update lines set line = ? where place = ?", (line, place))
    board, _ = started(runs, store)
    assert board.waiting == 2
    assert "<script>window" not in pages.board(board, {})
    finished(board)


def test_other_roots_keep_lines_of_their_own(tmp_path: Path, runs: Path, store: Path) -> None:
    write_run(tmp_path / "other" / "one")
    roots = Roots.of([str(runs), str(tmp_path / "other")])
    board = Board(roots, Counting(), Kept(roots, store))
    board.workers.number = 0
    asyncio.run(board.step())
    assert board.waiting == 4
    finished(board)
