"""JSON lines: one object a line, as LLaMA-Factory, ms-swift, W&B exports and many own scripts write, and
`events.jsonl`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_LINE
from hrmdoc.readers.support.flatten import flat_facts
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.cells import number, unix_time
from hrmdoc.readers.tables.keys import EPOCH_KEYS, STEP_KEYS
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.readers.tables.typed_rows import TypedRows, may_be_partial
from hrmdoc.record.records import Damage, Event, EventKind, Line, Record
from hrmdoc.text import patterns

NAME = "jsonl"
TITLE = "JSON lines (one object a line)"
WHOLE = False

_METRIC = patterns.lazy(
    r"(?:^|[_/.\s-])(?:loss|acc|accuracy|reward|lr|learning_rate|perplexity|ppl|grad_norm|entropy|score)",
    re.IGNORECASE,
)
_EVENTS: dict[str, EventKind] = {
    "started": "start",
    "start": "start",
    "run_started": "start",
    "resumed": "resume",
    "resume": "resume",
    "restarted": "restart",
    "checkpoint": "checkpoint",
    "checkpoint_saved": "checkpoint",
    "saved": "checkpoint",
    "evaluated": "eval",
    "evaluation": "eval",
    "exception": "exception",
    "error": "exception",
    "crashed": "exception",
    "action": "action",
    "action_taken": "action",
    "rollback": "action",
    "nonfinite": "action",
    "skipped": "action",
    "early_stop": "action",
    "warning": "action",
    "checkpoint_failed": "action",
    "ended": "end",
    "end": "end",
    "finished": "end",
    "stopped": "end",
    "run_ended": "end",
}
_EVENT_KEYS = ("event", "kind", "type")
_FAILED = patterns.lazy(
    r"(?:train|training|run|job)[_-](?:error|failed|failure|timeout|timed_out|crashed|aborted|preempted)"
)
"""Events by which a runner says that what it started has failed, in words of its own."""
_REASONS = ("error", "reason", "message", "msg", "detail", "status")
_NO_DETAIL = frozenset({"time", "step", "timestamp", "traceback", "metrics"})
_TEXT_KEYS = ("message", "msg", "text", "error", "traceback", "detail")
_CONFIG = "config"  # Ray Tune repeats it in every row
_NOT_METRICS = frozenset({*_EVENT_KEYS, *_TEXT_KEYS, _CONFIG})
_MOST_LINES = 400  # of one text in a record
_TRUST = 20  # so many objects in a row say what a file is


def sniff(path: Path, head: bytes) -> float:
    """Sure when the lines are objects with a step or a metric; a data set in JSON lines has neither."""
    lines = _first_lines(head)
    if not lines or not lines[0].lstrip().startswith(b"{"):
        return 0.0
    objects = [row for row in map(_parsed, lines) if isinstance(row, dict)]
    few = len(lines) > 1 and len(objects) * 2 < len(lines)
    if few or not any(map(is_record, objects)):
        return 0.0
    named = path.suffix in (".jsonl", ".ndjson")
    if len(lines) == 1 and not named and path.suffix == ".json":
        return 0.3  # one object alone is rather a JSON document
    return 0.97 if len(objects) == len(lines) else 0.85 if named else 0.45


def _first_lines(head: bytes) -> list[bytes]:
    """The first lines that are not blank, without one that the end of `head` has cut."""
    lines = list(filter(bytes.strip, head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:_TRUST]))
    cut = len(head) >= 1 << 16 and not head.endswith(b"\n") and head.count(b"\n") < _TRUST
    return lines[:-1] if cut and len(lines) > 1 else lines


def _parsed(line: bytes) -> Any:
    try:
        return json_text.loads(line)
    except ValueError:
        return None


def is_record(row: Mapping[str, Any]) -> bool:
    """Whether an object is an event, or a row of numbers that belongs to a training run."""
    if _event_kind(row) is not None:
        return True
    numbers = [key for key, value in row.items() if number(value) is not None or isinstance(value, dict)]
    counted = any(key in row for key in (*STEP_KEYS[:-4], *EPOCH_KEYS))
    return (len(numbers) >= 2 and counted) or any(_METRIC.search(str(key)) for key in numbers)


def _step_of(row: Mapping[str, Any]) -> int | None:
    step = number(row.get("step", row.get("global_step")))
    return None if step is None else int(step)


def _event_kind(row: Mapping[str, Any]) -> EventKind | None:
    for key in _EVENT_KEYS:
        word = row.get(key)
        if isinstance(word, str) and (kind := _EVENTS.get(word.lower())):
            return kind
    return "exception" if _failure(row) else None


def _failure(row: Mapping[str, Any]) -> str:
    """What a runner's record says of the failure of what it started; empty where it is none."""
    word = next((row[key] for key in _EVENT_KEYS if isinstance(row.get(key), str)), "").lower()
    if not _FAILED.fullmatch(word):
        return ""
    why = next((text for key in _REASONS if isinstance(text := row.get(key), str) and text.strip()), "")
    return f'event "{word.replace("-", "_")}": {why.splitlines()[0].strip() if why else "no reason is given"}'


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows = Rows(context, precision=3)
        self._typed: TypedRows | None = None
        self._config: dict[str, Any] = {}
        self._unread = LeftOut(context.path, "lines that are no JSON objects")

    def close(self) -> Iterator[Record]:
        """The last line, when it is whole although no line end follows."""
        rest = self._lines.close()
        if rest and _parsed(rest) is None:
            yield Damage(self._context.path, self._lines.number, "the last line is incomplete", left_out=1)
            rest = b""
        yield from self._block(rest)
        yield from self._unread.rest()
        yield from self._rows.rest()

    def _block(self, block: bytes) -> Iterator[Record]:
        if not (self._typed_alike(block) or self._alike(block)):
            yield from self._one_by_one(block)
        yield from self._rows.points()

    def _typed_alike(self, block: bytes) -> bool:
        """Takes a block in at once whose rows are like those of an earlier block; whether they were."""
        typed = self._typed
        parts = typed.columns(block) if typed and self._rows.takes_columns(typed.names) else None
        if parts is None or not self._rows.add_columns(parts, self._lines.number):
            return False
        self._lines.number += sum(len(part.order) for part in parts)
        return True

    def _alike(self, block: bytes) -> bool:
        """Takes a block in at once whose lines are all objects with nothing but metrics; whether it was
        one."""
        if not block.startswith(b"{") or len(block) > MAX_LINE:
            return False
        count = block.count(b"\n")
        try:
            # A line feed in a string is no JSON, so one torn line cannot swallow the next.
            rows = orjson.loads(b"[" + block[:-1].replace(b"\n", b",\n") + b"]")
        except orjson.JSONDecodeError:
            return False
        if len(rows) != count or set(map(type, rows)) != {dict}:
            return False
        names = tuple(rows[0])
        alike = all(map(names.__eq__, map(tuple, rows)))
        if not all(map(_NOT_METRICS.isdisjoint, (names,) if alike else map(tuple, rows))):
            return False
        flat = block.count(b"{") == count  # so that nothing is nested
        alike = alike and flat
        if flat:
            self._learn(rows, alike=alike)
        self._rows.add_all(rows, self._lines.number, alike=alike)
        self._lines.number += count
        return True

    def _learn(self, rows: list[dict[str, Any]], *, alike: bool) -> None:
        """Has the next blocks decoded as these flat rows would be: most are like the blocks before."""
        typed = self._typed
        if alike and (typed is None or typed.names == tuple(rows[0])):
            self._typed = typed or TypedRows(rows[-1])
            return
        known = dict.fromkeys(typed.names, 0.0) if typed and typed.all_numbers else {}
        together = {**known}
        for row in rows:
            together.update(row)
        if may_be_partial(together):
            if typed is None or not typed.partial or len(together) > len(known):
                self._typed = TypedRows(together, partial=True)
        elif alike:
            self._typed = TypedRows(rows[-1])

    def _one_by_one(self, block: bytes) -> Iterator[Record]:
        first = self._lines.number
        lines = self._lines.split(block) if block else []
        texts = self._wanted(block, lines) if block else set()
        for offset, line in enumerate(lines):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                row = _parsed(line) if line.strip() else ()
            if isinstance(row, dict):
                yield from self._row(row, first + offset, offset in texts)
            elif row != ():
                yield from self._unreadable(line, first + offset, offset in texts)
        yield from self._overlong()

    def _wanted(self, block: bytes, lines: list[bytes]) -> set[int]:
        """Which lines of the block hold a literal that a signature asks for."""
        positions = list(self._context.wanted(block))
        if not positions:
            return set()
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        return {bisect_right(starts, position) - 1 for position in positions}

    def _row(self, row: dict[str, Any], line: int, wanted: bool) -> Iterator[Record]:
        kind = _event_kind(row)
        if kind == "exception" and (failure := _failure(row)):
            time = unix_time(row.get("time", row.get("timestamp")))
            yield Line(failure[:2000], self._context.path, line, time, self._context.rank, _step_of(row))
        if wanted or kind == "exception":
            yield from self._texts(row, line)
        if kind is None:
            if isinstance(config := row.get(_CONFIG), dict):
                row = {key: cell for key, cell in row.items() if key != _CONFIG}
                if config != self._config:
                    self._config = config
                    yield from flat_facts(config, self._context.path, line)
            self._rows.add(row, line)
            return
        detail = {key: value for key, value in row.items() if key not in _NO_DETAIL}
        yield Event(
            kind,
            self._context.path,
            line,
            _step_of(row),
            unix_time(row.get("time", row.get("timestamp"))),
            self._context.rank,
            orjson.dumps(detail, default=str).decode()[:2000],
        )

    def _texts(self, row: Mapping[str, Any], line: int) -> Iterator[Line | Damage]:
        """The lines of text in a structured log record."""
        time, step, rank = unix_time(row.get("time", row.get("timestamp"))), _step_of(row), self._context.rank
        for key in _TEXT_KEYS:
            text = row.get(key)
            if isinstance(text, str):
                parts = text.splitlines()
                if len(parts) > _MOST_LINES:  # the beginning and the end say most
                    left_out = len(parts) - _MOST_LINES
                    what = f"{left_out:,} lines in the middle of its {key!r} were left out"
                    yield Damage(self._context.path, line, what, left_out=left_out)
                    parts = parts[: _MOST_LINES // 2] + parts[-_MOST_LINES // 2 :]
                yield from (Line(part, self._context.path, line, time, rank, step) for part in parts)

    def _unreadable(self, line: bytes, number_: int, wanted: bool) -> Iterator[Record]:
        """A line that is no JSON: kept when a signature asks for it, else left out."""
        if wanted:
            yield Line(
                line.decode("utf-8", "replace")[:4000], self._context.path, number_, rank=self._context.rank
            )
            return
        yield from self._unread.at(number_, "the line is no JSON object and was left out")
