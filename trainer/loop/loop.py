"""The training loop: schedule, accumulate, clip, step, log, evaluate, checkpoint, listen, stop."""

from __future__ import annotations

import math
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal

import torch

from ..data.iterate import EvalBatch, test_batches
from ..devices.plan import Plan
from ..model.evaluate import evaluate
from ..model.gradients import gradient_norm, gradients
from ..optim.movement import Movement
from ..optim.schedule import cosine_schedule
from ..rundir.directory import State as RunState
from ..rundir.tb import Row
from ..setup.autotune import out_of_memory
from .inbox import Inbox
from .interrupts import Interrupts, listening
from .job import Job
from .journal import Journal
from .meter import Meter
from .profile import Profiler, record_memory
from .watchdog import Watchdog

REPEATS_FROM = 16  # batches: of fewer, half may have come twice by a small data set alone
Reason = Literal["finished", "early_stopping", "stopped", "signal", "nonfinite"]


@dataclass
class Outcome:
    """How a run ended. `signal` is the number of the signal that ended it, else 0."""

    reason: Reason
    step: int
    signal: int = 0
    metrics: dict[str, float] = field(default_factory=dict)

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
        with listening() as interrupts, Watchdog(run):
            outcome = _Loop(job, interrupts).run()
    except BaseException as error:
        text = traceback.format_exc()
        if out_of_memory(error):
            record_memory(run, state.step)
        run.event("exception", state.step, type=type(error).__name__, message=str(error), traceback=text)
        run.log(text.rstrip())
        run.event("ended", state.step, state="crashed", reason="exception")
        run.close(state.step, "crashed")
        raise
    finally:
        state.feed.close()
    run.event("ended", outcome.step, state=outcome.state, reason=outcome.reason, metrics=outcome.metrics)
    run.close(outcome.step, outcome.state)
    return outcome


