"""`hrmdoc serve` as a command: its words, its end."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import psutil
import pytest

from hrmdoc.cli.main import main
from tests.web.serving import served


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that ends with status 2."""
    assert main(["serve", *words]) == 2
    return capsys.readouterr().err


def test_a_missing_root_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere: there is no such folder" in failure(capsys, "nowhere")


def test_a_taken_port_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is taken" in failure(capsys, "--port", str(port))


def test_a_missing_extra_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> Any:
        return None if name == "uvicorn" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    assert "pip install 'hrmdoc[serve]'" in failure(capsys)


def test_it_answers_and_ctrl_c_ends_it_with_all_its_processes(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path) as (process, address):
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(address) as page:
            assert b"hrmdoc" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address.partition("?")[0])
        workers = psutil.Process(process.pid).children(recursive=True)
        assert workers
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in said
        assert "leaked" not in said
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive


def test_it_listens_on_this_machine_alone(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path) as (process, _):
        heard = [
            one for one in psutil.Process(process.pid).net_connections() if one.status == psutil.CONN_LISTEN
        ]
        assert {one.laddr.ip for one in heard} == {"127.0.0.1"}


def test_workers_end_where_the_server_was_killed(runs: Path, tmp_path: Path) -> None:
    with served(runs, home=tmp_path) as (process, address):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address.partition("?")[0])
        for _ in range(100):
            workers = [
                one
                for one in psutil.Process(process.pid).children()
                if "spawn_main" in " ".join(one.cmdline())
            ]
            if workers:
                break
            os.sched_yield()
            psutil.cpu_percent(0.1)
        assert workers
        process.kill()
        process.communicate(timeout=30)
        _, alive = psutil.wait_procs(workers, timeout=20)
        assert not alive
