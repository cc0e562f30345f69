"""Stamps of date and time, in the forms that loggers write, as Unix seconds.

A time without a zone is taken as UTC; where the year is missing it is that of the file's last change. A time
of day without a date is given as the seconds since midnight: `state.days` counts the days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from hrmdoc.readers.log.lines.clocks import DAY, unix
from hrmdoc.text import patterns
from hrmdoc.text.stamps import SYSLOG_SENDER

_ZONES = {
    name: hours
    for hours, names in {
        -8: "PST", -7: "PDT MST", -6: "MDT", -5: "EST", -4: "EDT", 0: "UTC GMT WET",
        1: "CET WEST", 2: "EET CEST", 3: "EEST MSK", 9: "JST KST",
    }.items()
    for name in names.split()
}  # fmt: skip
"""Hours east of UTC. Not those that mean several zones: CST, IST, BST."""
_TIME = r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)"
_FRACTION = r"(?:[.,](?P<f>\d{1,9}))?"
_ISO_DAY = r"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)"
_ENDS = r"(?=[\s,\]])"
_ZONE = (
    r"(?P<z>Z|[+-]\d\d:?\d\d| [+-](?:0\d|1[0-4]):?[0134][05](?=[\s,\]|:]|\Z)"
    rf"| (?:{'|'.join(_ZONES)})(?=[\s,\]|:]|\Z))?"
)
ISO = patterns.lazy(rf"{_ISO_DAY}[ T_]{_TIME}{_FRACTION}{_ZONE}(?=\b|\W|\Z)")
_HALF_DAY = patterns.lazy(
    r"(?:(?:(?P<a>\d{1,2})/(?P<b>\d{1,2})(?:/(?P<y>\d{2}(?:\d\d)?))?"
    r"|(?P<iso>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)),? )?"
    rf"(?P<h>\d{{1,2}}):(?P<mi>\d\d):(?P<s>\d\d){_FRACTION} (?P<half>[AP])M{_ENDS}"
)
"""`05/06 07:08:09 AM`, as DARTS and what was made of it stamp their lines, also with the year."""
_SLASHES = patterns.lazy(rf"(?P<a>\d\d)/(?P<b>\d\d)/(?P<y>\d{{4}}),? {_TIME}{_FRACTION}")
_SPARK = patterns.lazy(rf"(?P<y>\d\d)/(?P<mo>\d\d)/(?P<d>\d\d) {_TIME}(?= [A-Z]{{4,5}} )")
_YEAR_OF_TWO = patterns.lazy(rf"(?P<a>\d\d)/(?P<b>\d\d)/(?P<y>\d\d) {_TIME}{_ENDS}")
"""`03/11/25 15:01:50`, the date of rich's handler and of XLM's loggers."""
_MINUTE = patterns.lazy(rf"{_ISO_DAY}[ T_](?P<h>\d\d):(?P<mi>\d\d){_ENDS}")
_SHORT = patterns.lazy(rf"(?P<a>\d\d)/(?P<b>\d\d) {_TIME}(?= (?:- |\[|[A-Z]{{4}}))")
_CLOCK = patterns.lazy(rf"{_TIME}{_FRACTION}(?=\s|\])")
_EPOCH = patterns.lazy(r"(?P<e>1\d{9})(?:\.(?P<f>\d{1,9}))?(?=[\s:,|\-]{1,4}[A-Za-z\[(]|\s?\Z)")
"""Seconds since 1970 before words: before numbers they are one of a row's."""
_OF_DIGITS = (ISO, _SLASHES, _SPARK, _YEAR_OF_TWO, _MINUTE, _SHORT, _CLOCK, _EPOCH)
IN_BRACKETS = patterns.lazy(rf"(?P<a>\d\d)/(?P<b>\d\d) {_TIME}(?: [\w.]+)?\Z")
GLOG = patterns.lazy(
    rf"\[?[IWEF](?P<mo>\d{{1,2}})(?P<d>\d\d) {_TIME}\.(?P<f>\d+)\s+(?:\d+\s+)?[\w./\-<>]+:\d+\] ?"
)
_SYSLOG = patterns.lazy(
    rf"(?P<mo>[A-Z][a-z]{{2}}) {{1,2}}(?P<d>\d{{1,2}}) {_TIME}"
    rf"(?: (?P<sender>{SYSLOG_SENDER})|{_ENDS}|(?=: |\Z))"
)
"""`Nov 20 03:01:12 node7 train[4711]: `, as syslog and journald write it, and the same date alone."""
_DAY_NAME = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? {1,2}"
_DAY_FIRST = patterns.lazy(
    rf"{_DAY_NAME}(?P<d>\d{{1,2}}) (?P<mo>[A-Z][a-z]{{2}})[a-z]{{0,6}},? (?P<y>\d{{4}}) "
    rf"{_TIME}{_FRACTION}(?=\s|\Z)"
)
"""`Mon 03 Nov 2025 09:30:01 INFO  `, as RecBole stamps its lines."""
_YEAR_LAST = patterns.lazy(
    rf"{_DAY_NAME}(?P<mo>[A-Z][a-z]{{2}}) {{1,2}}(?P<d>\d{{1,2}}) {_TIME}"
    r"(?P<z> [A-Z]{3,4})? (?P<y>\d{4})(?=:?\s|\Z)"
)
"""`Mon Nov  3 09:30:01 2025: `, the date of C's `ctime` and of a shell."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_RECENT = 8 * 86_400.0
"""Seconds between a stamp and the last change of its file within which one reading of it is the right one."""


class Stamp(NamedTuple):
    """A stamp that was found.

    Attributes:
        found: its match, with groups for the parts of the time: `f` is a fraction, `z` a zone.
        second: by its numbers alone: without fraction, as if its clock were that of UTC and of 24 hours.
        last: the group of the last number of its clock; `tick`: the seconds that this counts.
        shift: seconds to be added for its words: the month, the zone and the half of the day.
    """

    found: re.Match[str]
    second: float
    last: str = "s"
    tick: int = 1
    shift: float = 0.0

    @property
    def is_of_day(self) -> bool:
        """Whether it bears no date."""
        return self.second + self.shift < DAY

    @property
    def clock(self) -> tuple[int, int]:
        """Where its numbers stand, fraction and zone aside."""
        return self.found.start(), self.found.end(self.last)

    def span(self, part: str) -> tuple[int, int] | None:
        """Where a part stands, if it is there."""
        return self.found.span(part) if part in self.found.re.groupindex and self.found[part] else None


class Dates:
    """Reads stamps of one log; knows the year of those that bear none, and which number is the month."""

    def __init__(self, mtime: float) -> None:
        self._mtime = mtime if mtime > 0 else math.nan
        self._year = datetime.fromtimestamp(mtime, UTC).year if mtime > 0 else datetime.now(UTC).year
        self._day_first: bool | None = None

    def of_digits(self, text: str) -> Stamp | None:
        """A stamp that begins a text with a digit."""
        if (" AM" in text[:40] or " PM" in text[:40]) and (found := _HALF_DAY.match(text)):
            return self.stamp(found)
        for pattern in _OF_DIGITS:
            if found := pattern.match(text):
                return self.stamp(found)
        return None

    def of_letters(self, text: str) -> Stamp | None:
        """One that begins with the name of a month or a day."""
        for pattern in (_SYSLOG, _DAY_FIRST, _YEAR_LAST):
            found = pattern.match(text)
            if found is not None and found["mo"] in _MONTHS:
                return self.stamp(found)
        return None

    def stamp(self, found: re.Match[str]) -> Stamp:
        """What a match of these patterns says."""
        part: dict[str, str | None] = found.groupdict()
        if epoch := part.get("e"):
            return Stamp(found, float(epoch), "e")
        hour, shift = int(found["h"]), 0.0
        if zone := part.get("z"):
            shift = -3600.0 * _hours_east(zone.strip())
        if half := part.get("half"):
            hour, shift = hour % 12, shift + 43_200.0 * (half == "P")
        seconds = part.get("s")
        second, month = self._second(part, (hour, int(found["mi"]), int(seconds or 0)))
        last, tick = ("s", 1) if seconds else ("mi", 60)
        return Stamp(found, second, last, tick, shift + month)

    def _second(self, part: Mapping[str, str | None], clock: tuple[int, int, int]) -> tuple[float, float]:
        """The seconds of a date, and those until its month where that is a name: no number of it changes with
        the month, then."""
        written, month, day = part.get("iso") or part.get("y"), part.get("mo"), part.get("d")
        if (first := part.get("a")) and (second := part.get("b")):
            return self._slashed(self._year_of(written), int(first), int(second), clock), 0.0
        if not month or not day:
            return unix(1970, 1, 1, *clock), 0.0
        number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
        year = self._year_of(written)
        found = unix(year, number, int(day), *clock)
        if written is None and found > self._mtime + _RECENT:
            year -= 1  # the log was begun before New Year
            found = unix(year, number, int(day), *clock)
        begun = 0.0 if month.isdigit() else unix(year, number, 1, 0, 0, 0)
        return found - begun, begun

    def _year_of(self, written: str | None) -> int:
        if written is None:
            return self._year
        return int(written) + (2000 if len(written) == 2 else 0)

    def _slashed(self, year: int, first: int, second: int, clock: tuple[int, int, int]) -> float:
        """The time of `11/20/2026` or `20/11/2026`. The month stands first unless a number is too large for
        it, or the day before makes a stamp of the days in which the file was last written."""
        if first > 12 or second > 12:
            self._day_first = first > 12
        both = unix(year, first, second, *clock), unix(year, second, first, *clock)
        if self._day_first is None:
            recent = [abs(self._mtime - one) <= _RECENT for one in both]
            self._day_first = recent[1] if recent[0] != recent[1] else None
        return both[bool(self._day_first)]


def _hours_east(zone: str) -> float:
    """Of UTC; 0 for a zone that nobody knows."""
    if zone[0] in "+-":
        return (1 if zone[0] == "+" else -1) * (int(zone[1:3]) + int(zone[-2:]) / 60)
    return _ZONES.get(zone, 0)
