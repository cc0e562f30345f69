"""The beginning of a run's records: what runs, and what a person should know before the first step."""

from __future__ import annotations

import os
import time
from typing import Any

from ..config import load as configs
from ..devices.plan import Plan
from ..launch import slurm
from ..loop.job import Job
from ..model.selfcheck import positions_mix
from ..parallel.world import settings
from ..rundir.tb import Row
from .place import recorded

DEAF = (
    "self-check: the state at a position does not depend on the tokens at others: attention runs over a "
    "wrong axis, or a mask hides everything; each position can only learn to guess by itself"
)


def begin(job: Job, facts: dict[str, Any], resumed: bool, notes: list[str]) -> None:
    """Writes what runs into the run directory, and into its log what a person should know at the start."""
    config, run, state = job.config, job.run, job.state
    run.describe(recorded(config), facts)
    for note in filter(None, notes):
        run.log(note)
    begun = {"restarts": state.restarts, "total_steps": job.total_steps, "fault": config.fault}
    run.event("resumed" if resumed else "started", state.step, **begun)
    run.scalars.write([Row(state.step, time.time(), {"num_params": float(facts["parameters"])})])
    _log_head(job, facts)
    if not state.split and not positions_mix(state.model):
        run.warn(state.step, DEAF)


def _log_head(job: Job, facts: dict[str, Any]) -> None:
    """The head of the log: where the run is, what runs, and what is odd about it."""
    config, plan, run, world = job.config, job.plan, job.run, job.world
    run.log(f"run directory {run.path} (watch it with: hrmdoc watch {run.path})")
    trained = facts["trainable_parameters"]
    frozen = f" ({trained:,} of them trained)" if trained < facts["parameters"] else ""
    run.log(
        f"{facts['parameters']:,} parameters{frozen} | {facts['samples']:,} examples | "
        f"steps {job.state.step} to {job.total_steps} | {plan.device} {plan.dtype} | "
        f"{plan.attention}: {plan.attention_reason}{_kernels(plan)}"
    )
    if world.size > 1:
        talk = settings(plan.device, config.parallel.timeout_s, os.environ)
        run.log(
            f"{world.size} processes ({config.parallel.strategy}), "
            f"{config.global_batch_size // world.size} rows each: {talk}"
        )
    login = slurm.login_node(os.environ, gpu=plan.device == "cuda")
    for warning in (
        *plan.warnings,
        *([login] if login else []),
        *configs.schedule_warnings(config, job.total_steps),
    ):
        run.warn(job.state.step, warning)


def _kernels(plan: Plan) -> str:
    if plan.device != "cpu":
        return ""
    return (
        f" | native kernels: {plan.native_reason}"
        if plan.native
        else f" | no native kernels: {plan.native_reason}"
    )
