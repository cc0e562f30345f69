"""A POST of JSON, and what the answer means."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from email.message import Message as Headers
from http.client import HTTPException
from typing import IO, Any

from hrmdoc.alerts.outbox import Answer
from hrmdoc.routes import USER_IN_ADDRESS
from hrmdoc.text.clean import clean

TIMEOUT_S = 10.0
LASTING = (400, 410, 413, 415, 422)
"""Answers that say that this very body will never be taken."""
_READ = 400
"""Bytes of an answer that are looked at."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: a token is for the address that the user named."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        del req, fp, code, msg, headers, newurl


def post(url: str, body: Any, headers: dict[str, str]) -> Answer:
    """Posts `body` as JSON; any 2xx means that it was taken."""
    sent = {"Content-Type": "application/json", "User-Agent": "hrmdoc", **headers}
    try:
        data = json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=sent, method="POST")  # noqa: S310 (checked)
        if request.type not in ("http", "https"):
            return Answer("its address is no http or https address")
        if "@" in request.host:
            return Answer(USER_IN_ADDRESS, lasting=True)
        with urllib.request.build_opener(_Stay).open(request, timeout=TIMEOUT_S) as answer:
            answer.read(_READ)
            return Answer()
    except urllib.error.HTTPError as error:
        return _refused(error)
    except (OSError, HTTPException, ValueError) as error:  # no answer, none that is HTTP, no name of a host
        reason = getattr(error, "reason", None) or error
        return Answer(str(reason) or type(error).__name__)


def bearer(token: str) -> dict[str, str]:
    """The header for a token; none where there is none."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _refused(error: urllib.error.HTTPError) -> Answer:
    with error:
        try:
            said = clean(error.read(_READ).decode("utf-8", "replace"), 160).strip()
        except (OSError, HTTPException):
            said = ""
        if 300 <= error.code < 400:
            said = "it redirects, which is not followed"
        why = f"HTTP {error.code}" + (f": {said}" if said else "")
        return Answer(why, error.code in LASTING, _seconds(error.headers.get("Retry-After")))


def _seconds(text: str | None) -> float:
    """The seconds of `Retry-After`; a date there is not read."""
    return float(text) if text is not None and text.strip().isdigit() and len(text) < 9 else 0.0
