"""Prometheus: the answer to a range query (`/api/v1/query_range`) as JSON, and a target's text.

Series have times and no steps. A target's text is one moment: where it holds one value of each series, that
is no curve, and is said.
https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hrmdoc.readers.support.base import Context, Session
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.objects import part
from hrmdoc.record.records import Damage, Points, Record

NAME = "prometheus"
TITLE = "Prometheus (range query as JSON, text exposition)"
WHOLE = True

_RANGE = re.compile(
    rb'\s*\{\s*"status"\s*:\s*"success"\s*,[\s\S]{0,4000}?"resultType"\s*:\s*"(?:matrix|vector)"'
)
_TEXT = re.compile(rb"^# (?:TYPE|HELP) [a-zA-Z_:][\w:.]* ", re.MULTILINE)
_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]{0,300})(?:\{(?P<labels>[^\n{}]{0,2000})\})?[ \t]+(?P<value>\S{1,40})"
    r"(?:[ \t]+(?P<time>-?\d[\d.]{0,24}))?(?:[ \t]+#.*)?"
)
_MOMENT = (
    "holds one moment, which is no curve; ask Prometheus for a range: curl -G HOST:9090/api/v1/query_range "
    "-d query='{job=\"train\"}' -d start=... -d end=... -d step=15 > range.json"
)
_OWN = frozenset({"__name__", "job", "instance"})
_MILLI = 1e11
"""From here on a time is in milliseconds, as text has it; OpenMetrics has seconds."""


def sniff(path: Path, head: bytes) -> float:
    """By the frame of an answer, or by two lines that describe metrics."""
    del path
    if _RANGE.match(head):
        return 0.98
    return 0.9 if head.startswith(b"#") and len(_TEXT.findall(head, endpos=1 << 14)) >= 2 else 0.0


def open_session(context: Context) -> Session:
    """Starts to read one file."""
    return _Either(context)


class _Either(Whole):
    """An answer or a text, by the first character."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, _read)


def _read(context: Context, blob: bytes) -> Iterator[Record]:
    if blob.lstrip()[:1] != b"{":
        yield from _exposed(context, blob)
        return
    answer = json_session(context, _answer)
    yield from answer.feed(blob)
    yield from answer.close()


def _answer(context: Context, tree: Any) -> Iterator[Record]:
    found = part(tree, "data", "result")
    odd = LeftOut(context.path, "series that hold no samples")
    for place, series in enumerate(found if isinstance(found, list) else (), 1):
        labels, values = part(series, "metric"), part(series, "values")
        if isinstance(part(series, "value"), list):
            yield Damage(context.path, None, _MOMENT)
            return
        samples = [(number(one[0]), number(one[1])) for one in values or () if _is_pair(one)]
        kept = [(time, value) for time, value in samples if time is not None and value is not None]
        if not isinstance(labels, dict) or not kept:
            yield from odd.at(place, "the series holds no samples and was left out")
            continue
        yield _points(context, _name(labels), kept)
    yield from odd.rest()


def _is_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2


def _name(labels: dict[str, Any]) -> str:
    """The series as Prometheus writes it, without the labels that all of a job share."""
    told = ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if key not in _OWN)
    name = str(labels.get("__name__", "value"))
    return f"{name}{{{told}}}" if told else name


def _exposed(context: Context, blob: bytes) -> Iterator[Record]:
    found: dict[str, list[tuple[float, float]]] = {}
    odd = LeftOut(context.path, "lines that are no samples")
    for place, line in enumerate(blob.decode("utf-8", "replace").split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        sample = _sample(text)
        if sample is None:
            yield from odd.at(place, "the line is no sample and was left out")
            continue
        name, seconds, value = sample
        found.setdefault(name, []).append((seconds, value))
    yield from odd.rest()
    curves = {name: samples for name, samples in found.items() if len(samples) > 1}
    if not curves:
        yield Damage(context.path, None, _MOMENT)
    for name, samples in curves.items():
        yield _points(context, name, samples)


def _sample(text: str) -> tuple[str, float, float] | None:
    """Name, time in seconds (NaN where it has none) and value of a line; None where it is no sample."""
    found = _SAMPLE.fullmatch(text)
    value = None if found is None else number(found["value"].replace("+Inf", "inf"))
    if found is None or value is None:
        return None
    time = number(found["time"] or "")
    seconds = math.nan if time is None else time / 1000 if time > _MILLI else time
    labels = (found["labels"] or "").replace('"', "").strip(",")
    return found["name"] + (f"{{{labels}}}" if labels else ""), seconds, value


def _points(context: Context, name: str, samples: list[tuple[float, float]]) -> Points:
    times, values = np.array(samples, np.float64).T
    return Points(
        name,
        np.arange(len(values)),
        values,
        times,
        context.path,
        rank=context.rank,
        axis="index",
        precision=1,
        source=context.source,
    )