class _Loop:
    """One run of the loop: what it needs beside the job, and the parts of a step."""

    def __init__(self, job: Job, interrupts: Interrupts) -> None:
        self.job, self.interrupts = job, interrupts
        config, state, world = job.config, job.state, job.world
        examples = config.global_batch_size * config.grad_accum
        self.share = (
            examples / world.size if state.split else examples
        )  # FSDP averages the processes' gradients, DDP adds them up
        self.meter, self.log, self.inbox = Meter(examples, world), Journal(job, examples), Inbox(job)
        self.profiler = Profiler(config.profile, job.run, world.rank)
        self.movement = Movement(state.parameters, world, split=state.split)
        self.signal = 0  # the number of the signal that ends the run
        self.told_of_repeats = False

    def run(self) -> Outcome:
        """Steps until there is a reason to end."""
        job, state = self.job, self.job.state
        state.model.train()
        job.run.heartbeat(state.step, force=True)
        if job.config.on_nonfinite == "rollback" and state.step == 0:
            job.keeper.save(state)  # there must be something to go back to
        ended: Reason | None = None
        while ended is None and state.step < job.total_steps:
            job.fault.before_step(state)
            step = state.step + 1
            due = step % job.config.log_interval == 0 or step == job.total_steps
            self.profiler.before(step)
            self._step(step, due)
            self.profiler.after(step)
            ended = self._after(step, due)
        self.profiler.close(state.step)
        ended = self._write(line=True) or ended
        if job.keeper.last_step != state.step and ended != "nonfinite":
            job.keeper.save(state, self.log.lm_loss)
        if job.world.chief:
            job.keeper.look_back(state.step)
        return Outcome(ended or "finished", state.step, self.signal, self.log.latest)

    def _step(self, step: int, due: bool) -> None:
        """Accumulates gradients, clips them, and steps the optimizers at the rates of the schedule."""
        job, config, state = self.job, self.job.config, self.job.state
        factor = cosine_schedule(
            step, state.lr_scale, config.lr_warmup_steps, job.total_steps, config.lr_min_ratio
        )
        lr = job.fault.lr(step, config.lr * factor)
        state.dense.param_groups[0]["lr"] = lr
        for _ in range(config.grad_accum):
            self._accumulate(step, job.fault.lr(step, config.puzzle_emb_lr * factor) / config.grad_accum)
        with job.world.clock.section("compute"):
            norm = _clip(job)
            if due:
                self.movement.before()
            if config.on_nonfinite == "skip" and not job.plan.scaler and not bool(torch.isfinite(norm)):
                _skip(job, step)
            else:
                state.scaler.step(state.dense)
                state.scaler.update()
                if state.ema is not None:
                    state.ema.update()
            moved = self.movement.after()
            state.zero_grad()
        state.step = step
        host = {"train/lr": lr, **({"train/loss_scale": state.scaler.get_scale()} if job.plan.scaler else {})}
        self.meter.close_step(step, norm, host, moved)
        self.log.count_step()

    def _accumulate(self, step: int, puzzle_lr: float) -> None:
        """Adds the gradients of one micro-batch, and steps the puzzle embedding with its own."""
        job, state, clock = self.job, self.job.state, self.job.world.clock
        with clock.section("data"):
            batch = job.fault.batch(step, state.feed.next())
        with (
            clock.section("compute"),
            job.run.busy(state.step) if self.log.compiling(step) else nullcontext(),
        ):
            state.carry, sums = gradients(
                *(state.model, state.carry, batch, self.share, job.config.arch.loss.loss_type),
                generator=state.generator,
                precision=_precision(job.plan),
                scaler=state.scaler,
            )
            self.meter.add(sums)
            if state.sparse is not None:
                _step_sparse(job, puzzle_lr)

    def _after(self, step: int, due: bool) -> Reason | None:
        """Logs, evaluates, saves and listens, each when it is due; why the run is to end, if it is."""
        job, state = self.job, self.job.state
        evaluates, saves = _due(job, step)
        if due or evaluates or saves:
            before = state.step
            ended = self._write(line=due)
            if ended is not None or state.step != before:
                return ended  # no number, or back at a checkpoint: nothing of this step is evaluated or kept
            self._look_at_data()
        job.run.heartbeat(step)
        ended = (
            "early_stopping"
            if evaluates and _evaluate(job, self.log) and job.config.early_stopping.patience
            else None
        )
        if saves or ended:
            job.keeper.save(state, self.log.lm_loss)
        return self._listen() or ended

    def _write(self, *, line: bool) -> Reason | None:
        """Writes what was measured since the last time; "nonfinite" where that ends the run, after a rollback
        if there is one."""
        bad = self.log.write(self.meter.fetch(), line=line)
        if bad is None or self.job.config.on_nonfinite not in ("stop", "rollback"):
            return None
        return _nonfinite(self.job, self.meter, bad)

    def _listen(self) -> Reason | None:
        """Answers actions and signals, the same ones in every process."""
        job, step = self.job, self.job.state.step
        asked = self.inbox.waiting()  # first: it looks at the disk, and a signal that comes meanwhile counts
        self.signal, waiting = job.world.agree(int(self.interrupts.received or 0), int(asked))
        ended = self.inbox.answer(self.log.lm_loss) if waiting else None
        if not self.signal:
            return ended
        name = signal.Signals(self.signal).name
        job.run.event("signal", step, signal=name)
        job.run.log(f"{name} received at step {step}: saving a checkpoint and ending")
        return "signal"

    def _look_at_data(self) -> None:
        """Says once that most batches came before."""
        feed = self.job.state.feed
        if self.told_of_repeats or feed.taken < REPEATS_FROM or feed.repeated <= feed.taken / 2:
            return
        self.told_of_repeats = True
        self.job.run.warn(
            self.job.state.step,
            f"self-check: {feed.repeated} of {feed.taken} batches held the very inputs of an earlier one: "
            "the data are few, or come again unshuffled",
        )


def _precision(plan: Plan) -> AbstractContextManager[object]:
    if not plan.autocast:
        return nullcontext()
    return torch.amp.autocast_mode.autocast(plan.device, dtype=getattr(torch, plan.dtype))


def _clip(job: Job) -> torch.Tensor:
    """Brings the gradients of the processes together, bounds their norm, and returns what it was."""
    state, parameters = job.state, job.state.parameters
    if not state.split:
        job.world.add_up_gradients(parameters)
        state.scaler.unscale_(state.dense)
    bound = job.config.grad_clip
    if bound is None and not state.split:
        return gradient_norm(state.model, parameters)
    norm = torch.nn.utils.clip_grad_norm_(parameters, bound or math.inf)
    if state.split:
        from ..parallel.split import lend_gradients, whole

        lend_gradients(parameters, state.dense.param_groups[0]["params"])
        norm = whole(norm)
    return norm


