"""Prometheus: the answer to a range query (`/api/v1/query_range`) as JSON, and a target's text.

Series have times and no steps. A target's text is one moment: where it holds one value of each series, that
is no curve, and is said.
https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hrmdoc.readers.support.base import Context, Session
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.samples import is_sample, sample, series
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.readers.tables.cells import number
from hrmdoc.record.records import Damage, Points, Record

NAME = "prometheus"
TITLE = "Prometheus (range query as JSON, text exposition)"
WHOLE = True

_RANGE = re.compile(
    rb'\s*\{\s*"status"\s*:\s*"success"\s*,[\s\S]{0,4000}?"resultType"\s*:\s*"(?:matrix|vector)"'
)
_TEXT = re.compile(rb"^# (?:TYPE|HELP) [a-zA-Z_:][\w:.]* ", re.MULTILINE)
_MOMENT = (
    "holds one moment, which is no curve; ask Prometheus for a range: curl -G HOST:9090/api/v1/query_range "
    "-d query='{job=\"train\"}' -d start=... -d end=... -d step=15 > range.json"
)
_SHARED = ("job", "instance")
"""Labels that say nothing where all series bear the same."""


def sniff(path: Path, head: bytes) -> float:
    """By the frame of an answer, or by two lines that describe metrics."""
    del path
    if _RANGE.match(head):
        return 0.98
    return 0.9 if head.startswith(b"#") and len(_TEXT.findall(head, endpos=1 << 14)) >= 2 else 0.0


def open_session(context: Context) -> Session:
    """Starts to read one file."""
    return Whole(context, _read)


def _read(context: Context, blob: bytes) -> Iterator[Record]:
    if blob.lstrip()[:1] != b"{":
        yield from _exposed(context, blob)
        return
    answer = json_session(context, _answer)
    yield from answer.feed(blob)
    yield from answer.close()


def _answer(context: Context, tree: Any) -> Iterator[Record]:
    found = part(tree, "data", "result")
    answered = found if isinstance(found, list) else []
    if any(isinstance(part(one, "value"), list) for one in answered):
        yield Damage(context.path, None, _MOMENT)
        return
    odd = LeftOut(context.path, "series that hold no samples")
    curves: list[tuple[dict[str, str], list[tuple[float, float]]]] = []
    for place, one in enumerate(answered, 1):
        labels, samples = part(one, "metric"), _samples(part(one, "values"))
        if isinstance(labels, dict) and samples:
            curves.append(({key: str(value) for key, value in labels.items()}, samples))
        else:
            yield from odd.at(place, "the series holds no samples and was left out")
    yield from odd.rest()
    common = _common([labels for labels, _ in curves])
    for labels, samples in curves:
        name = labels.get("__name__", "value")
        named = {key: value for key, value in labels.items() if key not in (*common, "__name__")}
        yield _points(context, series(name, named), samples)


def _samples(values: Any) -> list[tuple[float, float]]:
    """Pairs of a time and a value."""
    listed = values if isinstance(values, list) else ()
    pairs = [(number(pair[0]), number(pair[1])) for pair in listed if _is_pair(pair)]
    return [(time, value) for time, value in pairs if time is not None and value is not None]


def _is_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2


def _common(found: list[dict[str, str]]) -> list[str]:
    """Labels of the target that tell no series from another."""
    return [key for key in _SHARED if len({labels.get(key) for labels in found}) == 1]


def _exposed(context: Context, blob: bytes) -> Iterator[Record]:
    found: dict[str, list[tuple[float, float]]] = {}
    odd = LeftOut(context.path, "lines that are no samples")
    for place, line in enumerate(blob.decode("utf-8", "replace").split("\n"), 1):
        if not is_sample(text := line.strip()):
            continue
        if (one := sample(text)) is None:
            yield from odd.at(place, "the line is no sample and was left out")
            continue
        found.setdefault(one.series, []).append((one.seconds, one.value))
    yield from odd.rest()
    curves = {name: samples for name, samples in found.items() if len(samples) > 1}
    if not curves:
        yield Damage(context.path, None, _MOMENT)
    for name, samples in curves.items():
        yield _points(context, name, samples)


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
