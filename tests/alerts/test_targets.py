"""Each body against the schema that its receiver publishes; secrets stay where they are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import psutil
import pytest

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.targets import command, send
from hrmdoc.alerts.targets.access import Access, scrubbed
from hrmdoc.alerts.trial import acknowledgement
from hrmdoc.routes import Route, shown
from tests.alerts.conftest import NAN, SPIKE, Hook, over

KEY = "0123456789abcdef0123456789abcdef"
# Of the PagerDuty Events API v2 (developer.pagerduty.com, "Send an Alert Event").
EVENT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["routing_key", "event_action", "dedup_key"],
    "properties": {
        "routing_key": {"type": "string", "minLength": 32, "maxLength": 32},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {"type": "string", "minLength": 1, "maxLength": 255},
        "client": {"type": "string"},
        "client_url": {"type": "string", "pattern": "^https?://"},
        "links": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["href"],
                "additionalProperties": False,
                "properties": {
                    "href": {"type": "string", "pattern": "^https?://"},
                    "text": {"type": "string"},
                },
            },
        },
        "images": {"type": "array"},
        "payload": {
            "type": "object",
            "additionalProperties": False,
            "required": ["summary", "source", "severity"],
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 1024},
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$"},
                "component": {"type": "string"},
                "group": {"type": "string"},
                "class": {"type": "string"},
                "custom_details": {"type": "object"},
            },
        },
    },
    "if": {"properties": {"event_action": {"const": "trigger"}}},
    "then": {"required": ["payload"]},
}
# Of Alertmanager's api/v2/openapi.yaml: postableAlerts.
ALERTS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["labels"],
        "additionalProperties": False,
        "properties": {
            "labels": {
                "type": "object",
                "required": ["alertname"],
                "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
                "additionalProperties": {"type": "string"},
            },
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "startsAt": {"type": "string"},
            "endsAt": {"type": "string"},
            "generatorURL": {"type": "string", "pattern": "^https?://"},
        },
    },
}
# Of an incoming webhook of Slack: text, and attachments of text with colours, fields and times.
SLACK: dict[str, Any] = {
    "type": "object",
    "anyOf": [{"required": ["text"]}, {"required": ["attachments"]}, {"required": ["blocks"]}],
    "properties": {
        "text": {"type": "string"},
        "username": {"type": "string"},
        "mrkdwn": {"type": "boolean"},
        "attachments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "title": {"type": "string"},
                    "color": {"type": "string"},
                },
            },
        },
    },
}
At = Callable[..., Route]


def message(status: str = "firing", link: str = "https://runs/a") -> Message:
    incidents = (NAN, SPIKE) if status == "firing" else (over(NAN), over(SPIKE))
    return Message("hrmdoc-1-0", "hrmdoc-1", status, "/runs/a", "node-1", link, 1.7e9, 1.7e9 + 9, incidents)  # type: ignore[arg-type]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PAGER_KEY", KEY)
    return "PAGER_KEY"


@pytest.mark.parametrize("link", ["https://runs/a", "/runs/a"])
def test_pagerduty_gets_events_of_its_schema_that_share_a_key(hook: Hook, key: str, link: str) -> None:
    hook.status, hook.answer = 202, b'{"status": "success"}'
    route = Route("pagerduty", "pager", url=hook.address, token_env=key)
    long = msgspec.structs.replace(message(link=link), incidents=(replace(NAN, title="x" * 3000),))
    seen = acknowledgement("hrmdoc-1", 1.7e9)
    for one in (message(link=link), long, seen, message("resolved", link)):
        assert send(one, route, "").why == ""
    for body in hook.bodies:
        jsonschema.validate(body, EVENT)
    assert [body["event_action"] for body in hook.bodies] == ["trigger", "trigger", "acknowledge", "resolve"]
    assert {body["dedup_key"] for body in hook.bodies} == {"hrmdoc-1"}
    assert hook.bodies[0]["payload"]["severity"] == "critical"


def test_an_alertmanager_gets_alerts_of_its_schema_whose_labels_stay(hook: Hook) -> None:
    hook.status = 200
    route = Route("alertmanager", "am", url=hook.address)
    assert send(message(), route, "").why == ""
    assert send(message("resolved", "/runs/a"), route, "").why == ""
    first, last = hook.bodies
    for body in hook.bodies:
        jsonschema.validate(body, ALERTS)
    assert hook.requests[0][0] == "/alerts/api/v2/alerts"
    assert [one["labels"] for one in first] == [one["labels"] for one in last]
    assert all(one["endsAt"] > one["startsAt"] for one in first)
    assert last[0]["endsAt"] == "2023-11-14T22:13:29.000+00:00"
    assert "generatorURL" not in last[0]


def test_slack_gets_text_of_its_schema_in_which_a_log_calls_nobody(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack = pytest.importorskip("apprise.plugins.slack", reason="the extra `alerts` is not installed")
    monkeypatch.setattr(slack.NotifySlack, "webhook_url", hook.address)
    hook.status, hook.answer = 200, b"ok"
    loud = msgspec.structs.replace(
        message(), incidents=(replace(NAN, evidence="<!here> @channel <@U012AB3CD> *bold*"),)
    )
    route = Route("apprise", "chat", url="slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#runs")
    assert send(loud, route, "").why == ""
    (body,) = hook.bodies
    jsonschema.validate(body, SLACK)
    text = json.dumps(body, ensure_ascii=False)
    assert "loss-nonfinite" in text
    assert not any(call in text for call in ("<!here", "@channel", "<@U", "&lt;!here"))


def test_an_address_that_apprise_does_not_know_is_said_without_it() -> None:
    pytest.importorskip("apprise", reason="the extra `alerts` is not installed")
    answer = send(message(), Route("apprise", "chat", url="nosuch://tokentoken"), "")
    assert "apprise" in answer.why
    assert "tokentoken" not in answer.why


def test_a_webhook_gets_its_token_and_a_name_by_which_it_knows_a_repetition(
    hook: Hook, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("s3cret-token\n")
    (tmp_path / "address").write_text(hook.address)
    route = Route("webhook", "hook", url_file="address", token_file="token")
    assert send(message(), route, str(tmp_path / "hrmdoc.toml")).why == ""
    (_, headers, _) = hook.requests[0]
    assert (headers["Authorization"], headers["Idempotency-Key"]) == ("Bearer s3cret-token", "hrmdoc-1-0")


@pytest.mark.parametrize(
    ("status", "lasting"), [(400, True), (401, False), (404, False), (429, False), (503, False)]
)
def test_what_a_refusal_means(hook: Hook, status: int, lasting: bool) -> None:
    hook.status, hook.answer, hook.headers = status, b"no \x1b[31mway", {"Retry-After": "7"}
    answer = send(message(), Route("webhook", "hook", url=hook.address), "")
    assert (answer.why, answer.lasting, answer.after_s) == (f"HTTP {status}: no way", lasting, 7.0)


def test_a_redirection_is_not_followed_so_that_no_token_goes_elsewhere(hook: Hook) -> None:
    hook.status, hook.headers = 302, {"Location": hook.address + "/elsewhere"}
    answer = send(message(), Route("webhook", "hook", url=hook.address), "")
    assert "redirects" in answer.why
    assert hook.asked == 1


def test_a_secret_is_never_said(hook: Hook, key: str) -> None:
    hook.status, hook.answer = 403, f"key {KEY} at {hook.address}/T0K3NT0K3N is unknown".encode()
    route = Route("pagerduty", "pager", url=hook.address + "/T0K3NT0K3N", token_env=key)
    why = send(message(), route, "").why
    assert "403" in why
    assert KEY not in why
    assert "T0K3N" not in why
    assert "T0K3N" not in repr(route) + shown(route.url or "") + repr(Access.of(route, ""))
    assert scrubbed("x user:passw0rd@host", Access("mailto://user:passw0rd@host")).count("passw0rd") == 0


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (
            Route("webhook", "a", url_env="NOT_SET_ANYWHERE"),
            "the environment variable NOT_SET_ANYWHERE is not set",
        ),
        (Route("webhook", "a", url_file="/no/such/file"), "/no/such/file: No such file or directory"),
        (Route("webhook", "a", url="http://["), ""),
    ],
)
def test_what_cannot_be_looked_up_is_said_and_raises_nothing(route: Route, said: str) -> None:
    answer = send(message(), route, "")
    assert said in answer.why
    assert answer.why


def test_a_command_that_fails_says_why_without_secrets() -> None:
    script = "echo first >&2; echo no such room, password=hunter22 >&2; echo >&2; exit 3"
    answer = send(message(), Route("command", "c", command=f"sh -c '{script}'"), "")
    assert answer.why == "sh exited with 3: no such room, password=[secret]"


def test_an_address_with_a_user_is_refused_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_URL", "http://user:secretpw@127.0.0.1:9/x")
    answer = send(message(), Route("webhook", "a", url_env="HOOK_URL"), "")
    assert "holds a user or a password" in answer.why
    assert answer.lasting
    assert "secretpw" not in answer.why


def test_a_command_that_does_not_end_is_killed_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "TIMEOUT_S", 0.3)
    script = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    answer = send(message(), Route("command", "c", command=f"sh -c '{script}'"), "")
    assert "did not end within" in answer.why
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    raise AssertionError("what the command started lives on")
