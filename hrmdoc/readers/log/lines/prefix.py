"""What launchers, loggers and containers write before a message: peeled off, the rank and the time are kept.

A time without a zone is taken as UTC; where the year is missing (glog) it is that of the file's last change.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import partial

from hrmdoc.readers.log.lines.clocks import unix
from hrmdoc.readers.log.lines.message import Message
from hrmdoc.text import patterns
from hrmdoc.text.stamps import CLOCK, DAY, FRACTION, LEVEL, RAY_PROCESS, SYSLOG_SENDER

_DATE = patterns.lazy(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T_](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?=\b|\W|\Z)"
)
_US_DATE = patterns.lazy(r"(\d\d)/(\d\d)/(\d{4}),? (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SHORT_DATE = patterns.lazy(r"(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?= (?:- |\[|[A-Z]{4}))")
_HALF_DAY = patterns.lazy(
    r"(?:\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}[-/]\d\d[-/]\d\d),? \d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})? [AP]M"
    r"(?=[\s,\]])"
)
"""`05/06 07:08:09 AM`, as DARTS and what was made of it stamp their lines, also with the year. Lines that
differ in digits alone are timed by those, which do not tell the half of the day, so it gives no time."""
_SPARK_DATE = patterns.lazy(r"(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?= [A-Z]{4,5} )")
_YEAR_OF_TWO = patterns.lazy(r"(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?=[\s,\]])")
"""`03/11/25 15:01:50`, the date of rich's handler and of XLM's loggers: the month stands first."""
_MINUTE = patterns.lazy(r"\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d(?=[\s,\]])")
"""Without seconds it gives no time."""
_CLOCK = patterns.lazy(rf"{CLOCK}{FRACTION}(?=\s|\])")
_GLOG = patterns.lazy(r"\[?[IWEF](\d{3,4}) (\d\d):(\d\d):(\d\d)\.(\d+)\s+(?:\d+\s+)?[\w./\-<>]+:\d+\] ?")
_NO_DATE_GLOG = patterns.lazy(r"\[?[IWEF] [\w./\-]+:\d+\] ?")
_BRACKET = patterns.lazy(rf"\[([^\[\]]{{1,120}})\](?::(?=\s|\[|[A-Za-z{{]|{CLOCK}\b|\d{{4}}-\d\d-))?")
_MPI = patterns.lazy(r"\[(\d+),(\d+)\]<std(?:out|err)>:")
_RANK = patterns.lazy(
    r"(?:default|rank[ =:]?|Rank |RANK:|trainer|worker-?|gpu|GPU |proc )(\d{1,5})(?:\|\d+)?\Z"
)
_RANK_WORD = patterns.lazy(r"\brank(\d{1,5})\b")
_WORLD = patterns.lazy(r"Rank (\d+), World Size (\d+)\Z")
_NEMO = patterns.lazy(rf"NeMo [A-Z] ({DAY} {CLOCK}) \S+(?: rank:(\d+))?\Z")
_D2 = patterns.lazy(r"(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?: [\w.]+)?\Z")
_LEVEL_WORD = patterns.lazy(
    rf"{LEVEL}(?:\|[^\]]*)?(?::[\w.]+)?(?:[ |](?:\S+:\d+|\d{{4}}-\S+ \S+))?\Z", re.IGNORECASE
)
_LOGGER = patterns.lazy(r"(?:[A-Za-z_][\w.\-]*(?::\d+)?(?::[\w.<>]+)?|PID:\d+)\Z")
_LEVEL_FIRST = patterns.lazy(
    rf"{LEVEL}(?::([A-Za-z_][\w.]*):"
    rf"|(?: \d\d-\d\d {CLOCK}{FRACTION} (?:\[?[\w./]+:\d+\])?) ?|\s?[-|:] )"
)
_WORD_LEVEL = (
    patterns.lazy(  # each part ends where the next cannot begin, so none needs to give anything back (`++`)
        rf"[\s\-|:,>]{{0,6}}+(?:([\w./\\]{{1,160}}+)(?::\d++)?+(?:[\s\-|]{{1,24}}+(?::\s{{1,4}}+)?+)){{0,3}}"
        rf"(?:\[{LEVEL}\]|{LEVEL}(?![|\w\]]))[\s\-|:]{{0,10}}"
    )
)
_AFTER_LEVEL = patterns.lazy(
    r"(?:\[[^\[\]]{1,80}:\d+[^\[\]]{0,60}\] |\(([\w.]{1,160})\) ?[-:]? ?"
    r"|([A-Za-z_][\w.]{0,160}) (?:-|\||::?) (?![-+.]?\d\S{0,24}\s{0,8}\Z)"
    r"|[\w.<>]{1,80}:[\w.<>]{1,60}:\d+ - |\w{1,60}\.[\w.]{1,80}: |[\w.]{1,80}:\d+ >> )"
)
_RAY = patterns.lazy(RAY_PROCESS)
_HOST = patterns.lazy(rf"[A-Za-z][\w.\-]{{0,63}}: (?=\[?{DAY}|\[rank|\[default)")
_SRUN = patterns.lazy(
    r"(\d{1,5}): (?=\[|\{|\d{4}-|[ITWEF]\d{4} |"
    r"\s{0,8}(?:step|iteration|epoch|Traceback|File \"|\w{0,60}Error))",
    re.IGNORECASE,
)
_SYSLOG = patterns.lazy(r"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) " + SYSLOG_SENDER)
_DAY_NAME = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? {1,2}"
_DAY_FIRST = patterns.lazy(
    rf"{_DAY_NAME}(\d{{1,2}}) ([A-Z][a-z]{{2}})[a-z]{{0,6}},? (\d{{4}}) "
    r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?=\s|\Z)"
)
"""`Mon 03 Nov 2025 09:30:01 INFO  `, as RecBole stamps its lines."""
_YEAR_LAST = patterns.lazy(
    rf"{_DAY_NAME}([A-Z][a-z]{{2}}) {{1,2}}(\d{{1,2}}) (\d\d):(\d\d):(\d\d)"
    r"(?: [A-Z]{3,4})? (\d{4})(?=:?\s|\Z)"
)
"""`Mon Nov  3 09:30:01 2025: `, the date of C's `ctime` and of a shell."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TAG = patterns.lazy(rf"\*[\w.\-]{{1,60}}\*\s{{1,4}}(?={DAY}|{CLOCK}|[A-Za-z])")
"""The name of a run between stars, before each of its lines."""
_QUOTED = patterns.lazy(r"(?:> ){1,4}(?=[^\s>])")
_K8S = patterns.lazy(r" std(?:out|err) [FP] ")
_GLOG_LEVELS = ("I", "W", "E", "F")
_SEPARATOR = patterns.lazy(r"[ \-|:,>]{0,4}")


