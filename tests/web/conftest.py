"""Runs in a folder that is served, and a client that has the token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hrmdoc.web.app import Site, application
from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from hrmdoc.web.workers import Workers
from tests.reports.runs_of import write_hostile, write_run

TOKEN = "the-token-of-the-tests"


class Here(Workers):
    """Does the work in this process: no process is worth waiting for in a test."""

    def __init__(self) -> None:
        self.number = 1

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's settings and state count."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write_runs(folder: Path) -> Path:
    """A healthy, a sick and a hostile run."""
    write_run(folder / "healthy")
    write_run(folder / "sick", lr=0.8, sick_from=200)
    write_hostile(folder / "hostile")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return write_runs(tmp_path / "runs")


def settled(board: Board) -> Board:
    """The board once every run was looked at."""

    async def examine_all() -> None:
        for _ in range(50):
            await board.step()
            await asyncio.gather(*board._tasks)
            if board.entries and not board.waiting:
                return

    asyncio.run(examine_all())
    return board


@pytest.fixture
def site(runs: Path) -> Site:
    return Site(settled(Board(Roots.of([str(runs)]), Here())), Here(), TOKEN, allow_apply=True)


def client_of(site: Site, *, cookie: bool = True) -> TestClient:
    client = TestClient(application(site), base_url="http://127.0.0.1:80", follow_redirects=False)
    if cookie:
        client.cookies.set("hrmdoc-80", TOKEN)
    return client


@pytest.fixture
def client(site: Site) -> TestClient:
    return client_of(site)


def key(site: Site, name: str) -> str:
    """The key of the run of that name."""
    return next(one.key for one in site.board.entries.values() if one.name == name)
