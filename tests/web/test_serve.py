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
from hrmdoc.cli.serve import _from_afar
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


@pytest.mark.parametrize(
    ("came", "typed"),
    [
        ("10.0.0.1 5000 10.1.2.3 22", "ssh -N -L 8080:127.0.0.1:8080 ann@10.1.2.3"),
        ("10.0.0.1 5000 10.1.2.3 2222", "ssh -N -L 8080:127.0.0.1:8080 -p 2222 ann@10.1.2.3"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_who_came_by_ssh_is_told_how_to_reach_the_pages(
    monkeypatch: pytest.MonkeyPatch, came: str, typed: str
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", came)
    monkeypatch.setenv("USER", "ann")
    assert _from_afar("http://127.0.0.1:8080/?token=x") == typed


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
