"""Reports of Ray Tune: `Result for PPO_env_00000:` and below it, as YAML, all that a trial told."""

from __future__ import annotations

import re

from msgspec import Struct, field

from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.text import patterns

_HEAD = patterns.lazy(r"Result for ([\w.,=\-]{1,200}):\s{0,8}\Z")
_ROW = patterns.lazy(r"( {2,40}+)([\w\-/@.]{1,80}):(?: (\S.{0,400}))?\Z")
_ELEMENT = patterns.lazy(r" {2,40}+- ")
_NUMBER = patterns.lazy(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.nan|\.inf)\Z", re.IGNORECASE)
_STEPS = ("timesteps_total", "num_env_steps_sampled_lifetime", "training_iteration")
_NO_METRICS = ("config/", "hist_stats/", "timers/", "perf/")
_MOST = 1000
_MOST_STEPS = 1e18


class Report(Struct):
    """The report that is being read: its trial, the keys around the next row with their indents, and its
    numbers."""

    trial: str
    mark: Mark
    around: list[tuple[int, str]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)


def begin(text: str, mark: Mark) -> Report | None:
    """The report that the line heads."""
    found = _HEAD.match(text)
    return None if found is None else Report(found.group(1), mark)


def take(report: Report, text: str) -> bool:
    """Whether the line is a row of the report."""
    row = _ROW.match(text)
    if row is None:
        return _ELEMENT.match(text) is not None
    indent, key, value = len(row.group(1)), row.group(2), row.group(3)
    while report.around and report.around[-1][0] >= indent:
        report.around.pop()
    if value is None:
        report.around.append((indent, key))
    elif _NUMBER.match(value) and len(report.values) < _MOST:
        name = "/".join([*(outer for _, outer in report.around), key])
        if not name.startswith(_NO_METRICS):
            report.values[name] = float(value.replace(".nan", "nan").replace(".inf", "inf"))
    return True


def end(report: Report, sink: Sink) -> int | None:
    """The report becomes points; gives its step, None where it tells none."""
    step = next(
        (int(report.values[key]) for key in _STEPS if 0 < report.values.get(key, 0.0) < _MOST_STEPS), None
    )
    if step is not None:
        sink.points(report.values.items(), step, "step", report.mark)
    return step
