"""What every format says of a run: its verdict, and its findings each with a place, in safe text."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.reports.layout import safe
from hrmdoc.reports.verdict import PROBABLE, SICK
from hrmdoc.text.redact import redact
from hrmdoc.text.titled import titled

SEVERITIES = ("info", "warning", "critical")
UNREAD = "input-not-read"
"""The id under which a place that could not be read is reported."""
_NO_LINES = re.compile(r"events\.out\.tfevents\.|\.(?:wandb|db|sqlite3?|zip|gz|zst|xz|bz2)$")
"""Files in which a number beside the name is no line of text."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One symptom, or a place that could not be read.

    Attributes:
        id: the symptom's id, which `hrmdoc explain` knows.
        severity: `info`, `warning` or `critical`.
        line: 1-based; None where the file has none or it is not known.
        over: it was present and is no more.
        known: why the user does not want to hear of it; empty where they did not say so.
    """

    id: str
    title: str
    severity: str
    evidence: str = ""
    file: str = ""
    line: int | None = None
    step: int | None = None
    over: bool = False
    known: str = ""
    metric: str = ""

    @property
    def said(self) -> str:
        """Title and evidence in one line; once where the evidence says no more than the title."""
        return titled(self.title, self.evidence)

    @property
    def detail(self) -> str:
        """What the evidence says beyond the title."""
        return "" if self.evidence == self.title else self.evidence

    def fails(self, fail_on: str) -> bool:
        """Whether it is at or above the severity from which on a check fails."""
        return fail_on != "never" and SEVERITIES.index(self.severity) >= SEVERITIES.index(fail_on)

    def fingerprint(self, run: str) -> str:
        """The same for the same finding tomorrow, wherever its line has gone by then."""
        identity = "\0".join((run, self.id, self.file, self.metric))
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Result:
    """One run, or one config that was checked.

    Attributes:
        path: as the user named it, below the working folder where it lies there.
        causes: the leading causes with their probabilities; a benign one never leads.
        remedy: what to do about the first, in words.
        open: rules that could not be evaluated.
        document: the whole as its command's own JSON has it.
    """

    path: str
    verdict: str
    headline: str = ""
    findings: tuple[Finding, ...] = ()
    causes: tuple[tuple[str, float], ...] = ()
    remedy: str = ""
    open: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The path, or a word where no file was named."""
        return {"": "this machine", "-": "standard input"}.get(self.path, self.path)

    def remedy_for(self, finding: Finding) -> str:
        """What helps, beside the finding that leads; the others follow from the same cause or have none."""
        return self.remedy if finding is self.findings[0] else ""


def of_document(document: Mapping[str, Any], good: Set[str] = frozenset()) -> Result:
    """What schema `hrmdoc.diagnosis/1` says of a run. Its text is clean and holds no secrets.

    Args:
        good: symptoms that are good signs, which no program needs to be told of.
    """
    path = local(str(document["run"]["path"]))
    leading = [one for one in document["hypotheses"] if not one["benign"] and one["cause"] != "unknown"]
    sick = document["verdict"] in SICK
    remedies = leading[0]["remedies"] if leading and sick else []
    findings = (*_symptoms(document, path, good), *_unread(document))
    return Result(
        path,
        document["verdict"],
        findings[0].title if findings else "no fault found",
        findings,
        tuple((h["title"], h["probability"]) for h in leading[:3] if sick and h["probability"] >= PROBABLE),
        _remedy(remedies[0]) if remedies else "",
        tuple(one["symptom"] for one in document["not_evaluated"]),
        document,
    )


def not_read(error: InputError) -> Result:
    """A file that could not be read at all."""
    file = local(safe(error.file or "", 2000))
    what = Finding(UNREAD, "The input could not be read", "warning", safe(error.what), file, error.line)
    document = {"schema": "hrmdoc.unread/1", "path": file, "verdict": "no_data", "what": what.evidence}
    return Result(file, "no_data", what.title, (what,), document=document)


def _symptoms(document: Mapping[str, Any], path: str, good: Set[str]) -> Iterator[Finding]:
    for one in document["symptoms"]:
        if one["id"] in good:
            continue
        file = local(one["source"]["file"]) or path
        yield Finding(
            one["id"],
            one["title"] or one["id"],
            one["severity"],
            one["evidence"],
            file,
            line_of(file, one["source"]["line"]),
            one["first_step"],
            one["resolved"],
            one["acknowledged"] or "",
            one["metric"],
        )


def _unread(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Places that could not be read: a warning where they kept hrmdoc from an answer."""
    severity = "warning" if document["verdict"] in ("no_data", "incomplete") else "info"
    some = document["run"]["points"] or document["run"]["lines"]
    title = "Part of the input could not be read" if some else "The input could not be read"
    for one in document["input_errors"]:
        file = local(one["file"])
        yield Finding(
            UNREAD,
            title,
            severity,
            one["what"],
            file,
            line_of(file, one["line"]),
        )
    if document["verdict"] == "no_data" and not document["input_errors"]:
        yield Finding(UNREAD, "Nothing to judge", severity, "no metric and no message that the rules know")


def _remedy(one: Mapping[str, Any]) -> str:
    """A remedy with what it changes."""
    changes = ", ".join(
        f"{c['path']}: {_shown_value(c['from'])} → {_shown_value(c['to'])}" for c in one["patch"]
    )
    return f"{one['title']} ({changes})" if changes else str(one["title"])


def _shown_value(value: object) -> str:
    return "not set" if value is None else str(value)


def local(file: str) -> str:
    """A path relative to the working folder where it lies below; other programs look for it there."""
    if not file or file == "-" or not os.path.isabs(file):
        return Path(file).as_posix() if file and "://" not in file else file
    here = redact(os.getcwd()).rstrip("/") + "/"  # as the path itself was
    return file.removeprefix(here)


def line_of(file: str, line: int | None) -> int | None:
    """The line where `file` has lines: binary files are placed by offsets, which help nobody."""
    return None if line is None or line < 1 or _NO_LINES.search(file) else line
