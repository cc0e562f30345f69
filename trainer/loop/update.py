"""From accumulated gradients to changed weights: clip, step, average."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from ..devices.plan import Plan
from ..model.gradients import gradient_norm
from ..optim.movement import Movement
from .job import Job


def precision(plan: Plan) -> AbstractContextManager[object]:
    """What the forward pass runs within."""
    if not plan.autocast:
        return nullcontext()
    return torch.amp.autocast_mode.autocast(plan.device, dtype=getattr(torch, plan.dtype))


def update(job: Job, step: int, movement: Movement, *, measure: bool) -> tuple[Tensor, Tensor | None]:
    """Clips the gradients and steps the dense optimizer; the gradient norm, and what `movement` measured."""
    config, state = job.config, job.state
    norm = clip(job)
    if measure:
        movement.before()
    if config.on_nonfinite == "skip" and not job.plan.scaler and not bool(torch.isfinite(norm)):
        _skip(job, step)
    else:
        state.scaler.step(state.dense)
        state.scaler.update()
        if state.ema is not None:
            state.ema.update()
    moved = movement.after()
    state.zero_grad()
    return norm, moved


def clip(job: Job) -> Tensor:
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


def step_puzzles(job: Job, lr: float) -> None:
    """Steps the puzzle embedding, if there is one, with the gradient of one micro-batch. Its sign does not
    depend on the loss scale."""
    sparse = job.state.sparse
    if sparse is None:
        return
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
