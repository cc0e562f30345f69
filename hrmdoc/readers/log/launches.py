"""Where another launch of the program begins in the same file: its first line comes again.

Many programs append to the log of the run before, and print no step. The line with which such a log begins,
before any result is logged and any epoch named, is then the mark of every launch; one that says whose results
follow comes with each evaluation, and is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from hrmdoc.readers.log.grammar.headings import heading_in
from hrmdoc.readers.log.grammar.words import is_result
from hrmdoc.readers.log.lines.stream import Block, cleaned
from hrmdoc.text import patterns
from hrmdoc.text.stamps import LEVEL

_SHORTEST = 8
"""Letters below which a line, such as a rule of dashes, marks nothing."""
_LONGEST = 400
"""Bytes of a line that may be the mark: the search for measures on it takes the square of its length."""
_LOOKED_AT = 12
"""Lines at the head of the file among which the mark is looked for."""
_MOST = 1000
"""A line that comes more often is said in passing, and no launch."""
_CLOCK = re.compile(rb"\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}")
_LEVEL = re.compile(rf"\b{LEVEL}\b".encode())
_PLACE = re.compile(rb"[\s\-:|\]]*[\w.<>]+:[\w.<>]+:\d+ - ")
"""Where loguru says that a message comes from; the number of the line changes with the program."""
_METRIC = re.compile(rb"[A-Za-z_)%]\w*\s*(?:[:=]\s+|=)[-+]?\d|\d[eE.]\d")
_RESULT = patterns.lazy(
    r"([A-Za-z][\w/.@-]*)(?:\W{0,3}\s{0,8}[:=]|\s)\s{0,8}[-+]?(?:\d|nan\b|inf\b)", re.IGNORECASE
)
"""A word before a number."""
_EPOCH = patterns.lazy(rb"\bepoch\W{0,3}\d", re.IGNORECASE)
_EVALUATES = patterns.lazy(
    rb"(?:(?:start\w*|begin\w*|running|performing)\s)?(?:the\s)?(?:evaluati(?:ng|on)|validati(?:ng|on)|test(?:ing)?)\b",
    re.IGNORECASE,
)
_NOTICE = patterns.lazy(rb"warn|deprecat|instructions for", re.IGNORECASE)
"""What libraries say on import, and again whenever they like."""


class Launches:
    """Finds the mark in the first lines of a log, and then each place where it comes again."""

    def __init__(self) -> None:
        self._mark: re.Pattern[bytes] | None = None
        self._looks = _LOOKED_AT
        self._found = 0
        self._line = 0

    def lines(self, block: Block) -> list[int]:
        """Numbers of the lines of `block` at which the program was launched again."""
        if not len(block.ends):
            return []
        found = list(self._found_in(block))
        self._line = _line_of(block, len(block.ends) - 1)
        return found

    def _found_in(self, block: Block) -> Iterator[int]:
        begin = 0 if self._mark is not None or not self._looks else self._look_for(block)
        if self._mark is None or self._found > _MOST:
            return
        for found in self._mark.finditer(block.data, begin):
            row = int(np.searchsorted(block.ends, found.start()))
            line, before = _line_of(block, row), _line_of(block, row - 1) if row else self._line
            if line == before:
                continue  # what is drawn again on the same line is none
            self._found += 1
            if self._found > _MOST:
                return
            yield line

    def _look_for(self, block: Block) -> int:
        """Takes the first line of words as the mark; gives back where it ends."""
        for _, start, end, _ in block.of(np.arange(min(self._looks, len(block.ends)))):
            self._looks -= 1
            line = block.data[start:end]
            mark = _marking(line)
            if mark:
                self._mark = re.compile(re.escape(mark) + rb"(?![A-Za-z0-9])")
                return end
            if _has_begun(line):
                self._looks = 0
                break
        return len(block.data)


def _line_of(block: Block, row: int) -> int:
    return next(line for _, _, _, line in block.of(np.array([row])))


def _marking(line: bytes) -> bytes:
    """The part of a line that another launch repeats: what stands behind its clock, or before one, and behind
    the name of a logger, which marks nothing; b"" for a line that has no such part."""
    if len(line) > _LONGEST:
        return b""
    parts = [part.strip(b" \t[](),;|=*#-") for part in _CLOCK.split(line)]
    words = max((re.sub(rb"^[\d\s.,:|\]-]+", b"", _said(part)) for part in parts), key=len)
    if sum(65 <= c <= 90 or 97 <= c <= 122 for c in words) < _SHORTEST or _METRIC.search(words):
        return b""
    heads = line.rstrip().endswith(b":") and heading_in(cleaned(words) + ":")
    return b"" if heads or _EVALUATES.match(words) or _NOTICE.search(line) else words


def _has_begun(line: bytes) -> bool:
    """Whether a line shows that the training goes on: what comes behind it comes again as it does."""
    if len(line) > _LONGEST:
        return False
    if _EPOCH.search(line):
        return True
    return any(is_result(found[1]) for found in _RESULT.finditer(cleaned(line)))


def _said(part: bytes) -> bytes:
    """What a logger was told to write, without its name and level."""
    level = _LEVEL.search(part)
    said = part[level.end() :] if level else part
    place = _PLACE.match(said)
    return (said[place.end() :] if place else said).strip(b" \t[](),:;|=*#-")
