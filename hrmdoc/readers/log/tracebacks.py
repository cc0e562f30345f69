"""Tracebacks and launchers' failure summaries: the lines that show what broke are kept."""

from __future__ import annotations

import math
from collections import deque
from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log import folds
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark, Sink
from hrmdoc.record.records import Event
from hrmdoc.record.records import Line as KeptLine
from hrmdoc.text import patterns
from hrmdoc.text.clean import HARMLESS_TRACEBACKS, THREAD

LINE_LIMIT = 2000
_EXCEPTION = patterns.lazy(
    r"((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}?(?:Error|Exception|Interrupt|SystemExit|Timeout))"
    r"(?:: |:?\s{0,8}\Z)"
)
_ANY_LAST = patterns.lazy(r"[A-Za-z_][\w.]{0,200}(?::|\s*\Z)")
_BLANKS = patterns.lazy(r" {3,}")
_RULE = patterns.lazy(r"\s*(?:=|-){20,}\s*\Z")
_FAILED = patterns.lazy(r"\S{1,300} FAILED\s*\Z")
_MOST_FRAMES = 1000
"""Frames of a traceback that are kept, the innermost ones: as many as Python goes deep."""
_MOST_SUMMARY = 60
_BAR = "=" * 20


class Failure(State):
    """What is open of a rank's failure.

    Attributes:
        traceback: a traceback is.
        harmless: it is one that Python ignored, or that ended a thread.
        frames: its last frames, and whether each was kept already.
        fold: the exception of the line before, whose message may go on below it.
        summary: lines that may still belong to a launcher's failure summary.
    """

    MEASURES: ClassVar[bool] = False

    traceback: bool = False
    harmless: bool = False
    frames: deque[tuple[str, Mark, bool]] = field(default_factory=lambda: deque(maxlen=_MOST_FRAMES))
    fold: folds.Fold | None = None
    summary: int = 0

    @property
    def open(self) -> bool:
        """Whether the next line may belong to it."""
        return self.traceback or self.fold is not None or self.summary > 0


class TracebackReader:
    """Keeps the lines that show what broke, and notes exceptions."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def keep(self, cursor: Cursor, text: str, mark: Mark) -> None:
        """A line worth keeping. One that holds what a terminal filled up with blanks is squeezed before it is
        cut."""
        whole = text if len(text) <= LINE_LIMIT else _BLANKS.sub("  ", text)
        whole = whole if len(whole) <= LINE_LIMIT else whole[: LINE_LIMIT - 1] + "…"
        step = cursor.flow.step
        self._sink.record(KeptLine(whole, self._sink.file, mark.line, mark.time, mark.rank, step))

    def read(self, line: Line, cursor: Cursor) -> bool:
        """Whether the line belongs to a traceback, is an exception by itself, or part of a failure
        summary."""
        failure = cursor.of(Failure)
        return (
            self._inside(line, cursor, failure)
            or self._last(line, cursor, failure)
            or self._summary(line, cursor, failure)
        )

    def unfold(self, line: Line, cursor: Cursor) -> None:
        """Shows an exception that is open the line below it; one that is folded is kept in one line too, once
        it is whole."""
        fold = cursor.of(Failure).fold
        stamped = line.logger or not math.isnan(line.mark.time)
        if fold is not None and (stamped or not fold.take(line.text, line.mark.line)):
            self.close(cursor)

    def close(self, cursor: Cursor) -> None:
        """No more lines come to an exception that is open."""
        failure = cursor.of(Failure)
        fold, failure.fold = failure.fold, None
        if fold is not None:
            for text in fold.whole():
                self.keep(cursor, text, fold.mark)

    @staticmethod
    def _inside(line: Line, cursor: Cursor, failure: Failure) -> bool:
        """The head of a traceback, or a line of its frames."""
        text, bare = line.text, line.text.lstrip()
        if "Traceback (most recent call last)" in text:
            failure.traceback = True
            failure.frames.clear()
            return True
        if text.startswith((*HARMLESS_TRACEBACKS, THREAD)):
            failure.harmless = True
            return False
        if bare.startswith('File "') and text != bare:
            if len(failure.frames) == _MOST_FRAMES:
                cursor.log.leave_out("frames of too deep a traceback", line.mark)
            failure.frames.append((text, line.mark, line.kept))
            return True
        return failure.traceback and (not bare or text[0] in " \t")

    def _last(self, line: Line, cursor: Cursor, failure: Failure) -> bool:
        """The exception that ends a traceback, or stands alone."""
        text = line.text
        if text.startswith(HARMLESS_TRACEBACKS):
            return False
        found = _EXCEPTION.match(text[:600])
        if found is None and failure.traceback and failure.frames:
            found = _ANY_LAST.match(text[:400])
        harmless = failure.traceback and failure.harmless
        frames = [(frame, mark) for frame, mark, kept in failure.frames if not kept]
        failure.traceback = failure.harmless = False
        failure.frames.clear()
        if found is None:
            return False
        for frame, mark in frames:
            self.keep(cursor, frame, mark)
        if not line.kept:
            self.keep(cursor, text, line.mark)
        if not harmless:
            self._event(cursor, text[:500], line.mark)
            if folds.opens(text):
                failure.fold = folds.Fold([text], line.mark, line.mark.line)
        return True

    def _summary(self, line: Line, cursor: Cursor, failure: Failure) -> bool:
        """The block that torchrun prints when a worker failed, between lines of `=`."""
        text = line.text
        if failure.summary:
            failure.summary = 0 if text.startswith(_BAR) else failure.summary - 1
            worth = bool(text.strip()) and not _RULE.match(text)
        elif "FAILED" in text and _FAILED.match(text):
            failure.summary = _MOST_SUMMARY
            worth = True
        else:
            return False
        if worth and not line.kept:
            self.keep(cursor, text, line.mark)
        return True

    def _event(self, cursor: Cursor, detail: str, mark: Mark) -> None:
        step = cursor.flow.step
        self._sink.record(Event("exception", self._sink.file, mark.line, step, mark.time, mark.rank, detail))
