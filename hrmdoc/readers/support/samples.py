"""One sample of Prometheus' text: the grammar that targets, exporters and node-exporter's files share.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math

from msgspec import Struct

from hrmdoc.text import patterns

_SAMPLE = patterns.lazy(
    r'(?P<name>[A-Za-z_:][\w:]{0,300})(?:\{(?P<labels>(?:[^"{}]|"(?:[^"\\]|\\.)*+"){0,2000}+)\})?[ \t]+'
    r"(?P<value>[-+.\w]{1,40})(?:[ \t]+(?P<time>-?\d[\d.]{0,24}))?(?:[ \t]+#.*)?"
)
_LABEL = patterns.lazy(r'([A-Za-z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_MILLI = 1e11
"""From here on a time is in milliseconds, as text has it; OpenMetrics has seconds."""


class Sample(Struct, frozen=True):
    """One value of a series. `seconds` is Unix time, NaN where the line bears none."""

    name: str
    labels: dict[str, str]
    value: float
    seconds: float = math.nan

    @property
    def series(self) -> str:
        """The series as Prometheus writes it, without quotes."""
        return series(self.name, self.labels)


def series(name: str, labels: dict[str, str]) -> str:
    """A series by its name and labels: `train_loss{run=x}`."""
    inside = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}" if inside else name


def is_sample(line: str) -> bool:
    """Whether a stripped line holds more than a comment."""
    return bool(line) and not line.startswith("#")


def sample(line: str) -> Sample | None:
    """The sample of a stripped line, None where it is none."""
    found = _SAMPLE.fullmatch(line)
    value = None if found is None else _float(found["value"])
    if found is None or value is None:
        return None
    time = _float(found["time"] or "")
    seconds = math.nan if time is None else time / 1000 if time > _MILLI else time
    return Sample(found["name"], dict(_LABEL.findall(found["labels"] or "")), value, seconds)


def _float(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