def _is_all_of(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a stamp is the whole text."""
    found = pattern.match(text + " ")
    return found is not None and found.end() == len(text)


class Peeler:
    """Peels prefixes until none matches; knows the year for stamps that carry none."""

    def __init__(self, mtime: float) -> None:
        self._year = datetime.fromtimestamp(mtime, UTC).year if mtime > 0 else datetime.now(UTC).year

    def peel(self, text: str) -> Message:
        """The message inside `text`."""
        message = Message(text, text)
        if text[:1] == "{":
            return message  # a printed mapping; logs hold many
        for _ in range(8):
            start = message.rest.lstrip(" ")
            if not start or not self._peel_once(message, start):
                break
        return message

    def _peel_once(self, message: Message, start: str) -> bool:
        first = start[0]
        if first == "[":
            return self._bracket(message, start)
        if first.isdigit():
            return self._digits(message, start)
        if first == "(":
            return self._cut(message, start, _RAY)
        if first in ">*":
            return self._cut(message, start, _QUOTED if first == ">" else _TAG)
        if first.isupper():
            if first in "IWEF" and (self._glog(message, start) or self._cut(message, start, _NO_DATE_GLOG)):
                return True
            return (
                self._syslog(message, start)
                or self._named_day(message, start)
                or self._level_first(message, start)
            )
        return self._cut(message, start, _HOST) if first.isalpha() else False

    @staticmethod
    def _cut(message: Message, start: str, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(start)
        if found is None:
            return False
        message.rest = start[found.end() :]
        return True

    def _bracket(self, message: Message, start: str) -> bool:
        if start[1:2] in _GLOG_LEVELS and (
            self._glog(message, start) or self._cut(message, start, _NO_DATE_GLOG)
        ):
            return True
        at = message.offset(start)
        if found := _MPI.match(start):
            message.see_rank(found, 2, at)
            message.rest = start[found.end() :]
            return True
        found = _BRACKET.match(start)
        if found is None:
            return False
        inside, rest = found.group(1), start[found.end() :]
        if not self._inside(message, inside, at + 1):
            return False
        message.rest = rest[1:] if rest[:1] == " " else rest
        if not math.isnan(message.time) or _LEVEL_WORD.match(inside):
            self._after_stamp(message)
        return True

    def _inside(self, message: Message, inside: str, at: int) -> bool:
        """Whether the words in brackets, at some place of the line, are a prefix; notes what they say."""
        if inside[0].isdigit():
            return self._clock(message, inside, at)
        if found := _RANK.match(inside):
            message.see_rank(found, 1, at)
        elif found := _WORLD.match(inside):
            message.see_rank(found, 1, at)
            message.world_size = int(found.group(2))
        elif found := _NEMO.match(inside):
            self._inside(message, found.group(1), at + found.start(1))
            if found.group(2):
                message.see_rank(found, 2, at)
        elif _LEVEL_WORD.match(inside):
            if date := _DATE.search(inside):
                message.see_iso(date, at)
        elif _LOGGER.match(inside):
            message.logger = inside
        else:
            return False
        return True

    def _clock(self, message: Message, inside: str, at: int) -> bool:
        """Whether the words in brackets are a date or a time of day."""
        if (found := _DATE.match(inside)) and found.end() == len(inside):
            message.see_iso(found, at)
        elif (found := _YEAR_OF_TWO.match(inside + " ")) and found.end() == len(inside):
            self._see_two(message, found, at)
        elif any(map(partial(_is_all_of, inside), (_MINUTE, _HALF_DAY))):
            pass
        elif found := _D2.match(inside):
            message.see_time(found, at, unix(self._year, *map(int, found.groups())), 5)
        else:
            clock = _CLOCK.match(inside + " ")
            return clock is not None and clock.end() == len(inside)
        return True

    def _digits(self, message: Message, start: str) -> bool:
        at = message.offset(start)
        if (" AM" in start[:40] or " PM" in start[:40]) and (found := _HALF_DAY.match(start)):
            pass
        elif found := _DATE.match(start):
            message.see_iso(found, at)
        elif found := _US_DATE.match(start):
            month, day, year, *clock = map(int, found.groups()[:6])
            message.see_time(found, at, unix(year, month, day, *clock), 6, 7)
        elif found := _SPARK_DATE.match(start):
            year, *rest_of_date = map(int, found.groups())
            message.see_time(found, at, unix(2000 + year, *rest_of_date), 6)
        elif found := _YEAR_OF_TWO.match(start):
            self._see_two(message, found, at)
        elif found := _MINUTE.match(start):
            pass
        elif found := _SHORT_DATE.match(start):
            message.see_time(found, at, unix(self._year, *map(int, found.groups())), 5)
        elif (found := _CLOCK.match(start)) is None:
            found = _SRUN.match(start)
            if found is None:
                return False
            message.see_rank(found, 1, at)
            message.rest = start[found.end() :]
            return True
        rest = start[found.end() :]
        collected = _K8S.match(rest)
        message.rest = rest if collected is None else rest[collected.end() :]
        self._after_stamp(message)
        return True

    @staticmethod
    def _see_two(message: Message, found: re.Match[str], at: int) -> None:
        """A date whose year has two digits."""
        month, day, year, *clock = map(int, found.groups())
        message.see_time(found, at, unix(2000 + year, month, day, *clock), 6)

    def _after_stamp(self, message: Message) -> None:
        """The logger's and the level's names after a time stamp, in any of the usual orders."""
        if found := _WORD_LEVEL.match(message.rest):
            message.logger = found.group(1) or message.logger
            if rank := _RANK_WORD.search(found.group()):
                message.see_rank(rank, 1, message.offset(message.rest))
            message.rest = message.rest[found.end() :]
            self._names(message)
        else:
            start = message.rest
            skipped = _SEPARATOR.match(start)
            marked = skipped is not None and skipped.group().strip()
            message.rest = start[skipped.end() :] if skipped and marked else start.removeprefix(" ")

    @staticmethod
    def _names(message: Message) -> None:
        if found := _AFTER_LEVEL.match(message.rest):
            message.logger = found.group(1) or found.group(2) or message.logger
            message.rest = message.rest[found.end() :]

    def _glog(self, message: Message, start: str) -> bool:
        found = _GLOG.match(start)
        if found is None:
            return False
        date, *clock, _ = found.groups()
        second = unix(self._year, int(date[:-2]), int(date[-2:]), *map(int, clock))
        message.see_time(found, message.offset(start), second, 4, 5)
        message.rest = start[found.end() :]
        return True

    def _syslog(self, message: Message, start: str) -> bool:
        """`Nov 20 03:01:12 node7 train[4711]: `, as syslog and journald write it."""
        found = _SYSLOG.match(start) if start[:3] in _MONTHS else None
        if found is None:
            return False
        month, *rest_of_date = found.groups()
        second = unix(self._year, _MONTHS.index(month) + 1, *map(int, rest_of_date))
        message.see_time(found, message.offset(start), second, 5)
        message.rest = start[found.end() :]
        return True

    def _named_day(self, message: Message, start: str) -> bool:
        """A date that begins with the name of its day."""
        at = message.offset(start)
        if found := _DAY_FIRST.match(start):
            day, month, year, *clock = found.groups()[:6]
            last, fraction = 6, 7
        elif found := _YEAR_LAST.match(start):
            month, day, *clock, year = found.groups()
            last, fraction = 5, 0
        if found is None or month not in _MONTHS:
            return False
        second = unix(int(year), _MONTHS.index(month) + 1, int(day), *map(int, clock))
        message.see_time(found, at, second, last, fraction)
        message.rest = start[found.end() :]
        self._after_stamp(message)
        return True

    def _level_first(self, message: Message, start: str) -> bool:
        found = _LEVEL_FIRST.match(start)
        if found is None:
            return False
        message.logger = found.group(1) or message.logger
        message.rest = start[found.end() :]
        if found.group(1) is None:
            self._names(message)
        return True
