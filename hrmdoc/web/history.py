"""What watches of a run reported and did: the incidents and actions that they kept, in the order of time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrmdoc.live.journal import Journal
from hrmdoc.paths import kept_in
from hrmdoc.reports.layout import safe

MOST = 60
SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `tone`: a severity, `healthy` for what is over or helped, `event` for the rest."""

    at: float
    clock: str
    step: str
    what: str
    tone: str


def history(run: str) -> list[Entry]:
    """The last lines, the oldest first; what is no incident or action is passed over."""
    folder = kept_in(Path(run))
    incidents = _entries(folder / "incidents.jsonl", _incident)
    actions = _entries(folder / "actions.jsonl", _action)
    return sorted([*incidents, *actions], key=lambda one: one.at)[-MOST:]


def _entries(path: Path, form: Any) -> Iterator[Entry]:
    for entry in Journal(path).entries():
        at, step = entry.get("at"), entry.get("step")
        if isinstance(at, int | float) and 0 < at < 1e11:
            clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
            what, tone = form(entry)
            yield Entry(at, clock, f"step {step:,}" if isinstance(step, int) else "", safe(what, 240), tone)


def _incident(entry: dict[str, Any]) -> tuple[str, str]:
    change, title = str(entry.get("change", "")), str(entry.get("title") or entry.get("symptom", ""))
    if change == "resolved":
        return f"over: {title}", "healthy"
    severity = str(entry.get("severity"))
    words = f"{change}: {title}" + (f": {entry['evidence']}" if entry.get("evidence") else "")
    return words, severity if severity in SEVERITIES else "event"


def _action(entry: dict[str, Any]) -> tuple[str, str]:
    status, why = str(entry.get("status", "")), str(entry.get("why") or "")
    words = f"{status}: {entry.get('title') or entry.get('remedy', '')}: {entry.get('what', '')}"
    return words + (f" ({why})" if why else ""), "healthy" if status in (
        "done",
        "written",
        "helped",
    ) else "event"
