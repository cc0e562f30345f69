"""One run does not hold up the others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hrmdoc.web import run_page
from hrmdoc.web.app import Site
from hrmdoc.web.workers import TooLongError, within
from tests.web.conftest import key


@pytest.mark.parametrize("stuck", [lambda pipe: open(pipe), lambda _: time.sleep(60)])  # noqa: SIM115
def test_work_that_does_not_end_is_broken_off(tmp_path: Path, stuck: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = signal.getsignal(signal.SIGALRM)
    try:
        with pytest.raises(TooLongError, match="broken off"):
            within(0.05, partial(stuck, tmp_path / "pipe"))
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_work_in_time_is_done() -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        assert within(60.0, lambda: 7) == 7
    finally:
        signal.signal(signal.SIGALRM, before)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


@pytest.mark.parametrize("error", [TooLongError("it took too long"), ValueError("it took too long <b>")])
def test_a_run_that_cannot_be_drawn_is_said_so_on_its_page(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def breaks(*_: object) -> str:
        raise error

    monkeypatch.setattr(run_page, "draw", breaks)
    answer = client.get(f"/runs/{key(site, 'sick')}")
    assert answer.status_code == 503
    assert "it took too long" in answer.text
    assert "<b>" not in answer.text
    assert client.get("/").status_code == 200


def test_planted_journals_hold_up_no_page(client: TestClient, site: Site, runs: Path) -> None:
    os.mkfifo(runs / "sick" / "incidents.jsonl")
    (runs / "sick" / "actions.jsonl").touch()
    os.truncate(runs / "sick" / "actions.jsonl", 1 << 36)
    (runs / "sick" / "run.json").write_text("{}")
    assert client.get(f"/runs/{key(site, 'sick')}").status_code == 200
