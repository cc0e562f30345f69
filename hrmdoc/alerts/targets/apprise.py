"""Slack, Discord, Teams, mail, ntfy and a hundred others, by the addresses of apprise (extra `alerts`)."""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING, Any

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access

if TYPE_CHECKING:
    from apprise import NotifyType

MISSING = "apprise is not installed: pip install 'hrmdoc[alerts]'"


def is_installed() -> bool:
    """Whether the extra is there."""
    return importlib.util.find_spec("apprise") is not None


def send(message: Message, access: Access) -> Answer:
    """Sends the text as text: nothing in it is taken for markup."""
    if not is_installed():
        return Answer(MISSING)
    import apprise

    service = apprise.Apprise()
    title, _, body = message.text.partition("\n")
    capture: Any = apprise.LogCapture
    with capture(level=logging.WARNING, fmt="%(message)s") as said:
        if not service.add(access.url):
            return Answer("apprise does not know an address of this form")
        try:
            taken = service.notify(
                body or title, title, notify_type=_kind(message), body_format=apprise.NotifyFormat.TEXT
            )
        except Exception as error:  # noqa: BLE001 (a hundred services, each with errors of its own)
            return Answer(f"apprise: {type(error).__name__}: {error}")
        why = " ".join(said.getvalue().split())
    return Answer("" if taken else f"apprise: {why or 'the service took nothing'}")


def _kind(message: Message) -> NotifyType:
    from apprise import NotifyType

    if message.status != "firing":
        return NotifyType.SUCCESS
    return {"critical": NotifyType.FAILURE, "warning": NotifyType.WARNING}.get(
        message.severity, NotifyType.INFO
    )