def _step_sparse(job: Job, lr: float) -> None:
    """Steps the puzzle embedding with the gradient of one micro-batch. Its sign does not depend on the loss
    scale."""
    sparse = job.state.sparse
    assert sparse is not None
    sparse.lr = lr
    grad = sparse.embedding.rows.grad
    if grad is not None and (job.plan.scaler or job.config.on_nonfinite == "skip"):
        grad.nan_to_num_(0.0)  # the sign of an overflow would go straight into the table
    sparse.step()


def _skip(job: Job, step: int) -> None:
    """Leaves the weights as they are; the rows in flight may hold the bad numbers, so they are dropped
    too."""
    job.state.skipped += 1
    job.state.carry = None
    job.run.event("skipped", step, why="the gradient is not finite", skipped=job.state.skipped)
    job.run.log(f"warning: step {step} skipped: the gradient is not finite ({job.state.skipped} so far)")


def _nonfinite(job: Job, meter: Meter, bad: int) -> Reason | None:
    """Answers a loss or gradient that is no number: back to the last good checkpoint, or the end of the
    run."""
    state, run, config = job.state, job.run, job.config
    run.event("nonfinite", bad, on_nonfinite=config.on_nonfinite, rollbacks=state.rollbacks)
    run.log(f"error: the loss or its gradient is not finite at step {bad}")
    meter.forget()
    if (
        config.on_nonfinite == "rollback"
        and state.rollbacks < config.max_rollbacks
        and job.keeper.roll_back(state, config)
    ):
        return None
    run.log(
        "ending: see the run's diagnosis with hrmdoc analyze; on_nonfinite=rollback goes back to a good checkpoint instead"
    )
    return "nonfinite"


def _due(job: Job, step: int) -> tuple[bool, bool]:
    """Whether this step evaluates, and whether it saves."""
    evaluates = int(step / job.eval_steps) > int((step - 1) / job.eval_steps) or step == job.total_steps
    interval = job.config.checkpoint_interval
    saves = interval is not None and step % interval == 0
    return evaluates and job.test is not None, saves or (
        evaluates and job.config.checkpoint_every_eval
    ) or step == job.total_steps


def _alive(job: Job, batches: Iterator[EvalBatch]) -> Iterator[EvalBatch]:
    """`batches`, with a heartbeat at each: a long evaluation is no hang."""
    for batch in batches:
        job.run.heartbeat(job.state.step)
        yield batch


def _evaluate(job: Job, log: Journal) -> bool:
    """Scores the test split; whether patience has run out."""
    state, run, config, stopping = job.state, job.run, job.config, job.config.early_stopping
    assert job.test is not None
    began = time.perf_counter()
    with state.ema.applied() if state.ema is not None else nullcontext():
        batches = _alive(
            job, test_batches(job.test, config.global_batch_size, job.world.rank, job.world.size)
        )
        results = evaluate(state.model, batches, state.generator.device)
    values = {f"{name}.{metric}": value for name, found in results.items() for metric, value in found.items()}
    seconds = time.perf_counter() - began
    log.exclude(seconds)
    run.scalars.write(
        [
            Row(
                state.step,
                time.time(),
                {key: value for key, value in values.items() if not key.endswith(".count")},
            )
        ]
    )
    run.event("evaluated", state.step, metrics=values, seconds=round(seconds, 4), ema=state.ema is not None)
    shown = " | ".join(
        f"{key} {value:.4f}" for key, value in values.items() if not key.endswith((".count", ".steps"))
    )
    run.log(f"eval step {state.step} | {shown}")
    log.latest.update(values)
    first = next(iter(results.values()))
    better = state.stopper.better(
        first[stopping.metric], stopping.min_delta, lower=stopping.metric == "lm_loss"
    )
    if not stopping.patience or better or state.stopper.waited < stopping.patience:
        return False
    run.event(
        "early_stop", state.step, metric=stopping.metric, best=state.stopper.best, patience=stopping.patience
    )
    run.log(
        f"early stop: {stopping.metric} has not been better than {state.stopper.best:.4f} for {stopping.patience} evaluations"
    )
    return True
