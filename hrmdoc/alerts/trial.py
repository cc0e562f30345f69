"""Messages that no incident stands behind: a test of a route, and the acknowledgement of an alert."""

from __future__ import annotations

import os
import platform
import time

import msgspec

from hrmdoc.alerts.message import Message, link_to
from hrmdoc.alerts.targets import alertmanager
from hrmdoc.alerts.targets import send as send_to
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Route

SHORT_S = 60.0


def send(route: Route, origin: str, link: str | None) -> str:
    """Sends a test to a target at once, past its queue and its hours.

    Returns:
        Why it was not delivered; "" where it was.
    """
    message = example(route, link, time.time())
    if route.target == "alertmanager":  # it ends by itself
        began = message.at - alertmanager.LASTS_S + SHORT_S
        message = msgspec.structs.replace(message, since=began, at=began)
    answer = send_to(message, route, origin)
    if not answer.why and route.target == "pagerduty":
        answer = send_to(msgspec.structs.replace(message, status="resolved"), route, origin)
    return answer.why


def example(route: Route, link: str | None, now: float) -> Message:
    """A message of the least severity that the route is sent."""
    incident = Incident(
        "hrmdoc-test", "opened", route.minimum, "A test of this route", "nothing is wrong", None, now
    )
    run = os.getcwd().encode(errors="backslashreplace").decode()
    key = f"hrmdoc-test-{int(now)}-{os.getpid()}"
    return Message(f"{key}-0", key, "firing", run, platform.node(), link_to(link, run), now, now, (incident,))


def acknowledgement(key: str, now: float) -> Message:
    """Somebody acknowledged the alerts with this key."""
    name = f"{key}-seen-{int(now)}"
    return Message(name, key, "acknowledged", "", platform.node(), "", now, now, note="acknowledged")
