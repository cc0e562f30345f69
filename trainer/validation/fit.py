"""Trains GPT-2 on the rows that HRM gets: the same batches in the same order, the same loss, in a run
directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hrmdoc.errors import ConfigError, InputError

from ..data import PuzzleData
from ..data.iterate import TrainIterator
from ..loop.interrupts import listening
from ..model.step import Batch
from ..optim.schedule import cosine_schedule
from ..rundir.directory import RunDir, claim
from ..rundir.tb import Row
from .budget import Budget
from .gpt2 import loss_of

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel

Say = Callable[[str], None]
BETAS, WEIGHT_DECAY, CLIP, LR_MIN_RATIO = (0.9, 0.95), 0.1, 1.0, 0.1
"""Those of GPT-3 (Brown et al. 2020, appendix B)."""
STATE = "state.pt"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training."""

    lr: float
    steps: int
    warmup: int
    batch_size: int
    seed: int


class Fit:
    """GPT-2 in training.

    Args:
        model: on its device.
        data: the folder of the dataset.
    """

    def __init__(self, model: GPT2LMHeadModel, data: Path, recipe: Recipe) -> None:
        self.model, self.recipe = model, recipe
        self.stream = TrainIterator(PuzzleData(data, "train"), recipe.batch_size, recipe.seed)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=recipe.lr, betas=BETAS, weight_decay=WEIGHT_DECAY
        )
        self.done = 0

    def step(self, lr: float | None = None) -> tuple[float, float]:
        """One optimizer step; the loss, and the norm of its gradient."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr if lr is None else lr
        self.model.train()
        loss = loss_of(self.model, self._next())
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.done += 1
        return loss.item(), norm.item()

    def rate(self, step: int) -> float:
        recipe = self.recipe
        return cosine_schedule(step, recipe.lr, recipe.warmup, recipe.steps, LR_MIN_RATIO)

    def train(self, place: Path, budget: Budget, facts: Mapping[str, Any], say: Say) -> bool:
        """Trains, or goes on, in the run directory `place`; whether the last step was reached before the
        budget was spent."""
        run = RunDir(place, say, claim(place))
        self._resume(place / STATE)
        if self.done < self.recipe.steps:
            run.describe("".join(f"{key}: {value}\n" for key, value in facts.items()), facts)
            run.event("resumed" if self.done else "started", self.done)
        try:
            with listening() as interrupts:  # a step is never cut in two: what is resumed is what was
                self._steps(run, place / STATE, lambda: bool(interrupts.received) or budget.over())
                stopped = bool(interrupts.received)
        finally:
            over = self.done >= self.recipe.steps
            run.event("ended", self.done, state="finished" if over else "stopped")
            run.close(self.done, "finished" if over else "stopped")
        if stopped:
            raise KeyboardInterrupt
        return over

    def _steps(self, run: RunDir, file: Path, enough: Callable[[], bool]) -> None:
        """Steps until the last one or until it is `enough`; the state is saved now and then, and at the
        end."""
        every, saved = max(1, self.recipe.steps // 10), self.done
        while self.done < self.recipe.steps and not enough():
            rate = self.rate(self.done + 1)
            loss, norm = self.step(rate)
            self._tell(run, every, {"train/lm_loss": loss, "train/grad_norm": norm, "train/lr": rate})
            if self.done % every == 0:
                self._save(file)
                saved = self.done
        if saved != self.done:
            self._save(file)

    def _next(self) -> Batch:
        return {key: value.to(self.model.device) for key, value in next(self.stream).items()}

    def _tell(self, run: RunDir, every: int, values: Mapping[str, float]) -> None:
        step, loss = self.done, values["train/lm_loss"]
        run.scalars.write([Row(step, time.time(), dict(values))])
        run.heartbeat(step)
        if step % every == 0 or step == self.recipe.steps:
            told = " | ".join(f"{name.partition('/')[2]} {value:.4g}" for name, value in values.items())
            run.log(f"step {step}/{self.recipe.steps} | {told}")
        if loss != loss:
            raise ConfigError("GPT-2's loss is not finite", file=run.path, hint=f"hrmdoc analyze {run.path}")

    def _save(self, file: Path) -> None:
        state = {
            "step": self.done,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "stream": self.stream.state_dict(),
            "rng": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state() if self.model.device.type == "cuda" else None,
        }
        part = file.with_suffix(f".{os.getpid()}")
        torch.save(state, part)
        part.replace(file)

    def _resume(self, file: Path) -> None:
        if not file.is_file():
            return
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.stream.load_state_dict(state["stream"])
            torch.set_rng_state(state["rng"])
            if state["cuda"] is not None and self.model.device.type == "cuda":
                torch.cuda.set_rng_state(state["cuda"])
            self.done = int(state["step"])
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"cannot be gone on from: {first}", file=file, hint="--fresh begins anew"
            ) from error
