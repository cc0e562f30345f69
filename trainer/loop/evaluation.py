"""Evaluation between steps, and the early stop that follows from it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from ..data.iterate import EvalBatch, test_batches
from ..model.evaluate import Metrics, evaluate
from ..rundir.tb import Row
from .hooks import Hook
from .job import Job


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of the first set, and whether patience has run out."""

    metrics: Mapping[str, float]
    stops: bool


def evaluate_job(job: Job, hooks: Hook) -> Evaluation:
    """Scores the test split."""
    state, run = job.state, job.run
    began = time.perf_counter()
    results = _scores(job)
    values = {f"{name}.{metric}": value for name, found in results.items() for metric, value in found.items()}
    seconds = time.perf_counter() - began
    hooks.evaluated(values, seconds)
    means = {key: value for key, value in values.items() if not key.endswith(".count")}
    run.scalars.write([Row(state.step, time.time(), means)])
    run.event("evaluated", state.step, metrics=values, seconds=round(seconds, 4), ema=state.ema is not None)
    shown = " | ".join(f"{key} {value:.4f}" for key, value in means.items() if not key.endswith(".steps"))
    run.log(f"eval step {state.step} | {shown}")
    first = next(iter(results.values()))
    return Evaluation(first, _stops(job, first))


def _scores(job: Job) -> Metrics:
    """The metrics of the test split, with the averaged weights where there are any."""
    state = job.state
    assert job.test is not None
    with state.ema.applied() if state.ema is not None else nullcontext():
        batches = test_batches(job.test, job.config.global_batch_size, job.world.rank, job.world.size)
        return evaluate(state.model, _with_heartbeats(job, batches), state.generator.device)


def _with_heartbeats(job: Job, batches: Iterator[EvalBatch]) -> Iterator[EvalBatch]:
    """`batches`, with a heartbeat at each: a long evaluation is no hang."""
    for batch in batches:
        job.run.heartbeat(job.state.step)
        yield batch


def _stops(job: Job, first: Mapping[str, float]) -> bool:
    """Whether the metrics of the first set have not been better for as long as patience lasts."""
    state, run, stopping = job.state, job.run, job.config.early_stopping
    metric = stopping.metric
    better = state.stopper.better(first[metric], stopping.min_delta, lower=metric == "lm_loss")
    if not stopping.patience or better or state.stopper.waited < stopping.patience:
        return False
    run.event("early_stop", state.step, metric=metric, best=state.stopper.best, patience=stopping.patience)
    run.log(
        f"early stop: {metric} has not been better than {state.stopper.best:.4f} "
        f"for {stopping.patience} evaluations"
    )
    return True
