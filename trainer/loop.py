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

from .autotune import out_of_memory
from .data import EvalBatch, test_batches
from .devices import Plan
from .evaluate import evaluate
from .inbox import Inbox
from .interrupts import Interrupts, listening
from .job import Job
from .journal import Journal
from .meter import Meter
from .microbatch import gradient_norm, gradients
from .movement import Movement
from .optim import cosine_schedule
from .profile import Profiler, record_memory
from .rundir import State as RunState
from .tb import Row

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
        with listening() as interrupts:
            outcome = _loop(job, interrupts)
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


def _loop(job: Job, interrupts: Interrupts) -> Outcome:
    config, run, state, fault = job.config, job.run, job.state, job.fault
    model, dense, sparse = state.model, state.dense, state.sparse
    world, clock = job.world, job.world.clock
    examples = config.global_batch_size * config.grad_accum
    share = examples / world.size if state.split else examples  # FSDP averages the gradients of the processes, DDP adds them up
    meter, log, inbox = Meter(examples, world), Journal(job, examples), Inbox(job)
    profiler, movement = Profiler(config.profile, run, world.rank), Movement(state.parameters, world, split=state.split)
    model.train()
    run.heartbeat(state.step, force=True)
    if config.on_nonfinite == "rollback" and state.step == 0:
        job.keeper.save(state)  # there must be something to go back to
    ended: Reason | None = None
    number = 0  # of the signal that ends the run

    while ended is None and state.step < job.total_steps:
        fault.before_step(state)
        step = state.step + 1
        due = step % config.log_interval == 0 or step == job.total_steps
        profiler.before(step)

        # schedule
        factor = cosine_schedule(step, state.lr_scale, config.lr_warmup_steps, job.total_steps, config.lr_min_ratio)
        lr = fault.lr(step, config.lr * factor)
        dense.param_groups[0]["lr"] = lr

        # accumulate
        for _ in range(config.grad_accum):
            with clock.section("data"):
                batch = fault.batch(step, state.feed.next())
            with clock.section("compute"), run.busy(state.step) if log.compiling(step) else nullcontext():
                state.carry, sums = gradients(
                    *(model, state.carry, batch, share, config.arch.loss.loss_type),
                    generator=state.generator,
                    precision=_precision(job.plan),
                    scaler=state.scaler,
                )
                meter.add(sums)
                if sparse is not None:
                    _step_sparse(job, fault.lr(step, config.puzzle_emb_lr * factor) / config.grad_accum)

        with clock.section("compute"):
            # clip
            norm = _clip(job)

            # step
            if due:
                movement.before()
            if config.on_nonfinite == "skip" and not job.plan.scaler and not bool(torch.isfinite(norm)):
                _skip(job, step)
            else:
                state.scaler.step(dense)
                state.scaler.update()
                if state.ema is not None:
                    state.ema.update()
            moved = movement.after()
            state.zero_grad()
        state.step = step

        # log
        host = {"train/lr": lr}
        if job.plan.scaler:
            host["train/loss_scale"] = state.scaler.get_scale()
        if due:
            host["data/repeated_batches"] = float(state.feed.repeated)
        meter.close_step(step, norm, host, moved)
        log.count_step()
        profiler.after(step)
        evaluates, saves = _due(job, step)
        if due or evaluates or saves:
            bad = log.write(meter.fetch(), line=due)
            if bad is not None and config.on_nonfinite in ("stop", "rollback"):
                ended = _nonfinite(job, meter, bad)
                continue
        run.heartbeat(step)

        # evaluate
        if evaluates and _evaluate(job, log) and config.early_stopping.patience:
            ended = "early_stopping"

        # checkpoint
        if saves or ended:
            job.keeper.save(state, log.lm_loss)

        # listen
        asked = inbox.waiting()
        number, waiting = world.agree(int(interrupts.received or 0), int(asked))
        if waiting:
            ended = inbox.answer(log.lm_loss) or ended
        if number:
            ended, name = "signal", signal.Signals(number).name
            run.event("signal", step, signal=name)
            run.log(f"{name} received at step {step}: saving a checkpoint and ending")

    profiler.close(state.step)
    if (bad := log.write(meter.fetch(), line=True)) is not None and config.on_nonfinite in ("stop", "rollback"):
        ended = _nonfinite(job, meter, bad) or ended
    if job.keeper.last_step != state.step and ended != "nonfinite":
        job.keeper.save(state, log.lm_loss)
    if world.chief:
        job.keeper.look_back(state.step)
    return Outcome(ended or "finished", state.step, number, log.latest)


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
        from .shards import lend_gradients, whole

        lend_gradients(parameters, state.dense.param_groups[0]["params"])
        norm = whole(norm)
    return norm


def _step_sparse(job: Job, lr: float) -> None:
    """Steps the puzzle embedding with the gradient of one micro-batch. Its sign does not depend on the loss scale."""
    sparse = job.state.sparse
    assert sparse is not None
    sparse.lr = lr
    grad = sparse.embedding.rows.grad
    if grad is not None and (job.plan.scaler or job.config.on_nonfinite == "skip"):
        grad.nan_to_num_(0.0)  # the sign of an overflow would go straight into the table
    sparse.step()


def _skip(job: Job, step: int) -> None:
    """Leaves the weights as they are; the rows in flight may hold the bad numbers, so they are dropped too."""
    job.state.skipped += 1
    job.state.carry = None
    job.run.event("skipped", step, why="the gradient is not finite", skipped=job.state.skipped)
    job.run.log(f"warning: step {step} skipped: the gradient is not finite ({job.state.skipped} so far)")


def _nonfinite(job: Job, meter: Meter, bad: int) -> Reason | None:
    """Answers a loss or gradient that is no number: back to the last good checkpoint, or the end of the run."""
    state, run, config = job.state, job.run, job.config
    run.event("nonfinite", bad, on_nonfinite=config.on_nonfinite, rollbacks=state.rollbacks)
    run.log(f"error: the loss or its gradient is not finite at step {bad}")
    meter.forget()
    if config.on_nonfinite == "rollback" and state.rollbacks < config.max_rollbacks and job.keeper.roll_back(state, config):
        return None
    run.log("ending: see the run's diagnosis with hrmdoc analyze; on_nonfinite=rollback goes back to a good checkpoint instead")
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
        batches = _alive(job, test_batches(job.test, config.global_batch_size, job.world.rank, job.world.size))
        results = evaluate(state.model, batches, state.generator.device)
    values = {f"{name}.{metric}": value for name, found in results.items() for metric, value in found.items()}
    seconds = time.perf_counter() - began
    log.exclude(seconds)
    run.scalars.write([Row(state.step, time.time(), {key: value for key, value in values.items() if not key.endswith(".count")})])
    run.event("evaluated", state.step, metrics=values, seconds=round(seconds, 4), ema=state.ema is not None)
    shown = " | ".join(f"{key} {value:.4f}" for key, value in values.items() if not key.endswith((".count", ".steps")))
    run.log(f"eval step {state.step} | {shown}")
    log.latest.update(values)
    first = next(iter(results.values()))
    better = state.stopper.better(first[stopping.metric], stopping.min_delta, lower=stopping.metric == "lm_loss")
    if not stopping.patience or better or state.stopper.waited < stopping.patience:
        return False
    run.event("early_stop", state.step, metric=stopping.metric, best=state.stopper.best, patience=stopping.patience)
    run.log(
        f"early stop: {stopping.metric} has not been better than {state.stopper.best:.4f} for {stopping.patience} evaluations"
    )
    return True
