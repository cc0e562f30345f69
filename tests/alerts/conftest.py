"""Servers that take alerts, or refuse them; incidents; a state folder of each test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.live.incidents import Incident

SPIKE = Incident(
    "loss-spike", "opened", "warning", "The loss jumped", "train.loss is 9 at step 40", 40, 1.7e9
)
NAN = replace(SPIKE, symptom="loss-nonfinite", severity="critical", title="The loss is NaN")


def over(incident: Incident, at: float = 1.7e9 + 60) -> Incident:
    """The same incident, resolved."""
    return replace(incident, change="resolved", at=at)


@dataclass
class Hook:
    """A server that takes posts: what it was sent, and how it answers."""

    address: str = ""
    status: int = 204
    answer: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        """What it took, as data."""
        return [json.loads(body) for _, _, body in self.requests]


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A server on this machine."""
    state = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.asked += 1
            if state.status < 300:
                state.requests.append((self.path, dict(self.headers), body))
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(0 if state.status == 204 else len(state.answer)))
            self.end_headers()
            if state.status != 204:
                self.wfile.write(state.answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        state.address = f"http://127.0.0.1:{server.server_port}/alerts"
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def queues(apart: Path) -> Path:
    """Queues and ledgers of each test lie in a folder of its own."""
    return apart
