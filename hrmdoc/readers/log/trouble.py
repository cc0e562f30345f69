"""Tracebacks, launchers' failure summaries, and the moments of a run: start, resume, checkpoint, end."""

from __future__ import annotations

import math
import re

from hrmdoc.readers.log import folds
from hrmdoc.readers.log.prefix import Message
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import RankState
from hrmdoc.record.records import Event, EventKind, Line
from hrmdoc.text import patterns
from hrmdoc.text.clean import HARMLESS_TRACEBACKS

LINE_LIMIT = 2000
_EXCEPTION = patterns.lazy(
    r"((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}?(?:Error|Exception|Interrupt|SystemExit|Timeout))(?:: |:?\s{0,8}\Z)"
)
_ANY_LAST = patterns.lazy(r"[A-Za-z_][\w.]{0,200}(?::|\s*\Z)")
_BLANKS = patterns.lazy(r" {3,}")
_ONE_RESUME = 40
"""A program tells one resume in several lines, as Lightning says that it restores and that it has
restored."""
_RULE = patterns.lazy(r"\s*(?:=|-){20,}\s*\Z")
_FAILED = patterns.lazy(r"\S{1,300} FAILED\s*\Z")
_STEP = patterns.lazy(
    r"(?:global[_ ]step|step|iteration|checkpoint-|iter_?)[ =:_#\-]{0,3}0*(\d{1,12})", re.IGNORECASE
)
_NOT = patterns.lazy(
    r"\b(?:not|none|no|unable|fail|failed|false|skip|without|if|cannot|from scratch)\b", re.IGNORECASE
)
_MOMENTS: tuple[tuple[EventKind, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, hints, patterns.lazy(pattern, re.IGNORECASE))  # type: ignore[misc]
    for kind, hints, pattern in (
        ("restart", ("restart",), r"restarting worker group|worker group restart|restart_count ?[=:] ?[1-9]"),
        (
            "resume",
            ("resum", "continuing", "load", "restor"),
            r"\b(?:resum(?:e|ed|ing) (?:\w+ ){0,2}(?:from|at)\b|continuing training from|successfully loaded checkpoint|"
            r"load(?:ing|ed) (?:\w+ ){0,2}checkpoint (?:from|at|'|/)|load(?:ing|ed) (?:training|trainer|optimizer) state|"
            r"restor(?:ing|ed) (?:all )?states? (?:from|of))",
        ),
        (
            "checkpoint",
            ("sav",),
            r"\bsav(?:ing|ed)\b.{0,40}\b(?:checkpoints?|ckpt|model|weights|state)\b|checkpoint (?:\S{1,200} )?saved\b"
            r"|save checkpoint",
        ),
        (
            "start",
            ("training",),
            r"\*{3,} running training|\b(?:start(?:ing|ed)?|begin(?:ning)?) (?:of )?(?:the )?training\b(?! (?:step|epoch))"
            r"|\btraining (?:started|begins)",
        ),
        (
            "end",
            ("training", "fit` stopped", "early stopping"),
            r"\btraining (?:\w{1,30} )?(?:is )?(?:complete[d!.]*|finished|done|ended)\b|finished training|trainer\.fit` stopped"
            r"|\bearly stopping\b(?! (?:counter|patience|callback))",
        ),
    )
)
"""Kind, words of which one stands wherever the pattern matches (in lower case), pattern."""


class TroubleReader:
    """Keeps the lines that tell what broke, and notes events."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def keep(self, state: RankState, text: str, mark: Mark) -> None:
        """A line worth keeping. One that holds what a terminal filled up with blanks is squeezed before it is
        cut."""
        whole = text if len(text) <= LINE_LIMIT else _BLANKS.sub("  ", text)
        whole = whole if len(whole) <= LINE_LIMIT else whole[: LINE_LIMIT - 1] + "…"
        self._sink.record(Line(whole, self._sink.file, mark.line, mark.time, mark.rank, state.flow.step))

    def traceback(self, state: RankState, text: str, mark: Mark, kept: bool) -> bool:
        """Follows a traceback to its exception; says whether the line belonged to one or is an exception by
        itself."""
        if "Traceback (most recent call last)" in text:
            state.traceback = True
            state.frames.clear()
            return True
        if text.startswith(HARMLESS_TRACEBACKS):
            state.harmless = True
            return False
        bare = text.lstrip()
        if bare.startswith('File "') and text != bare:
            state.frames.append((text, mark, kept))
            return True
        if state.traceback and (not bare or text[0] in " \t"):
            return True
        found = _EXCEPTION.match(text[:600]) or (
            _ANY_LAST.match(text[:400]) if state.traceback and state.frames else None
        )
        harmless = state.traceback and state.harmless
        state.traceback = state.harmless = False
        frames = [(frame, where) for frame, where, known in state.frames if not known]
        state.frames.clear()
        if found is None:
            return False
        for frame, where in frames:
            self.keep(state, frame, where)
        if not kept:
            self.keep(state, text, mark)
        if not harmless:
            self._event("exception", state, text[:500], mark)
            if folds.opens(text):
                state.fold = folds.Fold([text], mark, mark.line)
        return True

    def unfold(self, state: RankState, message: Message, mark: Mark) -> None:
        """Shows an exception that is open the line below it; one that is folded is kept in one line too, once
        it is whole."""
        fold = state.fold
        stamped = message.logger or not math.isnan(message.time)
        if fold is not None and (stamped or not fold.take(message.rest, mark.line)):
            self.flush(state)

    def flush(self, state: RankState) -> None:
        """No more lines come to an exception that is open."""
        fold, state.fold = state.fold, None
        if fold is not None:
            for text in fold.whole():
                self.keep(state, text, fold.mark)

    def summary(self, state: RankState, text: str, mark: Mark, kept: bool) -> bool:
        """The block that torchrun prints when a worker failed, between lines of `=`."""
        if state.summary:
            state.summary = 0 if text.startswith("=" * 20) else state.summary - 1
            if text.strip() and not _RULE.match(text) and not kept:
                self.keep(state, text, mark)
            return True
        if "FAILED" in text and _FAILED.match(text):
            state.summary = 60
            if not kept:
                self.keep(state, text, mark)
            return True
        return False

    def moment(self, state: RankState, text: str, mark: Mark) -> bool:
        """Notes an event when the line tells one."""
        if len(text) > 600:
            return False
        lower = text.lower()
        for kind, hints, pattern in _MOMENTS:
            if not any(hint in lower for hint in hints):
                continue
            found = pattern.search(text)
            if found is None or (kind in ("resume", "checkpoint") and _NOT.search(text, 0, found.end() + 24)):
                continue
            told = state.resumed
            if kind == "resume":
                state.resumed = (mark.line, state.flow.step)
                if told is not None and mark.line - told[0] <= _ONE_RESUME and told[1] == state.flow.step:
                    return True
            self._event(kind, state, text.strip()[:300], mark, _STEP.search(text, found.start()))
            return True
        return False

    def _event(
        self, kind: EventKind, state: RankState, detail: str, mark: Mark, step: re.Match[str] | None = None
    ) -> None:
        at = int(step.group(1)) if step else state.flow.step
        self._sink.record(Event(kind, self._sink.file, mark.line, at, mark.time, mark.rank, detail))
