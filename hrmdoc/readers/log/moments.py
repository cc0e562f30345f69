"""Moments in the life of a run that lines report: start, resume, checkpoint, restart, end."""

from __future__ import annotations

import re
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Again, Many, Reading
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.record.records import Event, EventKind
from hrmdoc.text import patterns

_ONE_RESUME = 40
"""A program reports one resume in several lines, as Lightning says that it restores and that it has
restored."""
_LONGEST = 600
"""Characters at its beginning in which a line says what happens; what stands behind them is data."""
_DETAIL = 300
"""Characters of the line that are kept with the event."""
_STEP = patterns.lazy(
    r"(?:global[_ ]step|step|iteration|checkpoint-|iter_?)[ =:_#\-]{0,3}(0*\d{1,12})", re.IGNORECASE
)
_LOADED = patterns.lazy(
    r"(?:successfully )?load(?:ing|ed) [\w ]{0,60}?checkpoint (?:from\b|at\b)?[\s:'\"=]{0,8}(\S{1,300})",
    re.IGNORECASE,
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
            r"\b(?:resum(?:e|ed|ing) (?:\w+ ){0,2}(?:from|at)\b|continuing training from|"
            r"successfully loaded checkpoint|"
            r"load(?:ing|ed) (?:\w+ ){0,2}checkpoint (?:from|at|'|/)|"
            r"load(?:ing|ed) (?:training|trainer|optimizer) state|"
            r"restor(?:ing|ed) (?:all )?states? (?:from|of))",
        ),
        (
            "checkpoint",
            ("sav",),
            r"\bsav(?:ing|ed)\b.{0,40}\b(?:checkpoints?|ckpt|model|weights|state)\b"
            r"|checkpoint (?:\S{1,200} )?saved\b"
            r"|save checkpoint",
        ),
        (
            "start",
            ("training",),
            r"\*{3,} running training"
            r"|\b(?:start(?:ing|ed)?|begin(?:ning)?) (?:of )?(?:the )?(?:\w+ )?training\b(?! (?:step|epoch))"
            r"|\btraining (?:started|begins)",
        ),
        (
            "end",
            ("training", "fit` stopped", "early stopping"),
            r"\btraining (?:\w{1,30} )?(?:is )?(?:complete[d!.]*|finished|done|ended)\b"
            r"|finished training|trainer\.fit` stopped"
            r"|\bearly stopping\b(?! (?:counter|patience|callback))",
        ),
    )
)
"""Kind, words of which one stands wherever the pattern matches (in lower case), pattern."""
_TRAINS = patterns.lazy(r".{0,120}\bStep: \d.{0,300}\. (?P<no>Not )?Training\.?\s{0,8}\Z")
"""ML-Agents says at the end of each summary whether the policy learns, or only acts."""
_CODE = patterns.lazy(r"\s{0,40}(?:-{1,8}> ?)?\d{0,6}\s{0,40}[A-Za-z_][\w.]{0,80}\([frbu]{0,2}[\"']")
"""`83     print("[INFO] Training completed")` in a traceback says what the program would have printed."""
_BEFORE = "start(?:ing|ed)?|begin(?:ning)?|training|running|processing|for|on|of|the|cross[- ]validation"
_HEADING = patterns.lazy(
    rf"[\W_]{{0,80}}(?:(?:{_BEFORE})[\W_]{{1,4}}){{0,4}}"
    r"(?:k[- ]?)?(?P<what>fold|split|repetition|repeat|trial)[\W_]{1,4}(?P<number>\d{1,4})"
    r"(?:\s?(?:/|of|out of)\s?\d{1,4})?(?:\s?\([\w -]{1,30}\))?"
    r"(?:[\W_]{1,4}(?:training|train|start(?:s|ed|ing)?|begins?))?[\W_]{0,80}",
    re.IGNORECASE,
)
"""A line of its own that says which fold of a cross-validation follows, or which of several trainings."""
_OF_A_SEARCH = patterns.lazy(
    r"[\W_]{0,80}(?:[a-z]{2,20}[ -]){0,3}(?P<what>run|experiment|trial|config|configuration|combination)"
    r"[\W_]{1,4}(?P<number>\d{1,4})\s?(?:/|of|out of)\s?\d{1,4}"
    r"(?:\s?[:-]?\s{0,4}[{(\[].{0,1000}|[\W_]{0,80})",
    re.IGNORECASE,
)
"""The same with how many there are, and perhaps the settings that are tried."""


