"""Treats a run under the user's policy: an action while it runs, a patch of its config once it has ended;
each is verified.

Nothing is done that the policy does not allow (`[policy]` in hrmdoc.toml; by default nothing), and only for a
likely cause. What was done stands in `actions.jsonl` beside the incidents, so that a watch that starts again
does not do it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hrmdoc.analysis import Analysis
from hrmdoc.errors import ActionError, PatchError
from hrmdoc.live import consent
from hrmdoc.live.actionlog import ActionLog
from hrmdoc.live.candidates import begun, candidates, facts_now, foreign, hindered_action, patched
from hrmdoc.live.notes import note_files
from hrmdoc.live.offers import live_actions, worded
from hrmdoc.live.stretch import still_shown, went_on
from hrmdoc.live.taken import APPLIED, FAILED, Status, TakenAction, recorded, shortened
from hrmdoc.remedies import actions, store
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.policy import Gate
from hrmdoc.reports.layout import typed
from hrmdoc.rulebook import Remedy, current
from hrmdoc.settings import Policy

TRIED = 4
"""Remedies of a cause that are tried without being asked for by name."""
JUDGED = ("done", "helped", "ineffective", "released")
AGAIN_S = 60.0
"""Seconds until what could not be taken back is tried again."""
ANSWER_S = 20.0
"""Seconds to wait for a run to answer: it does so at the end of its step."""


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
        self._journal, self._record = ActionLog(record), record
        self._policy, self._run, self._send = policy, run, send
        self._again: dict[str, float] = {}
        self._redone: dict[str, float] = {}
        self._leads = self._journal.is_mine()
        self._recall()

    def _recall(self) -> None:
        """Takes in what was done before, by whichever watch."""
        self.taken = list(recorded(self._record))
        self._gate = Gate(self._policy)
        for action in self.taken:
            self._count(action)

    def has_work(self, analysis: Analysis) -> bool:
        """Whether `treat` may have something to do."""
        return bool(self.taken) or analysis.verdict in ("warning", "critical")

    def close(self) -> None:
        """Lets another watch treat the run."""
        self._journal.close()

    def treat(
        self,
        analysis: Analysis,
        now: float,
        *,
        closed: bool = False,
        changeable: Callable[[Patch], str] | None = None,
    ) -> list[TakenAction]:
        """Verifies what was done before, then does one thing more where the policy allows it.

        Args:
            now: the wall clock, Unix seconds.
            closed: the run has ended; then its config may be patched, and no action is sent.
            changeable: of a config that the user named, why a patch is not to be written whatever the policy
                says; "" where it may.
        """
        if not self._journal.is_mine():
            self._leads = False  # another watch treats this run
            return []
        if not self._leads:
            self._leads = True
            self._recall()
        news = self._judged(analysis, now, closed=closed)
        if analysis.verdict in ("warning", "critical"):
            new = self._write(analysis, now, changeable) if closed else self._act(analysis, now)
            news += [] if new is None else [new]
        for action in news:
            if action.status != "withheld" or self._is_news(action):
                self.keep(action)
        return news

    def _judged(self, analysis: Analysis, now: float, *, closed: bool) -> list[TakenAction]:
        """What became of the actions: helped once their symptoms are over for a stretch of the run, and
        nothing else shows that they are against; ineffective when their time is up, or the run ends, and they
        are not. What holds for as long as it is needed is released
        then, whatever was told of it, and done again where a trainer was started anew, which forgets it."""
        book = analysis.book
        over = {symptom.id for symptom in analysis.symptoms if symptom.state in ("absent", "resolved")}
        news: list[TakenAction] = []
        for action in self._latest():
            judged = action.status != "done"
            gone = over.issuperset(current(action.gone, book, book.symptoms))
            late = closed or now - action.at > self._policy.verify_s
            if gone and (judged or self._lasts(analysis, action, now, late=late)):
                news += self._over(analysis, action, now, closed=closed)
            elif not closed and self._was_forgotten(analysis, action):
                news += self._done_again(analysis, action, now)
            elif not judged and late:
                news.append(replace(action, status="ineffective", at=now))
        return news

    def _lasts(self, analysis: Analysis, action: TakenAction, now: float, *, late: bool) -> bool:
        """Whether what is over has been so for as long as it takes to see, and the fault shows in no other
        way. What is done for as long as it is needed is over at once."""
        remedy = analysis.book.remedies.get(action.remedy)
        if remedy is None or remedy.afterwards:
            return True
        if still_shown(analysis, remedy, action.reason):
            return False
        return late or went_on(analysis, action, remedy, now)

    def _latest(self) -> list[TakenAction]:
        """The newest of each action that was done, and was not released since."""
        latest = {action.remedy: action for action in self.taken if action.status in JUDGED}
        return [action for action in latest.values() if action.status != "released" and action.gone]

    def _was_forgotten(self, analysis: Analysis, action: TakenAction) -> bool:
        """Whether the trainer was started anew since it told of an action that holds until it is released;
        by the order in which the run says so, since its clock may be another."""
        remedy = analysis.book.remedies.get(action.remedy)
        if remedy is None or not remedy.afterwards or not remedy.action:
            return False
        answer = f'"{remedy.action["action"]}"'
        told = [
            event.kind
            for event in analysis.run.events
            if event.kind in ("start", "resume") or (event.kind == "action" and answer in event.detail)
        ]
        return "action" in told and told[-1] != "action"

    def _done_again(self, analysis: Analysis, action: TakenAction, now: float) -> list[TakenAction]:
        if now < self._redone.get(action.remedy, 0.0):
            return []
        self._redone[action.remedy] = now + AGAIN_S
        request = actions.from_remedy(analysis.book.remedies[action.remedy], facts_now(analysis))
        return [self._delivered(action, request, now)]

    def _over(
        self, analysis: Analysis, action: TakenAction, now: float, *, closed: bool
    ) -> list[TakenAction]:
        """It helped; what holds as long as it is needed is taken back, and tried again where that fails."""
        helped = [replace(action, status="helped", at=now)] if action.status == "done" else []
        remedy = analysis.book.remedies.get(action.remedy)
        if closed or remedy is None or not remedy.afterwards:
            return helped
        if now < self._again.get(action.remedy, 0.0):
            return []
        released = self._delivered(action, remedy.afterwards, now, done="released")
        if released.status == "released":
            return [*helped, released]
        self._again[action.remedy] = now + AGAIN_S
        return [released]

    def _act(self, analysis: Analysis, now: float) -> TakenAction | None:
        if not (self._run / "run.json").is_file():
            return None  # no trainer that takes actions
        withheld: TakenAction | None = None
        for remedy, reason in live_actions(analysis, self._policy.min_probability):
            action = begun(analysis, remedy, reason, remedy.title, now)
            try:
                request = actions.from_remedy(remedy, facts_now(analysis))
                action = replace(action, what=worded(request))
            except ActionError as error:
                request, action = {}, replace(action, status="failed", why=error.what)
            hindered = self._allowed(action, remedy, now)
            if hindered is None:
                return self._delivered(action, request, now) if request else action
            lasting = hindered.id or self._gate.bars(remedy, reason) is not None
            withheld = withheld or (hindered if lasting and self._is_news(hindered) else None)
        return withheld

    def _allowed(self, action: TakenAction, remedy: Remedy, now: float) -> TakenAction | None:
        """None where the policy lets the action be done; else the action as it is withheld or asked for."""
        refusal = self._gate.refusal(remedy, now, action.reason)
        if refusal is not None and not self._gate.askable(remedy, action.reason):
            return replace(action, status="withheld", why=refusal)
        if not self._gate.asks(remedy):
            return None
        ident = consent.request_id(action.remedy, action.what)
        said = None if self._record is None else consent.reply(self._record.parent, ident)
        if said == "yes":
            return None if refusal is None else replace(action, status="withheld", why=refusal, id=ident)
        if said == "no":
            return replace(action, status="withheld", why="a person said no", id=ident)
        why = f"it waits for a yes: hrmdoc approve {typed(str(self._run))} {ident}"
        return replace(action, status="asked", why=why, id=ident)

    def _is_news(self, action: TakenAction) -> bool:
        """Whether what was withheld or asked for stands in the record not yet. A pause that runs out is no
        other reason."""
        known = ((one.remedy, one.status, one.id) for one in self.taken)
        return (action.remedy, action.status, action.id) not in known

    def _delivered(
        self, action: TakenAction, request: Mapping[str, Any], now: float, done: Status = "done"
    ) -> TakenAction:
        """Sends the request to the run and waits for its answer."""
        action = replace(action, at=now, what=worded(request))
        try:
            answer = self._send(
                self._run, request["action"], lr=request.get("lr"), reason=action.remedy, timeout=ANSWER_S
            )
        except ActionError as error:
            return replace(action, status="failed", why=shortened(error.what))
        status: Status = (
            done if answer.status == "done" else "refused" if answer.status == "refused" else "failed"
        )
        return replace(action, status=status, why=shortened(answer.why), step=answer.step)

    def _write(
        self, analysis: Analysis, now: float, changeable: Callable[[Patch], str] | None
    ) -> TakenAction | None:
        """Patches the config by the first remedy that is allowed; else tells of the first that is not, and
        why. Where a better one cannot be made, no other is made in its place.

        Args:
            changeable: why the caller lets a patch not be written, "" where it does; None where nobody has
                named a config, so that what cannot be done to one is no news.
        """
        withheld: TakenAction | None = None
        for cause, one in candidates(analysis, TRIED):
            if one.is_hindered:
                news = withheld is None and changeable is not None
                return hindered_action(analysis, one, cause, now) if news else withheld
            if one.patch is None:
                continue
            action = patched(analysis, one.patch, one.remedy, cause, now)
            refusal = self._unlikely(analysis, cause) or foreign(one)
            refusal = refusal or (changeable(one.patch) if changeable else None)
            hindered = replace(action, status="withheld", why=refusal) if refusal else None
            hindered = hindered or self._allowed(action, one.remedy, now)
            if hindered is None:
                return self._written(action, one.patch)
            withheld = withheld or hindered
        return withheld

    def _unlikely(self, analysis: Analysis, cause: str) -> str | None:
        least = self._policy.min_probability
        probability = next(one.probability for one in analysis.diagnosis.hypotheses if one.cause == cause)
        return (
            None
            if probability >= least
            else f"{probability:.0%} is not sure enough; the policy asks for {least:.0%}"
        )

    def _written(self, action: TakenAction, patch: Patch) -> TakenAction:
        try:
            written = store.write(patch, self._run)
        except PatchError as error:
            return replace(action, status="failed", why=error.what)
        note_files(written, action.what, kind="by policy")
        return action

    def keep(self, action: TakenAction) -> None:
        """Takes an action, or what became of one, into the record."""
        self.taken.append(action)
        self._count(action)
        self._journal.append([asdict(action)])

    def _count(self, action: TakenAction) -> None:
        """Lets the policy know of it: what was applied, and what was tried and failed."""
        if action.status in APPLIED + FAILED:
            self._gate.record(action.remedy, action.at, applied=action.status in APPLIED)
        if action.status == "released":
            self._gate.forget(action.remedy)
