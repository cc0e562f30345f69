"""The training loop: schedule, accumulate, clip, step, log, evaluate, checkpoint, listen, stop."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass, field
from typing import Literal

from ..devices.memory import out_of_memory
from ..model.gradients import gradients
from ..optim.movement import Movement
from ..optim.schedule import cosine_schedule
from ..rundir.directory import State as RunState
from .evaluation import evaluate_job
from .hooks import FaultHook, Hooks
from .inbox import Inbox
from .interrupts import Interrupts, listening
from .job import Job
from .journal import Journal
from .meter import Meter, first_bad
from .profile import Profiler, record_memory
from .repeats import Repeats
from .update import precision, step_puzzles, update
from .watchdog import Watchdog

Reason = Literal["finished", "early_stopping", "stopped", "signal", "nonfinite"]


@dataclass
class Outcome:
    """How a run ended. `signal` is the number of the signal that ended it, else 0; `lost` says why its last
    state is not on the disk, or is ""."""

    reason: Reason
    step: int
    signal: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    lost: str = ""

    @property
    def state(self) -> RunState:
        ended: dict[Reason, RunState] = {"stopped": "stopped", "signal": "stopped", "nonfinite": "crashed"}
        return ended.get(self.reason, "finished")


def train(job: Job) -> Outcome:
    """Trains until the last step, an early stop, an action, a signal, or a loss that is no number.

    Raises:
        Exception: whatever failed, after it was written to the run directory.
    """
    run, state = job.run, job.state
    try:
        with listening() as interrupts:
            loop = _Loop(job, interrupts)
            with loop.hooks:
                outcome = loop.run()
    except BaseException as error:
        _record_failure(job, error)
        raise
    finally:
        state.feed.close()
    run.event("ended", outcome.step, state=outcome.state, reason=outcome.reason, metrics=outcome.metrics)
    run.close(outcome.step, outcome.state)
    return outcome


class _Loop:
    """One run of the loop: what it needs beside the job, and the parts of a step."""

    def __init__(self, job: Job, interrupts: Interrupts) -> None:
        self.job, self.interrupts, self.inbox = job, interrupts, Inbox(job)
        config, state, world = job.config, job.state, job.world
        examples = config.global_batch_size * config.grad_accum
        # FSDP averages the processes' gradients, DDP adds them up.
        self.divisor = examples / world.size if state.split else examples
        self.meter, self.journal = Meter(examples, world), Journal(job, examples)
        self.movement = Movement(state.parameters, world, split=state.split)
        self.hooks = Hooks(
            FaultHook(job.fault, state),
            Profiler(config.profile, job.run, world.rank),
            Watchdog(job.run),
            self.journal,
            Repeats(job),
        )
        self.signal = 0  # the number of the signal that ends the run

    def run(self) -> Outcome:
        """Steps until there is a reason to end."""
        job, state, hooks = self.job, self.job.state, self.hooks
        state.model.train()
        job.run.heartbeat(state.step, force=True)
        if job.config.on_nonfinite == "rollback" and state.step == 0:
            job.keeper.save(state)  # there must be something to go back to
        ended: Reason | None = None
        while ended is None and state.step < job.total_steps:
            step = state.step + 1
            hooks.before_step(step)
            self._step(step, log=job.logs(step))
            hooks.after_step(step)
            ended = self._after(step)
        hooks.finish(state.step)
        ended = self._write(line=True) or ended
        if job.keeper.last_step != state.step and ended != "nonfinite":
            job.keeper.save(state, self.journal.lm_loss)
        if job.world.chief:
            job.keeper.look_back(state.step)
        return Outcome(ended or "finished", state.step, self.signal, self.journal.latest, job.keeper.lost)

    def _step(self, step: int, *, log: bool) -> None:
        """Accumulates gradients, clips them, and steps the optimizers at the rates of the schedule."""
        job, config, state, clock = self.job, self.job.config, self.job.state, self.job.world.clock
        factor = cosine_schedule(
            step, state.lr_scale, config.lr_warmup_steps, job.total_steps, config.lr_min_ratio
        )
        lr = self.hooks.rate(step, config.lr * factor)
        state.dense.param_groups[0]["lr"] = lr
        for _ in range(config.grad_accum):
            puzzle_lr = self.hooks.rate(step, config.puzzle_emb_lr * factor) / config.grad_accum
            with clock.section("data"):
                batch = self.hooks.batch(step, state.feed.next())
            with clock.section("compute"), self.journal.computing(step):
                state.carry, sums = gradients(
                    *(state.model, state.carry, batch, self.divisor, config.arch.loss.loss_type),
                    generator=state.generator,
                    precision=precision(job.plan),
                    scaler=state.scaler,
                )
                self.meter.add(sums)
                step_puzzles(job, puzzle_lr)
        with clock.section("compute"):
            norm, moved = update(job, step, self.movement, measure=log)
        state.step = step
        host = {"train/lr": lr, **({"train/loss_scale": state.scaler.get_scale()} if job.plan.scaler else {})}
        self.meter.close_step(step, norm, host, moved)

    def _after(self, step: int) -> Reason | None:
        """Logs, evaluates, saves and listens, each when it is due; why the run is to end, if it is."""
        job, state = self.job, self.job.state
        logs, evaluates, saves = job.logs(step), job.evaluates(step), job.saves(step)
        if logs or evaluates or saves:
            ended = self._write(line=logs)
            if ended is not None or state.step != step:
                return ended  # no number, or back at a checkpoint: nothing of this step is evaluated or kept
            self.hooks.logged(step)
        job.run.heartbeat(step)
        found = evaluate_job(job, self.hooks) if evaluates else None
        stops = found is not None and found.stops
        if saves or stops:
            job.keeper.save(state, self.journal.lm_loss, None if found is None else found.metrics)
        return self._listen() or ("early_stopping" if stops else None)

    def _write(self, *, line: bool) -> Reason | None:
        """Writes what was measured since the last time; "nonfinite" where that ends the run, after a rollback
        if there is one."""
        rows = self.meter.fetch()
        if not rows:
            return None
        self.hooks.measured(rows, line=line)
        # While a loss scale is searched for, gradients overflow as a matter of course; the scaler leaves
        # those steps out.
        bad = first_bad(rows, gradient=not self.job.plan.scaler)
        if bad is None or self.job.config.on_nonfinite not in ("stop", "rollback"):
            return None
        self.meter.forget()
        return None if _goes_back(self.job, bad) else "nonfinite"

    def _listen(self) -> Reason | None:
        """Answers actions and signals, the same ones in every process."""
        job, step = self.job, self.job.state.step
        asked = self.inbox.waiting()  # first: it looks at the disk, and a signal that comes meanwhile counts
        self.signal, waiting = job.world.agree(int(self.interrupts.received or 0), int(asked))
        ended = self.inbox.answer(self.journal.lm_loss) if waiting else None
        if not self.signal:
            return ended
        name = signal.Signals(self.signal).name
        job.run.event("signal", step, signal=name)
        job.run.log(f"{name} received at step {step}: saving a checkpoint and ending")
        return "signal"


def _goes_back(job: Job, bad: int) -> bool:
    """Answers a loss or gradient that is no number: whether the run goes on from its last good checkpoint."""
    state, run, config = job.state, job.run, job.config
    run.event("nonfinite", bad, on_nonfinite=config.on_nonfinite, rollbacks=state.rollbacks)
    run.log(f"error: the loss or its gradient is not finite at step {bad}")
    allowed = config.on_nonfinite == "rollback" and state.rollbacks < config.max_rollbacks
    if allowed and job.keeper.roll_back(state, config):
        return True
    run.log(
        "ending: see the run's diagnosis with hrmdoc analyze; "
        "on_nonfinite=rollback goes back to a good checkpoint instead"
    )
    return False


def _record_failure(job: Job, error: BaseException) -> None:
    """Writes what failed, and how, to the run directory."""
    run, step = job.run, job.state.step
    text = traceback.format_exc()
    if out_of_memory(error):
        record_memory(run, step)
    run.event("exception", step, type=type(error).__name__, message=str(error), traceback=text)
    run.log(text.rstrip())
    run.event("ended", step, state="crashed", reason="exception")
    run.close(step, "crashed")
