"""Reports of Ray Tune: `Result for PPO_env_00000:` and below it, as YAML, all that a trial measured; and the
same without a heading and an indent, as `pretty_print` of RLlib writes what one call of `train` gave. Of
several trials in one log, the first one's are read."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import Struct, field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.values import MOST_STEPS
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_HEAD = patterns.lazy(r"Result for ([\w.,=\-]{1,200}):\s{0,8}\Z")
_FIRST_KEY = patterns.lazy(r"(?:agent_timesteps_total: \d{1,15}|custom_metrics: \{\})\s{0,8}\Z")
"""With it begins what `pretty_print` writes; keys are in order."""
_OUTER = patterns.lazy(r"(?! )([a-z]\w{1,60}):(?: (\S.{0,400}))?\Z")
_ROW = patterns.lazy(r"( {2,40}+)([\w\-/@.]{1,80}):(?: (\S.{0,400}))?\Z")
_ELEMENT = patterns.lazy(r" {2,40}+- ")
_NUMBER = patterns.lazy(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.nan|\.inf)\Z", re.IGNORECASE)
_STEPS = ("timesteps_total", "num_env_steps_sampled_lifetime", "training_iteration")
_NO_METRICS = ("config/", "hist_stats/", "timers/", "perf/")
_BEGIN = ("Result for ", "agent_timesteps_total: ", "custom_metrics: ")
_MOST = 1000


class Report(Struct):
    """The report that is being read: its trial, the keys around the next row with their indents, and its
    numbers; `bare`: it has no heading, and its outer rows no indent."""

    trial: str
    mark: Mark
    bare: bool = False
    around: list[tuple[int, str]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)


class _Reports(State):
    """The report that has not ended."""

    report: Report | None = None

    @property
    def open(self) -> bool:
        """Whether there is one."""
        return self.report is not None


class RayTune(Format):
    """A report ends with the first line that is no row of it."""

    MARKS: ClassVar[tuple[str, ...]] = _BEGIN

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A line of a report; indents count, so its rows are read with whatever stands before them."""
        reports = cursor.of(_Reports)
        text = line.text if reports.report is None else line.whole
        if reports.report is None and not text.startswith(_BEGIN):
            return None
        bare = _FIRST_KEY.match(line.whole) is not None  # the next report, where one has no heading
        if reports.report is not None and not bare and self._row(reports.report, text, line.mark):
            return Reading()
        reading = Reading()
        self._end(cursor, reports, reading)
        head = _HEAD.match(text)
        if head is None and not bare:
            reading.left = "line"
            return reading
        trial = head.group(1) if head else ""
        cursor.trial = cursor.trial or trial
        if trial == cursor.trial:
            reports.report = Report(trial, line.mark, bare)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that heads no report."""
        del cursor
        return not line.text.startswith(_BEGIN)

    def close(self, cursor: Cursor) -> Reading | None:
        """The log ended with a report."""
        reading = Reading()
        self._end(cursor, cursor.of(_Reports), reading)
        return reading

    def _row(self, report: Report, text: str, mark: Mark) -> bool:
        """Whether the line is a row of the report."""
        row = _ROW.match(text)
        if row is None and report.bare and (outer := _OUTER.match(text)) is not None:
            return self._take(report, 0, outer.group(1), outer.group(2), mark)
        if row is None:
            return _ELEMENT.match(text) is not None
        return self._take(report, len(row.group(1)), row.group(2), row.group(3), mark)

    def _take(self, report: Report, indent: int, key: str, value: str | None, mark: Mark) -> bool:
        """Takes a row in."""
        while report.around and report.around[-1][0] >= indent:
            report.around.pop()
        if value is None:
            report.around.append((indent, key))
        elif _NUMBER.match(value):
            name = "/".join([*(outer for _, outer in report.around), key])
            if name.startswith(_NO_METRICS):
                pass
            elif len(report.values) < _MOST:
                report.values[name] = float(value.replace(".nan", "nan").replace(".inf", "inf"))
            else:
                self.log.leave_out("rows of too long a report", mark)
        return True

    @staticmethod
    def _end(cursor: Cursor, reports: _Reports, reading: Reading) -> None:
        """The report becomes points where it shows its step."""
        report, reports.report = reports.report, None
        if report is None:
            return
        steps = (report.values.get(key, 0.0) for key in _STEPS)
        step = next((int(value) for value in steps if 0 < value < MOST_STEPS), None)
        if step is not None:
            reading.add(report.values.items(), step, "step", report.mark)
            cursor.flow.step = step or cursor.flow.step
