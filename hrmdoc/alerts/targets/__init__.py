"""One file a target; each sends one message and says what came of it."""

from __future__ import annotations

from collections.abc import Callable

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets import alertmanager, apprise, command, pagerduty, webhook
from hrmdoc.alerts.targets.access import Access, scrubbed
from hrmdoc.errors import ConfigError
from hrmdoc.routes import Route

_TELL: dict[str, Callable[[Message, Access], Answer]] = {
    "alertmanager": alertmanager.send,
    "apprise": apprise.send,
    "command": command.send,
    "pagerduty": pagerduty.send,
    "webhook": webhook.send,
}


def send(message: Message, route: Route, origin: str) -> Answer:
    """Sends to the target of a route; no secret stands in the answer.

    Args:
        origin: the settings file, from whose folder files with secrets are named.
    """
    access = Access()
    try:
        access = Access.of(route, origin)
        answer = _TELL[route.target](message, access)
    except ConfigError as error:
        answer = Answer(error.what)
    except Exception as error:  # noqa: BLE001 (whatever it is, other alerts go on)
        answer = Answer(f"a fault of hrmdoc itself: {type(error).__name__}: {error}")
    return Answer(scrubbed(answer.why, access), answer.lasting, answer.after_s)
