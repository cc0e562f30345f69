"""Treats a run under the user's policy: an action while it runs, a patch of its config once it has ended;
each is verified.

Nothing is done that the policy does not allow (`[policy]` in hrmdoc.toml; by default nothing), and only for a
likely cause. What was done stands in `actions.jsonl` beside the incidents, so that a watch that starts again
does not do it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from hrmdoc.analysis import Analysis
from hrmdoc.errors import ActionError, PatchError
from hrmdoc.live.journal import Journal
from hrmdoc.remedies import actions, store
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.policy import Gate
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.reports.layout import typed
from hrmdoc.rulebook import Remedy
from hrmdoc.settings import Policy

Status = Literal["done", "written", "refused", "failed", "withheld", "helped", "ineffective"]
FORMER_NAME = "deeds.jsonl"
TRIED = 4
"""Remedies of a cause that are tried without being asked for by name."""
FORMER_STATUS: dict[object, Status] = {"in vain": "ineffective"}
"""What stood for it before: an action log that an older watch wrote is still read."""
APPLIED, FAILED = ("done", "written"), ("refused", "failed")
ANSWER_S = 20.0
"""Seconds to wait for a run to answer: it does so at the end of its step."""


@dataclass(frozen=True, slots=True)
class TakenAction:
    """What was done to a run, and how it went.

    Attributes:
        reason: the cause that it is for, or the symptom that it ends.
        status: `done` (the run executed the action), `written` (the config was patched), `refused` or
            `failed` (with `why`), `withheld` (the policy does not allow it, `why` tells), `helped` (a later
            look did not show the symptoms any more), `ineffective` (they still showed when the run ended).
        what: the action with its value, or the changes of the patch.
        gone: the symptoms that showed and must be gone when it has helped.
        files: the patched configs, none for an action.
    """

    remedy: str
    title: str
    reason: str
    what: str
    status: Status
    at: float
    step: int | None = None
    why: str = ""
    gone: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Treatment:
    """Acts for one run, by the causes that the doctor found.

    Args:
        policy: what may be done without asking.
        run: the run's folder, to which actions are sent.
        record: where actions are kept; None, or a file that cannot be written, keeps them in memory.
        send: sends an action; `hrmdoc.remedies.actions.send` but for tests.
    """

    def __init__(
        self,
        policy: Policy,
        run: Path,
        record: Path | None,
        send: Callable[..., actions.Answer] = actions.send,
    ) -> None:
        self._journal, self._record = Journal(record), record
        self._policy, self._run, self._send = policy, run, send
        self._leads = self._journal.is_mine()
        self._recall()

    def _recall(self) -> None:
        """Takes in what was done before, by whichever watch."""
        self.taken = list(_recorded(self._record))
        self._gate = Gate(self._policy)
        for action in self.taken:
            self._count(action)

    def look(self, analysis: Analysis, now: float, *, closed: bool = False) -> list[TakenAction]:
        """Verifies what was done before, then does one thing more where the policy allows it.

        Args:
            now: the wall clock, Unix seconds.
            closed: the run has ended; then its config may be patched, and no action is sent.
        """
        if not self._journal.is_mine():
            self._leads = False  # another watch treats this run
            return []
        if not self._leads:
            self._leads = True
            self._recall()
        news = self._judged(analysis, now, closed=closed)
        if analysis.verdict in ("warning", "critical"):
            new = self._write(analysis, now) if closed else self._act(analysis, now)
            news += [] if new is None else [new]
        for action in news:
            if action.status != "withheld":
                self._keep(action)
        return news

    def _judged(self, analysis: Analysis, now: float, *, closed: bool) -> list[TakenAction]:
        """What became of the actions: helped as soon as their symptoms are over; ineffective when the run
        ends and they are not."""
        over = {symptom.id for symptom in analysis.symptoms if symptom.state in ("absent", "resolved")}
        told = {action.remedy for action in self.taken if action.status in ("helped", "ineffective")}
        waiting = [
            action
            for action in self.taken
            if action.status == "done" and action.gone and action.remedy not in told
        ]
        helped = [action for action in waiting if over.issuperset(action.gone)]
        news = [replace(action, status="helped", at=now) for action in helped]
        return news + [
            replace(action, status="ineffective", at=now)
            for action in waiting
            if closed and action not in helped
        ]

    def _act(self, analysis: Analysis, now: float) -> TakenAction | None:
        if not (self._run / "run.json").is_file():
            return None  # no trainer that takes actions
        for remedy, reason in live_actions(analysis, self._policy.min_probability):
            if self._gate.refusal(remedy, now) is None:
                return self._sent(analysis, remedy, reason, now)
        return None

    def _sent(self, analysis: Analysis, remedy: Remedy, reason: str, now: float) -> TakenAction:
        action = _taken(analysis, remedy, reason, remedy.title, now)
        try:
            request = actions.from_remedy(remedy, analysis.situation.facts)
            action = replace(action, what=worded(request))
            answer = self._send(
                self._run, request["action"], lr=request.get("lr"), reason=remedy.id, timeout=ANSWER_S
            )
        except ActionError as error:
            return replace(action, status="failed", why=error.what)
        status: Status = (
            "done" if answer.status == "done" else "refused" if answer.status == "refused" else "failed"
        )
        return replace(action, status=status, why=answer.why, step=answer.step)

    def _write(self, analysis: Analysis, now: float) -> TakenAction | None:
        """Patches the config by the first remedy that is allowed; else tells of the first that is not, and
        why."""
        withheld: TakenAction | None = None
        chances = {one.cause: one.probability for one in analysis.diagnosis.hypotheses}
        for cause, group in analysis.prescriptions.items():
            for one in group[:TRIED]:
                if one.patch is None or not one.patch.edits:
                    continue
                refusal = (
                    self._unlikely(chances[cause]) or _foreign(one) or self._gate.refusal(one.remedy, now)
                )
                if refusal is None:
                    return self._written(analysis, one.patch, one.remedy, cause, now)
                withheld = withheld or replace(
                    _patched(analysis, one.patch, one.remedy, cause, now), status="withheld", why=refusal
                )
        return withheld

    def _unlikely(self, probability: float) -> str | None:
        least = self._policy.min_probability
        return (
            None
            if probability >= least
            else f"{probability:.0%} is not sure enough; the policy asks for {least:.0%}"
        )

    def _written(
        self, analysis: Analysis, patch: Patch, remedy: Remedy, reason: str, now: float
    ) -> TakenAction:
        action = _patched(analysis, patch, remedy, reason, now)
        try:
            store.write(patch)
        except PatchError as error:
            return replace(action, status="failed", why=error.what)
        return action

    def _keep(self, action: TakenAction) -> None:
        self.taken.append(action)
        self._count(action)
        self._journal.append([asdict(action)])

    def _count(self, action: TakenAction) -> None:
        """Lets the policy know of it: what was applied, and what was tried and failed."""
        if action.status in APPLIED + FAILED:
            self._gate.record(action.remedy, action.at, applied=action.status in APPLIED)


def _foreign(one: Prescription) -> str | None:
    """Why a file is not changed that nothing but the run's own record names."""
    if not one.unnamed or one.patch is None:
        return None
    file = one.patch.edits[0].path
    return f"it lies outside the run's folder; hrmdoc apply --config {typed(str(file))} changes it"


