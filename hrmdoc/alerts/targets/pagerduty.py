"""PagerDuty Events API v2: https://developer.pagerduty.com/docs/events-api-v2-overview. A group is one alert
there, by its key."""

from __future__ import annotations

import datetime
from typing import Any

from hrmdoc.alerts.message import Message, harmless
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access
from hrmdoc.alerts.targets.web import post
from hrmdoc.routes import is_web

URL = "https://events.pagerduty.com/v2/enqueue"
ACTIONS = {"firing": "trigger", "resolved": "resolve", "acknowledged": "acknowledge"}
SUMMARY = 1024
"""Characters that a summary may have."""


def send(message: Message, access: Access) -> Answer:
    """Sends one event."""
    return post(access.url or URL, event(message, access.token), {})


def event(message: Message, routing_key: str) -> dict[str, Any]:
    """The body of an event; what acknowledges or resolves needs no payload."""
    body: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": ACTIONS[message.status],
        "dedup_key": message.key,
    }
    if message.status != "firing":
        return body
    body |= {"payload": _payload(message), "client": "hrmdoc"}
    if is_web(message.link):
        body |= {"client_url": message.link, "links": [{"href": message.link, "text": "the run"}]}
    return body


def _payload(message: Message) -> dict[str, Any]:
    first = message.incidents[0]
    cause = first.cause if first.cause else "unknown"
    return {
        "summary": harmless(f"{first.title}: {message.run} on {message.host}", SUMMARY),
        "source": harmless(message.host) or "unknown",
        "severity": message.severity,
        "timestamp": stamp(message.since),
        "component": harmless(message.run),
        "group": cause,
        "class": first.symptom,
        "custom_details": {
            "text": message.text,
            "link": message.link,
            "cause": cause,
            "probability": first.probability,
            "incidents": [one.symptom for one in message.incidents if one.is_open],
        },
    }


def stamp(at: float) -> str:
    """A time as RFC 3339 has it, in UTC."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")
