"""What reaches each target, from the settings on."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import threading
from pathlib import Path

import pytest

from hrmdoc.alerts.alerter import Alerter
from hrmdoc.errors import ConfigError
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Alerts, Route
from tests.alerts.conftest import NAN, SPIKE, Hook, over

KEEP = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"


def sent(targets: Alerts, *incidents: Incident, run: str = "runs/a") -> list[str]:
    """Tells of incidents and ends; what was said of failures."""
    said: list[str] = []
    alerter = Alerter(targets, say=said.append).start()
    alerter.follow(run)
    alerter.notify(incidents or [SPIKE])
    alerter.close(20)
    return said


def test_what_is_below_the_minimum_is_not_sent(hook: Hook) -> None:
    assert sent(Alerts(webhook=hook.address, minimum="critical"), SPIKE, NAN) == []
    assert [body["symptom"] for body in hook.bodies] == ["loss-nonfinite"]


def test_nobody_is_told_where_no_target_is_named() -> None:
    assert sent(Alerts()) == []


def test_a_webhook_gets_the_incident_with_its_run(hook: Hook) -> None:
    assert sent(Alerts(webhook=hook.address)) == []
    (body,) = hook.bodies
    assert (body["schema"], body["symptom"], body["step"]) == ("hrmdoc.incident/1", "loss-spike", 40)
    assert body["run"] == body["link"] == str(Path("runs/a").absolute())
    assert "WARNING loss-spike" in body["text"]
    assert body["key"] in body["text"]


def test_a_command_gets_the_incident_on_standard_input(tmp_path: Path) -> None:
    kept = tmp_path / "kept file.json"
    assert sent(Alerts(command=shlex.join([sys.executable, "-c", KEEP, str(kept)]))) == []
    assert json.loads(kept.read_bytes())["evidence"] == SPIKE.evidence


def test_the_end_is_told_too_and_each_change_by_itself_to_the_plain_targets(hook: Hook) -> None:
    sent(Alerts(webhook=hook.address), SPIKE, NAN, over(SPIKE))
    assert [(body["symptom"], body["status"]) for body in hook.bodies if body["symptom"] == "loss-spike"] == [
        ("loss-spike", "firing"),
        ("loss-spike", "resolved"),
    ]


def test_a_storm_is_one_message(hook: Hook) -> None:
    route = Route("webhook", url=hook.address)
    sent(Alerts(route=(route,)), SPIKE, NAN)
    (body,) = hook.bodies
    assert (body["symptom"], [one["symptom"] for one in body["also"]]) == ("loss-nonfinite", ["loss-spike"])
    assert "also: loss-spike (warning)" in body["text"]


def test_a_watch_that_starts_again_tells_nothing_twice_and_the_end_by_the_same_key(hook: Hook) -> None:
    targets = Alerts(route=(Route("webhook", url=hook.address),))
    sent(targets, NAN)
    sent(targets, NAN)
    sent(targets, over(NAN))
    first, second = hook.bodies
    assert (first["status"], second["status"]) == ("firing", "resolved")
    assert first["key"] == second["key"]


def test_another_run_is_told_by_itself(hook: Hook) -> None:
    targets = Alerts(route=(Route("webhook", url=hook.address),))
    sent(targets, NAN)
    sent(targets, NAN, run="runs/b")
    assert [Path(body["run"]).name for body in hook.bodies] == ["a", "b"]


def test_what_was_open_is_over_once_the_command_was_started_again(hook: Hook) -> None:
    alerter = Alerter(Alerts(route=(Route("webhook", url=hook.address, wait_s=0),))).start()
    alerter.follow("o.log", [NAN])
    alerter.follow("o-2.log", again=True)
    alerter.notify([NAN])
    alerter.follow("o-2.log", again=True)
    alerter.close(20)
    sent = [(Path(body["run"]).name, body["status"]) for body in hook.bodies]
    assert sent == [("o.log", "firing"), ("o.log", "resolved"), ("o-2.log", "firing")]


def test_what_one_watch_could_not_send_the_next_one_sends_whatever_it_watches(hook: Hook) -> None:
    targets = Alerts(webhook=hook.address)
    hook.status = 503
    assert any("not delivered yet" in words for words in sent(targets, NAN))
    hook.status = 204
    sent(targets, SPIKE, run="runs/b")
    assert [body["symptom"] for body in hook.bodies] == ["loss-nonfinite", "loss-spike"]


@pytest.mark.parametrize(
    "command", ["no-such-program-anywhere", f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'"]
)
def test_a_command_that_fails_is_told_of_once_and_stops_nothing(command: str) -> None:
    said = sent(Alerts(command=command), SPIKE, NAN)
    assert len([words for words in said if "it is tried again" in words]) == 1
    assert "2 not delivered yet" in said[-1]


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:port/", "http://[/", "http://127.0.0.1:1/", "http://a b/"]
)
def test_a_webhook_that_cannot_be_reached_is_told_of_and_stops_nothing(address: str) -> None:
    assert "not delivered yet" in sent(Alerts(webhook=address))[-1]


def test_a_webhook_that_does_not_speak_http_is_told_of() -> None:
    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(b"what?\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, daemon=True).start()
        said = sent(Alerts(webhook=f"http://127.0.0.1:{server.getsockname()[1]}/"))
        server.shutdown(socket.SHUT_RDWR)
    assert "what?" in said[0]


@pytest.mark.parametrize(
    ("targets", "what"),
    [
        (Alerts(command="notify 'half a quote"), "is no command line: No closing quotation"),
        (Alerts(command="  "), "`command` is missing"),
        (Alerts(command="cat >> f; echo"), "is run without a shell, and '>>' is for one"),
        (Alerts(command="echo a; echo b"), "is run without a shell, and 'a;' is for one"),
        (Alerts(webhook="http://user:pw@127.0.0.1:8080/x"), "holds a user or a password"),
        (Alerts(webhook="ftp://a/b"), "must be an http or https address"),
        (Alerts(route=(Route("pagerduty"),)), "must name where the routing key stands"),
        (Alerts(route=(Route("webhook"),)), "`url`, `url_env` or `url_file` is missing"),
        (Alerts(route=(Route("webhook", url="http://a", url_env="B"),)), "url, url_env is enough"),
        (Alerts(route=(Route("webhook", url="http://a", zone="Mars/Base"),)), "no time zone 'Mars/Base'"),
        (Alerts(route=(Route("command", command="a", name="x"),) * 2), "two routes are named 'x'"),
    ],
)
def test_a_target_that_can_never_be_told_is_refused_at_the_start(targets: Alerts, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        Alerter(targets)
