"""Incidents: symptoms over time. They open, change and resolve; the history outlives the watcher."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from hrmdoc.analysis import Analysis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.live.journal import Journal
from hrmdoc.record.run import Run
from hrmdoc.rulebook import Rulebook, SymptomRule, current
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

Change = Literal["opened", "changed", "resolved", "reopened"]
HOLD = 5
"""Points at least for which a symptom must be gone before it is over."""
SHARE = 3
"""And for a third of what the run had made until then: what is asked of a whole curve changes the more slowly
the longer the curve is."""
MOST_DOUBLED = 6
HOLD_S = 10.0
"""Seconds for which a symptom of the clock, such as silence, must be gone: no number of points says more."""
OF_TIME = "run.heartbeat_age"


@dataclass(frozen=True, slots=True)
class Incident:
    """One symptom at one time of the run. `at` is the wall clock, Unix seconds."""

    symptom: str
    change: Change
    severity: str
    title: str
    evidence: str
    step: int | None
    at: float
    cause: str = ""
    probability: float = 0.0
    file: str = ""
    line: int | None = None
    playbook: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the symptom is present after this change."""
        return self.change != "resolved"


class IncidentLog:
    """The open incidents of a run, and their history as JSON lines.

    A critical incident is reported at once. A warning, and an incident that opens again where it began
    before, is reported once it has lasted `settle` seconds: at the start of a run many come and go within a
    few points. An incident is over once its symptom has been gone for twice as many points as its rule asks
    for to open it and for a third of the run's points, and for twice as many each time that it came back.
    What the clock shows, such as silence, must be gone for ten seconds, and for twice as long each time.

    Args:
        path: where the history is kept; what stands there already is not reported again. None, or a file that
            cannot be written, keeps it in memory.
        settle: seconds.
        book: by which symptoms that the history names by an id of before go on as what they are called now.
    """

    def __init__(self, path: Path | None, settle: float = 0.0, book: Rulebook | None = None) -> None:
        self._journal = Journal(path)
        self.settle = settle
        self.latest: dict[str, Incident] = {}
        self._waiting: dict[str, float] = {}
        self._began: dict[str, int | None] = {}
        self._gone: dict[str, int] = {}
        self._back: dict[str, float] = {}
        self._returned: Counter[str] = Counter()
        for incident in _history(self._journal, book):
            self._take(incident)

    @property
    def open(self) -> list[Incident]:
        """Incidents that are open now, the earliest first."""
        return sorted((one for one in self.latest.values() if one.is_open), key=lambda one: one.at)

    @property
    def waits(self) -> bool:
        """Whether a warning shows that has not lasted long enough yet."""
        return bool(self._waiting)

    def close(self) -> None:
        """Leaves the history to other processes."""
        self._journal.close()

    def due(self, now: float) -> bool:
        """Whether a warning has lasted long enough to be reported."""
        return any(now - since >= self.settle for since in self._waiting.values())

    def update(self, analysis: Analysis, now: float, *, closed: bool = False) -> list[Incident]:
        """What changed since the last update. Information never opens an incident. `closed`: no update will
        follow."""
        changes = [
            change
            for symptom in analysis.symptoms
            if (change := self._change(analysis, symptom, now, closed=closed)) is not None
        ]
        changes = [change for change in changes if closed or self._settled(change, now)]
        showing = {symptom.id for symptom in analysis.symptoms if symptom.state == "present"}
        self._waiting = {name: since for name, since in self._waiting.items() if name in showing}
        for incident in changes:
            self._take(incident)
        self._journal.append(map(_as_row, changes))
        return changes

    def _take(self, incident: Incident) -> None:
        self.latest[incident.symptom] = incident
        self._forget_gone(incident.symptom)
        self._returned[incident.symptom] += incident.change == "reopened"
        if incident.is_open:
            self._began[incident.symptom] = incident.step

    def _forget_gone(self, name: str) -> None:
        self._gone.pop(name, None)
        self._back.pop(name, None)

    def _change(self, analysis: Analysis, symptom: Symptom, now: float, *, closed: bool) -> Incident | None:
        known = self.latest.get(symptom.id)
        severity = analysis.severity(symptom)
        shows = symptom.state == "present" and severity != "info"
        if not shows:
            # A symptom that cannot be judged any more is not over.
            if known is None or not known.is_open or symptom.state == "not_evaluated":
                return None
            if not closed and not self._gone_long_enough(analysis, symptom.id, now):
                return None
            return replace(known, change="resolved", at=now, step=symptom.last_step)
        self._forget_gone(symptom.id)
        if known is not None and known.is_open:
            return None if known.severity == severity else _incident(analysis, symptom, "changed", now)
        return _incident(analysis, symptom, "opened" if known is None else "reopened", now)

    def _gone_long_enough(self, analysis: Analysis, name: str, now: float) -> bool:
        """Whether the run made enough progress since the symptom was last seen, or lived long enough."""
        rule = analysis.book.symptoms[name]
        if _of_the_clock(rule, analysis.run):
            since_s = self._back.setdefault(name, now)
            return not 0 <= now - since_s < HOLD_S * 2 ** min(self._returned[name], MOST_DOUBLED)
        series = analysis.run.progress
        progress = analysis.run.line_count if series is None else series.came
        patience = max(max(part.patience, part.leave_patience) for part in rule.when.walk())
        since = self._gone.setdefault(name, progress)
        needed = max(HOLD, 2 * patience, since // SHARE) << min(self._returned[name], MOST_DOUBLED)
        return progress - since >= needed

    def _settled(self, change: Incident, now: float) -> bool:
        if change.change not in ("opened", "reopened") or self.settle <= 0:
            return True
        wavers = self._began.get(change.symptom, -1) == change.step  # the same beginning was reported before
        if change.severity == "critical" and not wavers:
            return True
        if now - self._waiting.setdefault(change.symptom, now) < self.settle:
            return False
        del self._waiting[change.symptom]
        return True


def _of_the_clock(rule: SymptomRule, run: Run) -> bool:
    """Whether time alone decides when it is over: it is about silence, or about what the watcher measures."""
    if OF_TIME in rule.needs.facts or any(part.silence is not None for part in rule.when.walk()):
        return True
    return bool(rule.needs.roles) and all(map(run.is_measured, rule.needs.roles))


def _incident(analysis: Analysis, symptom: Symptom, change: Change, now: float) -> Incident:
    leading = next(
        (h for h in analysis.diagnosis.hypotheses if any(e.symptom == symptom.id for e in h.for_)), None
    )
    return Incident(
        symptom=symptom.id,
        change=change,
        severity=analysis.severity(symptom),
        title=symptom.title,
        evidence=redact(clean(symptom.evidence)),
        step=symptom.first_step,
        at=now,
        cause=leading.cause if leading else "",
        probability=round(leading.probability, 4) if leading else 0.0,
        file=symptom.file,
        line=symptom.line,
        playbook=symptom.playbook,
    )


def _as_row(incident: Incident) -> dict[str, object]:
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in asdict(incident).items()
    }


def _history(journal: Journal, book: Rulebook | None) -> Iterator[Incident]:
    """Incidents reported before; what is no incident is passed over: the history only saves repetition."""
    for entry in journal.entries():
        try:
            incident = Incident(**entry)
        except TypeError:
            continue
        names = (incident.symptom,) if book is None else current((incident.symptom,), book, book.symptoms)
        yield from (replace(incident, symptom=name) for name in names)
