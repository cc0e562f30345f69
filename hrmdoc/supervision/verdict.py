"""Whether a run that has ended may be started again: by what its process did, what it wrote, and the attempts
before.

Deterministic: the same log, status and history give the same verdict. A log can withhold a restart, or ask
for another machine; it starts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

from hrmdoc import readers
from hrmdoc.analysis import Analysis
from hrmdoc.diagnosis.diagnose import Hypothesis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.live.incidents import Incident
from hrmdoc.reports.layout import safe
from hrmdoc.reports.verdict import SICK, headline
from hrmdoc.rulebook import Restart
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.ending import ASKED, WORD, signal_of, words

Call = Literal["OK", "RESTART", "RESTART ELSEWHERE", "FIX FIRST", "STOP"]
STATUS: dict[Call, int] = {"OK": 0, "RESTART": 10, "RESTART ELSEWHERE": 11, "FIX FIRST": 12, "STOP": 13}
"""Exit status of `hrmdoc verdict`; 1 and 2 keep their meaning."""
CALLS: dict[Restart, Call] = {
    "passes": "RESTART",
    "interrupted": "RESTART",
    "elsewhere": "RESTART ELSEWHERE",
    "fix": "FIX FIRST",
    "stop": "STOP",
}
LEAST = 0.2
"""Below this probability a cause decides nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a run that has ended.

    Attributes:
        reason: one line.
        failure: what it failed of, as `Attempt.failure`.
        cause: the id of the cause that decided, "" where none did.
        step: the last step of the run.
        interrupted: it was taken away; this is no failed attempt.
    """

    call: Call
    reason: str
    failure: str = ""
    cause: str = ""
    probability: float = 0.0
    step: int | None = None
    interrupted: bool = False

    @property
    def status(self) -> int:
        """The exit status that stands for it."""
        return STATUS[self.call]

    @property
    def line(self) -> str:
        """It in one line."""
        return f"{self.call}: {self.reason}"


def verdict(
    analysis: Analysis, *, status: int | None = None, hung: bool = False, history: Sequence[Attempt] = ()
) -> Verdict:
    """The verdict on a run that has ended.

    Args:
        status: how its process ended, as `subprocess` gives it; None where nobody but its record tells.
        hung: it was ended because it stood still.
        history: the attempts before this one, the oldest first.
    """
    found = _alone(analysis, _stated(analysis) if status is None else status, hung=hung)
    if found.failure and not found.interrupted and (again := _loop(found, history)):
        return again
    return found


def on_request(analysis: Analysis, incident: Incident, history: Sequence[Attempt] = ()) -> Verdict:
    """The verdict on a run that was ended for an incident at which the user wants it started again."""
    step = last_step(analysis)
    what = safe(incident.evidence or incident.title, 160)
    reason = f"{what}{_at(step)}; it was ended for {incident.symptom}, to be started again"
    found = Verdict("RESTART", reason, incident.symptom, step=step)
    return _loop(found, history) or found


def _stated(analysis: Analysis) -> int | None:
    """The exit status that the scheduler recorded, None where it recorded none."""
    stated = analysis.run.fact("run.exit_status")
    return stated.value if stated is not None and isinstance(stated.value, int) else None


def _loop(found: Verdict, history: Sequence[Attempt]) -> Verdict | None:
    """STOP where the attempt before failed of the same at the same step."""
    failed = [one for one in history if not one.interrupted]
    if not failed or (failed[-1].failure, failed[-1].step) != (found.failure, found.step):
        return None
    where = "before the first step" if found.step is None else f"at step {found.step}"
    reason = f"the same failure twice {where} ({found.failure}), a crash loop: {found.reason}"
    return Verdict("STOP", reason, found.failure, found.cause, found.probability, found.step)


def _alone(analysis: Analysis, status: int | None, *, hung: bool) -> Verdict:
    """The verdict without the attempts before."""
    ended = _end(analysis, status, hung=hung)
    step = last_step(analysis)
    if ended == "running":
        return Verdict("OK", f"the run goes on{_at(step)}", step=step)
    cause = _deciding(analysis)
    if ended in QUIET and (cause is None or not _counts(analysis, cause, ended)):
        return Verdict("OK", f"{QUIET[ended]}{_at(step)}", step=step)
    if ended == "asked" and (cause is None or _means(analysis, cause) not in ("fix", "stop")):
        return Verdict(
            "RESTART", f"it {words(status or 0)}{_at(step)}", "asked to end", step=step, interrupted=True
        )
    if cause is None:
        return _unexplained(analysis, status, step, hung=hung)
    means = _means(analysis, cause)
    symptom = headline(analysis, cause)
    if ended == "finished" and means != "fix":
        return Verdict("OK", f"the run finished{_at(step)}; {_because(analysis, cause)}", step=step)
    return Verdict(
        CALLS[means],
        f"{safe(symptom.title, 160)}{_from(symptom, step)}; {_because(analysis, cause)}",
        "hung" if hung else symptom.id,
        cause.cause,
        round(cause.probability, 4),
        step,
        means == "interrupted"
        and (status is None or signal_of(status) > 0),  # a word of its log is not enough
    )


End = Literal["running", "finished", "asked", "failed", "open"]
QUIET: dict[str, str] = {"finished": "the run finished", "open": "no failure shows, nor that it broke off"}


def _counts(analysis: Analysis, cause: Hypothesis, ended: End) -> bool:
    """Whether a cause tells against a run that did not fail: a critical one, or one that took it away."""
    taken = ended == "open" and _means(analysis, cause) == "interrupted" and analysis.verdict == "warning"
    return taken or analysis.verdict == "critical"


def _end(analysis: Analysis, status: int | None, *, hung: bool) -> End:
    """How the run ended: what its process did counts before what its log says."""
    if hung:
        return "failed"
    if status is not None:
        return "finished" if status == 0 else "asked" if signal_of(status) in ASKED else "failed"
    if analysis.situation.facts.get("run.process_alive"):
        return "running"
    if analysis.state in ("crashed", "hung", "stopped"):
        return "failed"
    if analysis.state == "finished":
        return "finished"
    return "failed" if _fell_short(analysis) else "open"


def _fell_short(analysis: Analysis) -> bool:
    """Whether the run stopped before the last step that it was to make. A document that is written anew as a
    whole, as the state in a checkpoint, is of some moment of the run and records no end."""
    if all(readers.reader(name).WHOLE for name in analysis.run.formats):
        return False
    total, step = analysis.situation.facts.get("run.total_steps"), last_step(analysis)
    return isinstance(total, int | float) and step is not None and step + _stride(analysis) < total


def _stride(analysis: Analysis) -> int:
    """Steps between the last two that the run logged: behind the last, so many more may have passed."""
    series = analysis.run.progress
    if series is None or len(series) < 2:
        return 1
    return max(1, int(series.steps[-1] - series.steps[-2]))


def last_step(analysis: Analysis) -> int | None:
    """The last step that the run logged."""
    series = analysis.run.progress
    return int(series.steps[-1]) if series is not None and len(series) else None


def _deciding(analysis: Analysis) -> Hypothesis | None:
    """The first cause that has a say in it: one that ends runs, is probable enough, and rests on more than
    that the command failed, which is what is to be judged."""
    told = {symptom.id for symptom in analysis.present if symptom.evidence.startswith(WORD)}
    likely = (
        one
        for one in analysis.diagnosis.hypotheses
        if one.probability >= LEAST and not (told and {evidence.symptom for evidence in one.for_} <= told)
    )
    found = next((one for one in likely if _means(analysis, one) != "harmless"), None)
    odd = found is not None and _means(analysis, found) == "stop" and not _shows(analysis, found, told)
    return None if odd else found


def _shows(analysis: Analysis, cause: Hypothesis, told: Set[str]) -> bool:
    """Whether the run shows more than oddities: a finding, or a message that the cause brings about."""
    produces = analysis.book.causes[cause.cause].produces
    own = [symptom for symptom in analysis.present if symptom.id not in told]
    messages = {symptom.id for symptom in own if symptom.signature_role is not None}
    return any(analysis.severity(one) in SICK for one in own) or not messages.isdisjoint(produces)


def _means(analysis: Analysis, cause: Hypothesis) -> Restart:
    """What the cause means for a restart; a rule of the user's that does not say is none to go on by."""
    return analysis.book.causes[cause.cause].restart or "fix"


def _because(analysis: Analysis, cause: Hypothesis) -> str:
    return f"{analysis.book.causes[cause.cause].title} ({cause.probability:.0%})"


def _unexplained(analysis: Analysis, status: int | None, step: int | None, *, hung: bool) -> Verdict:
    """Of what nobody knows the first may pass; the same a second time at the same step is a loop."""
    if hung:
        what, failure = "it stood still", "hung"
    elif status is None:
        what, failure = f"it ended without a word{_short_of(analysis)}", "no word"
    else:
        what = f"it {words(status)}"
        failure = f"signal {-status}" if status < 0 else f"exit status {status}"
    return Verdict("RESTART", f"{what}{_at(step)}, and no known cause shows", failure, step=step)


def _short_of(analysis: Analysis) -> str:
    total = analysis.situation.facts.get("run.total_steps")
    return f", short of its {total:,.0f} steps," if _fell_short(analysis) and total else ""


def _from(symptom: Symptom, step: int | None) -> str:
    """When the run had it: what began before the last step says since when."""
    begun = symptom.first_step
    if begun is None or step is None or begun >= step or symptom.signature_role is not None:
        return _at(step)
    return f" from step {begun}, to the end at step {step}"


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step}"
