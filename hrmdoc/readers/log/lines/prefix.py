"""What launchers, loggers and containers write before a message: peeled off, its rank and time are kept."""

from __future__ import annotations

import math
import re

from hrmdoc.readers.log.lines.dates import GLOG, IN_BRACKETS, ISO, Dates
from hrmdoc.readers.log.lines.message import Message
from hrmdoc.text import patterns
from hrmdoc.text.stamps import CLOCK, DAY, FRACTION, LEVEL, RAY_PROCESS

_NO_DATE_GLOG = patterns.lazy(r"\[?[IWEF] [\w./\-]+:\d+\] ?")
_BRACKET = patterns.lazy(rf"\[([^\[\]]{{1,120}})\](?::(?=\s|\[|[A-Za-z{{]|{CLOCK}\b|\d{{4}}-\d\d-))?")
_MPI = patterns.lazy(r"\[(\d+),(\d+)\]<std(?:out|err)>:")
_RANK = patterns.lazy(
    r"(?:default|rank[ =:]?|Rank |RANK:|trainer|worker-?|gpu|GPU |proc )(\d{1,5})(?:\|\d+)?\Z"
)
_RANK_WORD = patterns.lazy(r"\brank(\d{1,5})\b")
_WORLD = patterns.lazy(r"Rank (\d+), World Size (\d+)\Z")
_NEMO = patterns.lazy(rf"NeMo [A-Z] ({DAY} {CLOCK}) \S+(?: rank:(\d+))?\Z")
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
_TAG = patterns.lazy(rf"\*[\w.\-]{{1,60}}\*\s{{1,4}}(?={DAY}|{CLOCK}|[A-Za-z])")
"""The name of a run between stars, before each of its lines."""
_QUOTED = patterns.lazy(r"(?:> ){1,4}(?=[^\s>])")
_K8S = patterns.lazy(r" std(?:out|err) [FP] ")
_GLOG_LEVELS = ("I", "W", "E", "F")
_SEPARATOR = patterns.lazy(r"[ \-|:,>]{0,4}")


class Peeler:
    """Peels prefixes until none matches; knows when the file changed, for stamps that carry no year."""

    def __init__(self, mtime: float) -> None:
        self._dates = Dates(mtime)

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
            return self._named(message, start) or self._level_first(message, start)
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
            if date := ISO.search(inside):
                message.see(self._dates.stamp(date), at)
        elif _LOGGER.match(inside):
            message.logger = inside
        else:
            return False
        return True

    def _clock(self, message: Message, inside: str, at: int) -> bool:
        """Whether the words in brackets are a date or a time of day."""
        stamp = self._dates.of_digits(inside + " ")
        if stamp is None or stamp.found.end() != len(inside):
            found = IN_BRACKETS.match(inside)
            stamp = None if found is None else self._dates.stamp(found)
        if stamp is not None:
            message.see(stamp, at)
        return stamp is not None

    def _digits(self, message: Message, start: str) -> bool:
        at = message.offset(start)
        stamp = self._dates.of_digits(start)
        if stamp is None:
            found = _SRUN.match(start)
            if found is None:
                return False
            message.see_rank(found, 1, at)
            message.rest = start[found.end() :]
            return True
        message.see(stamp, at)
        rest = start[stamp.found.end() :]
        collected = _K8S.match(rest)
        message.rest = rest if collected is None else rest[collected.end() :]
        self._after_stamp(message)
        return True

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
        found = GLOG.match(start)
        if found is None:
            return False
        message.see(self._dates.stamp(found), message.offset(start))
        message.rest = start[found.end() :]
        return True

    def _named(self, message: Message, start: str) -> bool:
        """A date that begins with the name of its month or its day."""
        stamp = self._dates.of_letters(start)
        if stamp is None:
            return False
        message.see(stamp, message.offset(start))
        message.rest = start[stamp.found.end() :]
        if stamp.span("sender") is None:
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
