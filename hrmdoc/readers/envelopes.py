"""What collectors of logs wrap around each line: JSON of Docker, journald, Fluent Bit, Loki, Google Cloud and
CloudWatch.

The lines inside are read as the plain text log that they are, each with the time of its envelope in front. A
file is JSON lines, or one document that lists the envelopes. Places are reported as lines of the file, in a
document as the number of the envelope.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.readers import jsonl
from hrmdoc.readers.log.session import TextSession
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_DOCUMENT
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.support.placed import Placed
from hrmdoc.readers.tables.cells import unix_time
from hrmdoc.record.records import Damage, Record
from hrmdoc.text import patterns

NAME = "envelopes"
TITLE = "JSON envelopes of log collectors (Docker, journald, Google Cloud, CloudWatch, Loki)"
WHOLE = False

_TEXTS = ("log", "message", "msg", "MESSAGE", "textPayload", "line", "body", "_raw", "@message")
_TIMES = (
    "time",
    "timestamp",
    "ts",
    "@timestamp",
    "asctime",
    "__REALTIME_TIMESTAMP",
    "_time",
    "receiveTimestamp",
)
_LISTS = ("events", "entries", "logs", "results", "hits")
_DOCUMENT = patterns.lazy(rb'\s*(?:\[\s*\{|\{\s*"(?:' + "|".join(_LISTS).encode() + rb')"\s*:\s*\[\s*\{)')
_HELD = patterns.lazy(rb'"(?:' + "|".join(map(re.escape, _TEXTS)).encode() + rb')"\s*:\s*"')
_TIMED = patterns.lazy(rb'"(?:' + "|".join(map(re.escape, _TIMES)).encode() + rb')"\s*:')
_TRUST = 20


def sniff(path: Path, head: bytes) -> float:
    """Sure when every object holds one text and a time, and no numbers of a training run."""
    del path
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.lstrip()[:1] not in (b"{", b"[") or not _HELD.search(head) or not _TIMED.search(head):
        return 0.0
    whole = head.rpartition(b"\n")[0] or head
    lines = [line for line in whole.split(b"\n")[:_TRUST] if line.strip()]
    rows = [_parsed(line) for line in lines]
    if all(
        isinstance(row, dict) and _unwrapped(row) is not None and not jsonl.is_record(row) for row in rows
    ):
        return 0.9
    return 0.8 if _DOCUMENT.match(head) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._text = Placed(TextSession(context))
        self._document: list[bytes] | None = None
        self._held = 0
        self._begun = False
        self._unread = LeftOut(context.path, "lines that are no envelopes")

    @property
    def lines(self) -> int:
        """How many lines of text have ended so far."""
        return self._text.lines

    def close(self) -> Iterator[Record]:
        """The last line or the document, and what waited for lines that do not come any more."""
        yield from super().close()
        yield from self._overlong()
        yield from self._unread.rest()
        if self._document is not None:
            yield from self._whole(b"".join(self._document))
        yield from self._text.close()

    def _block(self, block: bytes) -> Iterator[Record]:
        """Records of whole lines. Where the first is no JSON by itself the file is a document, which ends
        with the file.

        Raises:
            InputError: the document is larger than can be held in memory at once.
        """
        if (
            self._document is None
            and not self._begun
            and (opening := block.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0])
        ):
            self._begun = True
            self._document = [] if _parsed(opening) is None else None
        if self._document is not None:
            self._hold(block)
            return
        envelopes: list[tuple[int, tuple[str, float]]] = []
        first = self._lines.number
        for place, line in enumerate(self._lines.split(block) if block else (), first):
            row = _parsed(line) if line.strip() else None
            if isinstance(row, dict) and (envelope := _unwrapped(row)) is not None:
                envelopes.append((place, envelope))
            elif inside := _listed(row):
                envelopes += inside
            elif line.strip():
                yield from self._unread.at(place, "the line is no envelope of a log line and was left out")
        yield from self._overlong()
        yield from self._read(envelopes)

    def _hold(self, block: bytes) -> None:
        assert self._document is not None
        self._held += len(block)
        if self._held > MAX_DOCUMENT:
            raise InputError(
                f"is larger than {MAX_DOCUMENT >> 20} MiB, too large for a document", file=self._context.path
            )
        self._document.append(block)

    def _whole(self, blob: bytes) -> Iterator[Record]:
        try:
            yield from self._read(_listed(json_text.document(blob, self._context.path)))
        except InputError as error:
            yield Damage(self._context.path, error.line, error.what)

    def _read(self, envelopes: Iterable[tuple[int, tuple[str, float]]]) -> Iterator[Record]:
        yield from self._text.feed(
            (place, f"{_stamp(time)}{line}")
            for place, (message, time) in envelopes
            for line in message.removesuffix("\n").split("\n")
        )


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _listed(tree: Any) -> list[tuple[int, tuple[str, float]]]:
    """Number, text and Unix time of the envelopes that a document lists, the oldest first."""
    rows = tree if isinstance(tree, list) else []
    if isinstance(tree, dict):
        rows = next((tree[name] for name in _LISTS if isinstance(tree.get(name), list)), [])
    found = [envelope for row in rows if isinstance(row, dict) and (envelope := _unwrapped(row)) is not None]
    if len(found) > 1 and found[0][1] > found[-1][1]:
        found.reverse()  # cloud consoles list the newest first
    return list(enumerate(found, 1))


def _unwrapped(row: Mapping[str, Any]) -> tuple[str, float] | None:
    """The text of an envelope and its time, NaN where it has none; None for an object without a text."""
    inner = row.get("jsonPayload")
    holders = (row, inner) if isinstance(inner, dict) else (row,)
    text = next(
        (holder[key] for holder in holders for key in _TEXTS if isinstance(holder.get(key), str)), None
    )
    if text is None:
        return None
    return text, next((time for key in _TIMES if not math.isnan(time := unix_time(row.get(key)))), math.nan)


def _stamp(time: float) -> str:
    try:
        return (
            "" if math.isnan(time) else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ ")
        )
    except (ValueError, OverflowError, OSError):
        return ""