def live_actions(analysis: Analysis, least: float = 0.0) -> Iterator[tuple[Remedy, str]]:
    """Actions against the causes of at least this probability, then first aid: what ends a critical symptom,
    whatever its cause.

    Yields:
        The remedy, and the cause or symptom that it is for.
    """
    remedies = analysis.book.remedies
    for cause in analysis.diagnosis.hypotheses:
        if not cause.benign and cause.probability >= least:
            yield from (
                (remedies[name], cause.cause) for name in cause.remedies if remedies[name].kind == "action"
            )
    critical = {
        s.id for s in analysis.symptoms if s.state == "present" and analysis.severity(s) == "critical"
    }
    for remedy in remedies.values():
        ends = [name for name in remedy.verify.gone if name in critical]
        if remedy.kind == "action" and ends:
            yield remedy, ends[0]


def worded(request: dict[str, object]) -> str:
    """An action as one reads it: `set_lr lr=2e-05`."""
    return " ".join(
        [
            str(request["action"]),
            *(f"{key}={value:g}" for key, value in request.items() if isinstance(value, float)),
        ]
    )


def _taken(analysis: Analysis, remedy: Remedy, reason: str, what: str, now: float) -> TakenAction:
    showing = {symptom.id for symptom in analysis.present}
    gone = tuple(name for name in remedy.verify.gone if name in showing)
    return TakenAction(remedy.id, remedy.title, reason, what, "done", now, gone=gone)


def _patched(analysis: Analysis, patch: Patch, remedy: Remedy, reason: str, now: float) -> TakenAction:
    what = ", ".join(f"{change.path} {change.before} -> {change.after}" for change in patch.changes)
    return replace(
        _taken(analysis, remedy, reason, what, now),
        status="written",
        files=tuple(str(edit.path) for edit in patch.edits),
    )


def _recorded(record: Path | None) -> Iterator[TakenAction]:
    """What was done before, also by the name that the log of actions once had; what is no action is passed
    over."""
    if record is None:
        return
    for path in (record.with_name(FORMER_NAME), record):
        for entry in Journal(path).entries():
            try:
                action = TakenAction(
                    **{**entry, "status": FORMER_STATUS.get(entry["status"], entry["status"])}
                )
                yield replace(action, gone=tuple(action.gone), files=tuple(action.files), at=float(action.at))
            except (KeyError, ValueError, TypeError):
                continue
