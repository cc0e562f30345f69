"""HRM's side: trained by the trainer's own loop, up to a compute; or a checkpoint that there is."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hrmdoc.errors import ConfigError

from ..config import load as configs
from ..config.schema import TrainConfig
from ..data import PuzzleData
from ..data.iterate import TrainIterator
from ..devices.machine import apply
from ..evaluation.score import Scored, open_checkpoint
from ..loop.loop import train as run_loop
from ..model.gradients import gradients
from ..parallel.world import World
from ..setup.make import make_job
from ..setup.plan import make_plan
from ..state.build import build
from ..state.feed import Feed
from ..state.kept import found
from ..state.state import TrainState
from .budget import Budget

Say = Callable[[str], None]
WARMUP_SHARE = 0.1
"""Of the steps, in the training of both models."""
NO_TEXT = "it is not causal, so it writes no programs"


def config_of(words: Sequence[str], data: Path, seed: int, steps: int) -> TrainConfig:
    """The configuration of a training of `steps` on `data`."""
    info = PuzzleData(data, "train").info
    batch = configs.load(None, [*words]).global_batch_size
    epochs = math.ceil(steps * batch / info.total_groups) + 1
    more = (
        f"data_path={data}",
        f"seed={seed}",
        f"epochs={epochs}",
        f"max_steps={steps}",
        "eval_interval=null",
    )
    every = (f"log_interval={max(1, steps // 50)}", f"checkpoint_interval={max(1, steps // 10)}")
    warmup = f"lr_warmup_steps={max(1, int(steps * WARMUP_SHARE))}"
    return configs.load(None, [*words, *more, *every, warmup, "checkpoint_keep=1"])


def trial(config: TrainConfig) -> tuple[TrainState, Callable[[], object]]:
    """A state as a training begins with it, and its step at the full rate; nothing is written."""
    plan = replace(make_plan(config, os.environ), compile_backend=None)
    device = apply(plan)
    data = PuzzleData(Path(config.data_path), "train")
    feed = Feed(TrainIterator(data, config.global_batch_size, config.seed), device)
    state = build(config, plan, data.info, feed, "", config.global_batch_size, World())
    state.model.train()
    state.dense.param_groups[0]["lr"] = config.lr

    def step() -> None:
        state.carry, _ = gradients(
            *(
                state.model,
                state.carry,
                state.feed.next(),
                config.global_batch_size,
                config.arch.loss.loss_type,
            ),
            generator=state.generator,
        )
        state.dense.step()
        state.zero_grad()

    return state, step


def train(config: TrainConfig, place: Path, budget: Budget, share: float, say: Say) -> bool:
    """Trains, or goes on, in the run directory `place`; whether the last step was reached.

    Args:
        share: of the budget after which the run is told to stop.
    """
    steps = config.max_steps
    if finished(place, steps):
        return True
    config = replace(config, run_dir=str(place), resume="auto")
    job = make_job(config, None, say)
    job.test = None  # scored at the end, beside the other model

    def progress(step: int, _: object) -> None:
        if budget.over(share) and step < job.total_steps:
            _tell_to_stop(job.run.control)

    job.progress = progress
    outcome = run_loop(job)
    if outcome.reason == "nonfinite":
        raise ConfigError("HRM's loss is not finite", file=place, hint=f"hrmdoc analyze {place}")
    if outcome.reason == "signal":
        raise KeyboardInterrupt
    return outcome.step == steps


def _tell_to_stop(control: Path) -> None:
    part = control / ".budget"
    part.write_text(json.dumps({"id": "budget", "action": "stop", "reason": "the budget is spent"}))
    part.replace(control / "budget.json")


def finished(place: Path, steps: int | None) -> bool:
    """Whether the run in `place` has a checkpoint of its last step."""
    saved = found(place / "checkpoints")
    return bool(saved) and saved[0].name == f"step_{steps}"


def open_trained(place: Path, words: Sequence[str]) -> Scored:
    """The last checkpoint of the run in `place`."""
    return open_checkpoint(found(place / "checkpoints")[0], words)


def open_given(place: Path, data: Path, words: Sequence[str]) -> Scored:
    """A checkpoint of the user's own, which has to write programs in the shared vocabulary.

    Raises:
        ConfigError: it does not.
    """
    if not place.exists():
        raise ConfigError(
            "there is no such run or checkpoint", file=place, hint="--hrm takes a run directory"
        )
    scored = open_checkpoint(place, [f"data_path={data}", *words])
    if not scored.model.arch.causal:
        raise ConfigError(NO_TEXT, file=place, hint="give one that was trained on text")
    return scored
