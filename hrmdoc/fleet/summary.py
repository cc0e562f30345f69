"""What is kept of a run once it was diagnosed: small enough to be sent between processes and be kept."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from hrmdoc.analysis import Analysis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.fleet import origin
from hrmdoc.fleet.origin import LONGEST, Plain
from hrmdoc.record.records import DATED
from hrmdoc.record.series import Series
from hrmdoc.reports.layout import safe
from hrmdoc.reports.ledger import Ledger, ledger
from hrmdoc.reports.verdict import SICK, blame, headline, sentence

FORMAT = 1
"""Grows with every change of what is kept; what another version kept is not read."""
MOST_INCIDENTS = 40
MOST_CAUSES = 5
MOST_PLACES = 5


class Likely(Struct, frozen=True):
    """A cause and how probable it is."""

    cause: str
    title: str
    probability: float
    benign: bool = False


class Incident(Struct, frozen=True):
    """A finding over the time of its run. Times are Unix seconds, None where the records carry none; `closed`
    and `closed_step` are None while it is open."""

    symptom: str
    title: str
    severity: str
    evidence: str
    step: int | None = None
    opened: float | None = None
    closed_step: int | None = None
    closed: float | None = None
    over: bool = False
    playbook: str = ""


class Lost(Struct, frozen=True):
    """A stretch that brought nothing; `seconds` is None where the records carry no times."""

    kind: str
    what: str
    seconds: float | None
    steps: int
    step: int | None
    basis: str


class Account(Struct, frozen=True):
    """What a run spent: seconds (None where its records carry no times), steps, and what of it was lost."""

    duration: float | None = None
    steps: int = 0
    lost: tuple[Lost, ...] = ()
    interruptions: int = 0
    repairs: tuple[float, ...] = ()

    @property
    def lost_seconds(self) -> float:
        """Seconds lost, at most the whole duration."""
        total = sum(one.seconds or 0.0 for one in self.lost)
        return total if self.duration is None else min(total, self.duration)

    @property
    def lost_steps(self) -> int:
        """Steps that were trained and lost."""
        return sum(one.steps for one in self.lost)


class Summary(Struct, frozen=True):
    """A diagnosed run.

    Attributes:
        failure_mode: runs that share it fail in the same way: the same leading cause, and the same log
            signature or finding; empty where nothing is wrong.
        step, since: where the leading finding began, as a step and as Unix seconds.
        planned: how many steps were planned.
        devices: accelerators that the run kept busy; None where that is not known, 0 for a CPU.
        settings: the run's configuration, known keys under their canonical names, then as its framework
            spells them.
        unjudged: rules that could not be evaluated, of how many `rules`.
        missing: what most of these would have needed.
        unread: places that could not be read.
        fault: why the run could not be examined at all; empty where it was.
    """

    path: str
    verdict: str
    headline: str
    blame: str = ""
    state: str = "unknown"
    framework: str = "unknown"
    kind: str = "unknown"
    failure_mode: str = ""
    causes: tuple[Likely, ...] = ()
    incidents: tuple[Incident, ...] = ()
    step: int | None = None
    since: float | None = None
    first_step: int | None = None
    last_step: int | None = None
    planned: int | None = None
    began: float | None = None
    ended: float | None = None
    points: int = 0
    lines: int = 0
    ranks: int = 1
    devices: int | None = None
    host: str = ""
    user: str = ""
    settings: dict[str, Plain] = {}
    account: Account = Account()
    unjudged: int = 0
    rules: int = 0
    missing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    remedy: str = ""
    fault: str = ""
    format: int = FORMAT

    @property
    def sick(self) -> bool:
        """Whether something is wrong."""
        return self.verdict in SICK

    @property
    def cause(self) -> Likely | None:
        """The leading cause of a sick run."""
        return next((one for one in self.causes if not one.benign), None) if self.sick else None

    @property
    def lost_hours(self) -> float | None:
        """GPU hours lost; None where the time or the number of GPUs is not known."""
        if self.devices is None or self.account.duration is None:
            return None
        return self.devices * self.account.lost_seconds / 3600.0


def failed(path: str, why: str) -> Summary:
    """The summary of a run whose examination did not come to its end."""
    return Summary(path, "no_data", why, fault=why)


def summarize(analysis: Analysis, files: Iterable[str] = ()) -> Summary:
    """Keeps of an analysis what is worth it; text from the run is cleaned and secrets are removed.

    Args:
        files: where the records lie; their owner is the run's user, where it names none.
    """
    run, facts = analysis.run, analysis.situation.facts
    series = run.progress
    chief = headline(analysis) if analysis.verdict in SICK else None
    times = () if series is None else series.times[[0, -1]].tolist()
    total = facts.get("run.total_steps")
    not_evaluated = analysis.not_evaluated
    return Summary(
        path=run.path,
        verdict=analysis.verdict,
        headline=safe(sentence(analysis)),
        blame=safe(blame(analysis)),
        state=analysis.state,
        framework=analysis.situation.framework,
        kind=analysis.situation.kind,
        failure_mode="" if chief is None else _failure_mode(analysis, chief),
        causes=tuple(
            Likely(h.cause, h.title, round(h.probability, 4), h.benign)
            for h in analysis.diagnosis.hypotheses[:MOST_CAUSES]
        ),
        incidents=tuple(_incident(analysis, one, series) for one in _worth_reporting(analysis))[
            :MOST_INCIDENTS
        ],
        step=None if chief is None else chief.first_step,
        since=None if chief is None else _opened(chief, series),
        first_step=None if series is None else int(series.steps.min()),
        last_step=None if series is None else int(series.steps.max()),
        planned=int(total) if isinstance(total, int | float) and math.isfinite(total) else None,
        began=_known(min(times, default=math.nan)),
        ended=_known(max(times, default=math.nan)),
        points=run.points,
        lines=run.line_count,
        ranks=max(1, len(run.ranks)),
        devices=origin.devices(analysis),
        host=origin.host(analysis),
        user=origin.user(analysis, files),
        settings=origin.settings(analysis),
        account=_account(ledger(analysis)),
        unjudged=len(not_evaluated),
        rules=len(analysis.symptoms),
        missing=_missing(not_evaluated),
        unread=tuple(safe(f"{one.file}: {one.what}") for one in analysis.unread[:MOST_PLACES]),
        remedy=_remedy(analysis),
    )


def _failure_mode(analysis: Analysis, chief: Symptom) -> str:
    """The leading cause, and how it shows: the log signature that spoke, else the finding."""
    cause = next((h.cause for h in analysis.diagnosis.hypotheses if not h.benign), "unknown")
    return f"{cause}/{chief.values.get('signature') or chief.id}"


def _worth_reporting(analysis: Analysis) -> list[Symptom]:
    return [symptom for symptom in analysis.findings if analysis.severity(symptom) != "info"]


def _incident(analysis: Analysis, symptom: Symptom, series: Series | None) -> Incident:
    over = symptom.state == "resolved"
    return Incident(
        symptom.id,
        symptom.title,
        analysis.severity(symptom),
        safe(symptom.evidence),
        symptom.first_step,
        _opened(symptom, series),
        symptom.last_step if over else None,
        _time_of(symptom.last_step, series) if over else None,
        over,
        symptom.playbook,
    )


def _opened(symptom: Symptom, series: Series | None) -> float | None:
    return _known(symptom.first_time) or _time_of(symptom.first_step, series)


def _time_of(step: int | None, series: Series | None) -> float | None:
    """When the run came to a step."""
    if step is None or series is None or series.axis != "step":
        return None
    reached = series.times[series.steps >= step]
    return _known(float(reached[0])) if len(reached) else None


def _known(time: float | None) -> float | None:
    return time if time is not None and math.isfinite(time) and time >= DATED else None


def _account(found: Ledger) -> Account:
    return Account(
        _finite(found.duration),
        found.steps,
        tuple(
            Lost(one.kind, one.what, _finite(one.seconds), one.steps, one.step, one.basis)
            for one in found.losses
        ),
        found.interruptions,
        found.repairs,
    )


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _missing(symptoms: Iterable[Symptom]) -> tuple[str, ...]:
    """What most of the rules that could not be evaluated would have needed."""
    counted: dict[str, int] = {}
    for symptom in symptoms:
        for name in symptom.missing:
            counted[name] = counted.get(name, 0) + 1
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return tuple(safe(name, LONGEST) for name in ranked[:MOST_PLACES])


def _remedy(analysis: Analysis) -> str:
    """The first remedy of the leading cause that suits the run, in words."""
    leading = next((one for one in analysis.diagnosis.hypotheses if not one.benign), None)
    if leading is None or analysis.verdict not in SICK:
        return ""
    from hrmdoc.remedies.prescribe import suited  # loads what patches configs: for sick runs alone

    fit = suited(leading, analysis.situation, analysis.diagnosis, analysis.book)
    return fit[0].title if fit else ""
