"""What a watch kept of a run's incidents: it saw when they opened and closed, and some that were over before
anybody looked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hrmdoc import rulebook
from hrmdoc.fleet.summary import MOST_INCIDENTS, Incident, Summary
from hrmdoc.paths import existing_kept_in, read_kept
from hrmdoc.readers.sources import remote
from hrmdoc.reports.layout import safe
from hrmdoc.rulebook import current

MOST_BYTES = 4 << 20
MOST_FILES = 4


class _Change(Struct):
    """A line of `incidents.jsonl`; `at` is the wall clock of the watch, Unix seconds."""

    symptom: str
    change: Literal["opened", "changed", "resolved", "reopened"]
    severity: Literal["warning", "critical"]
    at: float
    title: str = ""
    evidence: str = ""
    step: int | None = None
    playbook: str = ""


def as_watched(run: Summary, files: Iterable[str] = ()) -> Summary:
    """The run with what a watch saw of its incidents: when they opened and closed where its records carry no
    times or later ones, and incidents that came and went. It stays as it is where no watch kept any.

    Args:
        files: where its records lie; a watch may have followed one of them.
    """
    if run.fault or run.path == "-" or remote.is_remote(run.path):
        return run
    seen = _by_symptom(dict.fromkeys([run.path, *islice(files, MOST_FILES)]))
    if not seen:
        return run
    known = {one.symptom for one in run.incidents}
    dated = tuple(_dated(one, seen.get(one.symptom)) for one in run.incidents)
    gone = tuple(_passed(changes) for name, changes in seen.items() if name not in known)
    return replace(run, incidents=(*dated, *gone)[:MOST_INCIDENTS])


def _by_symptom(paths: Iterable[str]) -> dict[str, list[_Change]]:
    """What watches kept of a run, by the present id of the symptom, the oldest first."""
    folders = dict.fromkeys(existing_kept_in(Path(path)) for path in paths)
    changes = [one for folder in folders if folder for one in _changes(folder / "incidents.jsonl")]
    found: dict[str, list[_Change]] = {}
    book = rulebook.load() if changes else None
    for change in sorted(changes, key=lambda one: one.at):
        names = (change.symptom,) if book is None else current((change.symptom,), book, book.symptoms)
        for name in names:
            found.setdefault(name, []).append(change)
    return found


def _changes(path: Path) -> Iterator[_Change]:
    """What stands there, the oldest first; torn and foreign lines are passed over."""
    try:
        lines = read_kept(path, MOST_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            entry: Any = json.loads(line)
            change = msgspec.convert(entry, _Change)
        except (ValueError, RecursionError, msgspec.ValidationError):
            continue
        if 1e8 < change.at < 1e11:
            yield change


def _dated(one: Incident, changes: list[_Change] | None) -> Incident:
    """The incident, no later than a watch saw it."""
    if not changes:
        return one
    opened = min(changes[0].at, changes[0].at if one.opened is None else one.opened)
    ended = changes[-1].at if one.over and changes[-1].change == "resolved" else None
    return replace(one, opened=opened, closed=ended if one.closed is None else one.closed)


def _passed(changes: list[_Change]) -> Incident:
    """One that the records do not show: it is over where the watch said so, or since they no longer do."""
    first, last = changes[0], changes[-1]
    gone = last.change == "resolved"
    return Incident(
        safe(first.symptom, 120),
        safe(first.title or first.symptom, 200),
        "critical" if any(one.severity == "critical" for one in changes) else "warning",
        safe(next((one.evidence for one in reversed(changes) if one.evidence), "")),
        first.step,
        first.at,
        last.step if gone else None,
        last.at if gone else None,
        gone,
        safe(last.playbook, 120),
    )
