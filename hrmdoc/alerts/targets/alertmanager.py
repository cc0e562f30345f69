"""Alertmanager API v2: `POST /api/v2/alerts`. Each incident is an alert of its own there; grouping and
silences are the Alertmanager's."""

from __future__ import annotations

from typing import Any

from hrmdoc.alerts.message import Message, harmless
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access
from hrmdoc.alerts.targets.pagerduty import stamp
from hrmdoc.alerts.targets.web import bearer, post
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import is_web

LASTS_S = 600.0
"""An alert that nobody renews for so long is over: its watcher is gone."""
LEFT_S = 86_400.0
"""What is open when the watch ends stays open for so long."""


def send(message: Message, access: Access, lasts_s: float = LASTS_S) -> Answer:
    """Posts the incidents as alerts."""
    url = access.url.rstrip("/") + "/api/v2/alerts"
    body = [alert(one, message, lasts_s) for one in message.incidents]
    return post(url, body, bearer(access.token))


def alert(incident: Incident, message: Message, lasts_s: float) -> dict[str, Any]:
    """One alert; its labels name it, so that nothing stands there which changes."""
    open_ = message.status == "firing" and incident.is_open
    body = {
        "labels": {
            "alertname": incident.symptom,
            "job": "hrmdoc",
            "severity": incident.severity,
            "run": harmless(message.run),
            "instance": harmless(message.host),
            "key": message.key,
        },
        "annotations": {
            "summary": harmless(incident.title),
            "description": message.text,
            "cause": incident.cause,
            "probability": f"{incident.probability:.2f}",
            "link": message.link,
        },
        "startsAt": stamp(message.since),
        "endsAt": stamp(message.at + lasts_s if open_ else max(message.at, message.since)),
    }
    return body | ({"generatorURL": message.link} if is_web(message.link) else {})