class Told(Many, frozen=True):
    """Lines that report moments of one kind."""

    TAKEN: ClassVar[bool] = False

    kind: EventKind


class _Resumes(State):
    """Line and step of the last word of a resume."""

    last: tuple[int, int | None] | None = None


class _Folds(State):
    """The fold that the last heading named."""

    MEASURES: ClassVar[bool] = False

    last: tuple[str, str] | None = None


def moment_in(line: Line, cursor: Cursor) -> Reading | None:
    """The event that a line reports."""
    text = line.text[:_LONGEST]
    if text.rstrip().endswith("raining.") and (said := _TRAINS.match(text)):
        facts = cursor.log.facts
        facts.add("run.training", said["no"] is None or facts.known("run.training") is True, "run", line.mark)
        return None
    return None if _CODE.match(text) else _reported(text, line, cursor)


def _reported(text: str, line: Line, cursor: Cursor) -> Reading | None:
    """The event of which the beginning of a line speaks."""
    lower = text.lower()
    if (heading := _heading_of(text)) is not None:
        return _fold(heading["what"].lower(), heading["number"], line, cursor)
    for kind, hints, pattern in _MOMENTS:
        if not any(hint in lower for hint in hints) or not (found := pattern.search(text)):
            continue
        if kind in ("resume", "checkpoint") and _NOT.search(text, 0, found.end() + 24):
            continue
        if kind == "resume" and _nothing_new(text[found.start() :], line, cursor):
            return Reading()
        step = _STEP.search(text, found.start())
        reading = _event(kind, cursor, [step.group(1)] if step else [], line)
        if kind == "checkpoint":
            spans = [step.span(1)] if step else []
            again = lambda cursor, numbers, line: _event("checkpoint", cursor, numbers, line)  # noqa: E731
            if not (step and text[step.end() :][:1].isdigit()):
                free = [(0, len(line.text))]
                reading.again = Again(again, spans, free=free, text=True, many=Told(kind))
        return reading
    return None


def _heading_of(text: str) -> re.Match[str] | None:
    """What says which of several trainings follows."""
    return _HEADING.fullmatch(text) or _OF_A_SEARCH.fullmatch(text)


def _fold(what: str, number: str, line: Line, cursor: Cursor) -> Reading:
    """The launch at a heading that names another fold than the last one did."""
    folds = cursor.of(_Folds)
    last, folds.last = folds.last, (what, number)
    return Reading() if last == folds.last else _event("launch", cursor, [], line)


def _nothing_new(text: str, line: Line, cursor: Cursor) -> bool:
    """Whether no training goes on from what is loaded, as it is the best or the final checkpoint, which is
    tested; or whether the line above has said so."""
    found = _LOADED.match(text)
    name = found[1].replace("\\", "/").rpartition("/")[2].lower() if found else ""
    return "best" in name or "final" in name or _known(line, cursor)


def _known(line: Line, cursor: Cursor) -> bool:
    """Whether the line above reported the same resume."""
    resumes, step = cursor.of(_Resumes), cursor.flow.step
    last, resumes.last = resumes.last, (line.mark.line, step)
    return last is not None and line.mark.line - last[0] <= _ONE_RESUME and last[1] == step


def _event(kind: EventKind, cursor: Cursor, numbers: list[str], line: Line) -> Reading:
    mark = line.mark
    step = int(numbers[0]) if numbers else cursor.flow.step
    detail = line.text.strip()[:_DETAIL]
    event = Event(kind, cursor.log.file, mark.line, step, mark.time, mark.rank, detail)
    return Reading(records=[event])
