from __future__ import annotations

import json
import shlex
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.live.alerts import Alerter
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Alerts

SPIKE = Incident(
    "loss-spike", "opened", "warning", "The loss jumped", "train.loss is 9 at step 40", 40, 1.7e9
)
KEEP = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"


@pytest.fixture
def hook() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that takes posts, and what was posted."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alerts", bodies
        server.shutdown()
        thread.join()


def _told(targets: Alerts, capsys: pytest.CaptureFixture[str], *incidents: Incident) -> str:
    Alerter(targets, "runs/a").send(incidents or [SPIKE])
    return capsys.readouterr().err


def test_what_is_below_the_minimum_is_not_sent(
    hook: tuple[str, list[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    address, bodies = hook
    assert _told(Alerts(webhook=address, minimum="critical"), capsys) == ""
    assert bodies == []


def test_nobody_is_told_where_no_target_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert _told(Alerts(), capsys) == ""


def test_a_webhook_gets_the_incident_with_its_run(
    hook: tuple[str, list[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    address, bodies = hook
    assert _told(Alerts(webhook=address), capsys) == ""
    (body,) = map(json.loads, bodies)
    assert (body["schema"], body["run"], body["symptom"], body["step"]) == (
        "hrmdoc.incident/1",
        "runs/a",
        "loss-spike",
        40,
    )


def test_a_command_gets_the_incident_on_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept file.json"
    assert _told(Alerts(command=shlex.join([sys.executable, "-c", KEEP, str(kept)])), capsys) == ""
    assert json.loads(kept.read_bytes())["evidence"] == SPIKE.evidence


@pytest.mark.parametrize(
    "command", ["no-such-program-anywhere", f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'"]
)
def test_a_command_that_fails_is_told_of_and_stops_nothing(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _told(Alerts(command=command), capsys, SPIKE, SPIKE).count("hrmdoc: alert not delivered: ") == 2


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:port/", "http://[/", "http://127.0.0.1:1/", "http://a b/"]
)
def test_a_webhook_that_cannot_be_reached_is_told_of_and_stops_nothing(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _told(Alerts(webhook=address), capsys, SPIKE, SPIKE).count("hrmdoc: alert not delivered: ") == 2


def test_a_webhook_that_does_not_speak_http_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"what?\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert "alert not delivered: what?" in _told(
            Alerts(webhook=f"http://127.0.0.1:{server.getsockname()[1]}/"), capsys
        )
        thread.join()


@pytest.mark.parametrize(
    ("targets", "what"),
    [
        (Alerts(command="notify 'half a quote"), "is no command line: No closing quotation"),
        (Alerts(command="  "), "alerts.command is empty"),
        (Alerts(webhook="ftp://a/b"), "must be an http or https address, not 'ftp://a/b'"),
    ],
)
def test_a_target_that_can_never_be_told_is_refused_at_the_start(targets: Alerts, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        Alerter(targets, "runs/a")
