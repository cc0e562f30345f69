"""What the scenes share: the command at work in a folder of its own, and what it left there."""

from __future__ import annotations

import http.server
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

TRAINEE = Path(__file__).parents[1] / "live" / "trainee.py"


class SkipError(Exception):
    """This machine cannot try it."""


def until(what: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits for it.

    Raises:
        AssertionError: it did not come.
    """
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def hrmdoc(folder: Path, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """The command, at work in a folder with a state and settings of its own."""
    places = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    return subprocess.Popen(
        [sys.executable, "-m", "hrmdoc", *words],
        cwd=folder,
        env={**os.environ, **places, **(variables or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def living(folder: Path) -> list[psutil.Process]:
    """Processes at work in the folder, dead ones that nobody buried among them."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.cwd() == str(folder):
                found.append(process)
        except psutil.Error:
            continue
    return found


def state(folder: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads((folder / "o.log.hrmdoc" / "state.json").read_text())
    except (OSError, ValueError):
        return {"attempts": [], "phase": ""}
    return kept


class Receiver(http.server.BaseHTTPRequestHandler):
    """A target of alerts that is down at first."""

    down = 3
    asked = 0
    got: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.asked += 1
        refused = Receiver.asked <= Receiver.down
        if not refused:
            Receiver.got.append(json.loads(body))
        self.send_response(503 if refused else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def receiver() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def history(run: Path) -> Counter[tuple[str, str]]:
    try:
        lines = (run / "incidents.jsonl").read_text().splitlines()
    except OSError:
        return Counter()
    return Counter((one["symptom"], one["change"]) for one in map(json.loads, lines))


def line(step: int, lost: bool = False) -> str:
    wave = random.Random(step).random() / 10
    return f"step {step} | loss {'nan' if lost else f'{1 + 3 / (1 + step / 500) + wave:.4f}'} | lr 0.0003\n"


def told(symptom: str) -> list[str]:
    """What the target was told of a symptom."""
    return [str(one.get("change")) for one in Receiver.got if one.get("symptom") == symptom]
