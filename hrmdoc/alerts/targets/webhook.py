"""A generic webhook: the alert as JSON. `Idempotency-Key` is the same for a message that is sent again."""

from __future__ import annotations

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access
from hrmdoc.alerts.targets.web import bearer, post


def send(message: Message, access: Access) -> Answer:
    """Posts the message."""
    headers = {"Idempotency-Key": message.id, **bearer(access.token)}
    return post(access.url, message.plain(), headers)
