"""Starts a command again after what passes: from its newest checkpoint, within a budget, and never into a
crash loop.

What decides are facts of the machine: how the process ended, that its files stood still, which
checkpoints lie on the disk. What its log says can only withhold a restart. The state is kept beside the
log, so that a supervisor that was killed is succeeded by the next, which finds the command still running.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec.structs import replace

from hrmdoc.errors import UsageError
from hrmdoc.live.actionlog import FILE, ActionLog
from hrmdoc.live.incidents import Incident
from hrmdoc.live.watch import Observer
from hrmdoc.locks import acquire
from hrmdoc.paths import supervised_folder
from hrmdoc.settings import Settings
from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.child import Child
from hrmdoc.supervision.plan import Plan
from hrmdoc.supervision.resume import NOT_AT_ALL, Checkpoint, Resumption
from hrmdoc.supervision.signals import Signals
from hrmdoc.supervision.state import Phase, State, load, save
from hrmdoc.supervision.supervise import NEVER, Outcome, Silence, StopPolicy, supervise
from hrmdoc.supervision.verdict import Verdict, on_request, verdict

KEPT = "status"


class Patching(Protocol):
    """Changes the config of a command between two tries, as far as the policy allows it."""

    def starting(self) -> None:
        """A try begins: it reads the config as it is now."""

    def after(self, outcome: Outcome, *, finished: bool = False) -> bool:
        """Takes in how a try ended; whether the config was changed for the next one. `finished`: there
        will be none."""


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told of it: `report` of incidents, `observe` of updates, `say` of what is done, in a line."""

    report: Callable[[Incident], None] = lambda _: None
    observe: Observer = lambda *_: None
    say: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class Supervisor:
    """Looks after one command until it finishes, or is given up.

    Args:
        log: the output of the first attempt; the next ones stand beside it, as `<name>-2.log` and so on.
        plan: how often and how soon it is started again.
        resumption: how it is told to go on from a checkpoint.
        beats: files that change while it lives, beside its logs.
        patching: what changes its config between two tries; None: nothing does.
        measure: seconds between two samples of the machine; None: it is not measured.
        clock: Unix seconds.
    """

    command: Sequence[str]
    log: Path
    plan: Plan
    settings: Settings
    resumption: Resumption = NOT_AT_ALL
    beats: tuple[Path, ...] = ()
    stop: StopPolicy = NEVER
    patching: Patching | None = None
    ears: Ears = field(default_factory=Ears)
    measure: float | None = None
    clock: Callable[[], float] = time.time
    state: State = field(default_factory=State)
    signals: Signals = field(default_factory=Signals)
    _last: Child | None = None

    def run(self) -> Outcome:
        """Starts the command, or goes on where another supervisor ended; returns how it ended at last.

        Raises:
            UsageError: the command cannot be started, its log cannot be written, or another supervisor has
                it in its care.
            InputError: the state of a former supervisor cannot be read.
        """
        folder = supervised_folder(self.log)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = acquire(folder / "lock")
        except OSError as error:
            raise UsageError(f"the state cannot be kept: {error.strerror}", file=folder) from error
        if lock is None:
            raise UsageError("another hrmdoc supervises this command", file=self.log)
        with lock, self.signals:
            self.state = load(self.log) or State()
            outcome = self._taken_up() or self._next()
            while self._goes_on(outcome):
                outcome = self._next()
            return outcome

    def _taken_up(self) -> Outcome | None:
        """What a former supervisor left: a command that runs, or ended meanwhile; None where one is to be
        started."""
        phase, attempts = self.state.phase, self.state.attempts
        if phase == "ended" or not attempts:
            past = attempts[-1].number if attempts else 0
            self.state = State(command=tuple(self.command), before=max(past, self.state.before))
            return None
        if phase == "waiting":
            self.ears.say(f"goes on with attempt {attempts[-1].number + 1}, for which another hrmdoc waited")
            if not self._wait():
                raise KeyboardInterrupt
            return None
        if phase == "interrupted":
            self.ears.say(f"goes on after attempt {attempts[-1].number}, which was interrupted")
            return None
        child = Child.found(self.state.pid, self.state.started, self._kept())
        lives = child.poll()
        words = f"still runs as process {child.pid}" if lives else "ended while nobody watched"
        self._note("adopted", f"attempt {attempts[-1].number}, which {words}")
        return self._followed(attempts[-1], lambda _: child)

    def _next(self) -> Outcome:
        """Starts the next attempt and follows it to its end."""
        number = len(self.state.attempts) + self.state.before + 1
        again = bool(self.state.attempts)
        checkpoint = self.resumption.newest() if again else None
        words = self.resumption.command(self.command, checkpoint) if again else list(self.command)
        place = self.log if number == 1 else self.log.with_name(f"{self.log.stem}-{number}{self.log.suffix}")
        attempt = Attempt(
            number, str(place), platform.node(), self.clock(), checkpoint=_checkpoint_words(checkpoint)
        )
        return self._followed(attempt, partial(self._start, attempt, words))

    def _start(self, attempt: Attempt, words: Sequence[str], files: Sequence[BinaryIO]) -> Child:
        if self.patching is not None:
            self.patching.starting()
        variables = {"HRMDOC_ATTEMPT": str(attempt.number), "HRMDOC_CHECKPOINT": attempt.checkpoint}
        child = Child.start(words, files, self._kept(), variables)
        attempts = (*self.state.attempts, attempt)
        self._keep(
            replace(self.state, phase="running", attempts=attempts, pid=child.pid, started=child.started)
        )
        origin = f" from {attempt.checkpoint}" if attempt.checkpoint else ""
        self._note(
            "started", f"attempt {attempt.number}{origin}", f"process {child.pid}, output in {attempt.log}"
        )
        return child

    def _followed(self, attempt: Attempt, begin: Callable[[Sequence[BinaryIO]], Child]) -> Outcome:
        """Follows an attempt to its end."""
        born: list[Child] = []

        def start(files: Sequence[BinaryIO]) -> Child:
            born.append(begin(files))
            return born[0]

        outcome = supervise(
            self.command,
            Path(attempt.log),
            stop=self.stop,
            settings=self.settings,
            report=self.ears.report,
            observe=self.ears.observe,
            silence=None if self.plan.hang is None else Silence(self.plan.hang, self.beats),
            grace=self.plan.grace,
            begin=start,
            signals=self.signals,
            measure=self.measure,
        )
        if outcome.hung:
            self._note(
                "stopped", f"attempt {attempt.number}", f"its files stood still for {self.plan.hang:g} s"
            )
        self._last = born[0]
        return outcome

    def _goes_on(self, outcome: Outcome) -> bool:
        """Keeps how the newest attempt ended, and waits where it is started again."""
        found, asked = self._judged(outcome)
        attempts = self.state.attempts
        self._keep(replace(self.state, verdict=found.line))
        self._note("ended", f"attempt {attempts[-1].number}: {found.line}", step=attempts[-1].step)
        if asked:
            self._end("interrupted", "the supervisor was asked to end")
            return False
        patched = self._patched(found, outcome)
        if found.call != "RESTART" and not patched:
            self._end("ended", found.line)
            return False
        if spent := self.plan.spent(attempts, self.clock()):
            self._end("ended", f"STOP: {spent}")
            return False
        self._keep(replace(self.state, phase="waiting", due=self.clock() + self.plan.pause(attempts)))
        self._clear()
        return self._wait()

    def _clear(self) -> None:
        """Ends what the attempt left behind: it would hold memory, devices and ports of the next one."""
        if self._last is not None and self._last.leftovers():
            gentle = self._last.end(self.plan.grace)
            self._note("stopped", "what the command had left behind", "" if gentle else "it had to be killed")

    def _patched(self, found: Verdict, outcome: Outcome) -> bool:
        """Whether the config was changed for the next try; not after what passes by itself."""
        if self.patching is None or found.call in ("RESTART", "RESTART ELSEWHERE"):
            return False
        return self.patching.after(outcome, finished=found.call == "OK")

    def _judged(self, outcome: Outcome) -> tuple[Verdict, bool]:
        """The verdict on the newest attempt, which is kept with it; whether it was asked to end."""
        *before, last = self.state.attempts
        status = outcome.status if outcome.seen else None
        if outcome.stopped_by is not None:
            status = 1  # it did not end by itself, and it failed
        stopped = outcome.stopped_by
        if stopped is not None and stopped.symptom in self.stop.again:
            found = on_request(outcome.analysis, stopped, before)
        else:
            found = verdict(outcome.analysis, status=status, hung=outcome.hung, history=before)
        asked = not outcome.hung and outcome.stopped_by is None and self.signals.explains(status)
        ended = replace(
            last,
            log=str(outcome.logs[0]),
            ended=self.clock(),
            status=outcome.status if outcome.seen else None,
            step=found.step,
            failure=found.failure,
            interrupted=found.interrupted or asked,
            call=found.call,
        )
        self.state = replace(self.state, attempts=(*before, ended))
        return found, asked and not (outcome.status == 0 and outcome.analysis.state == "finished")

    def _wait(self) -> bool:
        """Waits until the next start is due; False where the supervisor is asked to end meanwhile."""
        pause = max(0.0, min(self.state.due - self.clock(), self.plan.pause(self.state.attempts)))
        if pause:
            self.ears.say(f"starts again in {pause:.3g} s")
        if not self.signals.ending.wait(pause):
            return True
        self._end("interrupted", "the supervisor was asked to end while it waited")
        return False

    def _end(self, phase: Phase, why: str) -> None:
        self._keep(replace(self.state, phase=phase))
        self._note("given up" if phase == "ended" and not why.startswith("OK") else phase, "", why)

    def _kept(self) -> Path:
        return (supervised_folder(self.log) / KEPT).absolute()

    def _keep(self, state: State) -> None:
        self.state = state
        if not save(self.log, state):
            self.ears.say(f"the state cannot be kept in {supervised_folder(self.log)}")

    def _note(self, status: str, what: str, why: str = "", step: int | None = None) -> None:
        """Notes in the record what was done, and says it."""
        entry = {
            "kind": "attempt",
            "status": status,
            "what": what,
            "why": why,
            "step": step,
            "at": self.clock(),
        }
        ActionLog(supervised_folder(self.log) / FILE).append([entry])
        self.ears.say(": ".join(part for part in (f"{status} {what}".strip(), why) if part))


def _checkpoint_words(checkpoint: Checkpoint | None) -> str:
    return "" if checkpoint is None else str(checkpoint.path)
