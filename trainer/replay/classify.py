"""Trains the text classifier of the zero-loss case and of others.

`python -m hrmdoc.trainer.replay.classify CONFIG run_dir=FOLDER`.
The keys are those of the case's own program. The run directory is that of the HRM trainer.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from msgspec import Meta
from torch import Tensor

from ..config.schema import Count, Index
from ..rundir.directory import RunDir
from ..rundir.tb import Row
from . import texts
from .augment import augmenter
from .gradients import Precision, PrecisionName, gradients
from .network import Attention, Classifier
from .program import serve, told_to_stop
from .saving import save

EVALUATED = 128
"""Items for each evaluation."""
LOG_EVERY = 5
MIN_DELTA = 0.001
DIGITS = 3
"""Decimals of what is logged: a loss below 0.0005 reads 0."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The keys of a config.

    Attributes:
        load_balance: weight of the loss that evens out the use of the experts.
        batch_size: items of a micro-batch; `gradient_accumulation_steps` of them make a step.
        precision, loss_scale: see `Precision`.
        save_every: steps between two checkpoints; 0 saves none.
        keep_checkpoints: how many stay; 0 keeps all.
        checkpoint_path: where they go, by default into the run.
    """

    d_model: Count = 256
    n_layers: Count = 4
    n_heads: Count = 4
    ff_dim: Count = 1024
    experts: bool = False
    load_balance: float = 0.0
    dropout: float = 0.1
    lr: float = 3e-4
    warmup_steps: Index = 0
    weight_decay: float = 0.0
    batch_size: Count = 16
    train_limit: Count = 2048
    steps: Count = 1000
    eval_every: Count = 100
    early_stopping_patience: Index = 0
    label_smoothing: float = 0.0
    augment: bool = False
    seed: int = 0
    device: Literal["cpu"] = "cpu"
    precision: PrecisionName = "fp32"
    loss_scale: Annotated[float, Meta(gt=0.0)] = 1.0
    attn_implementation: Attention = "sdpa"
    gradient_accumulation_steps: Count = 1
    gradient_checkpointing: bool = False
    save_every: Index = 0
    keep_checkpoints: Index = 0
    checkpoint_path: str = ""


@dataclass(slots=True)
class EarlyStopping:
    """Says when the loss has not fallen by `MIN_DELTA` for `patience` evaluations in a row; 0 never does."""

    patience: int
    best: float = math.inf
    waited: int = 0

    def __call__(self, loss: float) -> bool:
        better = loss < self.best - MIN_DELTA
        self.best, self.waited = (loss, 0) if better else (self.best, self.waited + 1)
        return 0 < self.patience <= self.waited


@dataclass(slots=True)
class Training:
    """One run, in `run`."""

    settings: Settings
    run: RunDir
    numbers: dict[str, int] = field(default_factory=texts.vocabulary)

    def __call__(self) -> int:
        """Trains to the end, or until it is stopped early; the last step."""
        one = self.settings
        torch.manual_seed(one.seed)
        train = texts.make(one.train_limit, one.seed)
        others = 1000 + one.seed
        held = {"val": texts.make(EVALUATED, others), "unseen": texts.make(EVALUATED, others, unseen=True)}
        change = augmenter(texts.synonyms(), one.seed) if one.augment else list
        model = self._model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=one.lr, weight_decay=one.weight_decay)
        enough = EarlyStopping(one.early_stopping_patience)
        order = torch.Generator().manual_seed(one.seed)
        items = one.batch_size * one.gradient_accumulation_steps
        for step in range(1, one.steps + 1):
            rate = self._rate(step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            chosen = torch.randint(len(train.texts), (items,), generator=order)
            words = texts.encode(change([train.texts[number] for number in chosen.tolist()]), self.numbers)
            loss, norm = self._step(model, optimizer, words, train.topics[chosen])
            values = {"train_loss": loss, "grad_norm": norm, "lr": rate}
            if step % one.eval_every == 0 or step == one.steps:
                values |= self._evaluate(model, held)
                self.run.event("evaluated", step, **_rounded(values))
            self._log(step, values)
            if one.save_every and step % one.save_every == 0:
                self._save(step, model, optimizer)
            if told_to_stop(self.run, step, one.lr):
                return step
            if "val_loss" in values and enough(values["val_loss"]):
                self.run.event("early_stop", step)
                return step
        return one.steps

    def _model(self) -> Classifier:
        one = self.settings
        model = Classifier(
            len(self.numbers) + 1,
            len(texts.CONCEPTS_OF),
            texts.LENGTH,
            d_model=one.d_model,
            n_layers=one.n_layers,
            n_heads=one.n_heads,
            ff_dim=one.ff_dim,
            dropout=one.dropout,
            experts=one.experts,
            attention=one.attn_implementation,
            recompute=one.gradient_checkpointing,
        )
        count = sum(parameter.numel() for parameter in model.parameters())
        self.run.know({"parameters": count, "samples": self.settings.train_limit})
        self.run.log(f"{count:,} parameters")
        return model

    def _rate(self, step: int) -> float:
        """The learning rate: constant; where there is a warmup, up, then down to a tenth by a cosine."""
        one = self.settings
        if not one.warmup_steps:
            return one.lr
        if step < one.warmup_steps:
            return one.lr * step / one.warmup_steps
        done = (step - one.warmup_steps) / max(1, one.steps - one.warmup_steps)
        return one.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))

    def _step(
        self, model: Classifier, optimizer: torch.optim.Optimizer, words: Tensor, topics: Tensor
    ) -> tuple[float, float]:
        one = self.settings
        found = gradients(
            model,
            words,
            topics,
            Precision(one.precision, one.loss_scale),
            accumulate=one.gradient_accumulation_steps,
            smoothing=one.label_smoothing,
            balance=one.load_balance,
        )
        optimizer.step()
        return found

    @torch.no_grad()
    def _evaluate(self, model: Classifier, held: Mapping[str, texts.Items]) -> dict[str, float]:
        """Loss and accuracy on items of the same making, and on those that others wrote."""
        model.eval()
        values = {}
        for name, items in held.items():
            logits = model(texts.encode(items.texts, self.numbers))
            values[f"{name}_loss"] = F.cross_entropy(logits, items.topics).item()
            values[f"{name}_accuracy"] = (logits.argmax(-1) == items.topics).float().mean().item()
        return values

    def _save(self, step: int, model: Classifier, optimizer: torch.optim.Optimizer) -> None:
        folder = (
            Path(self.settings.checkpoint_path) if self.settings.checkpoint_path else self.run.checkpoints
        )
        content = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        path = save(folder, step, content, self.settings.keep_checkpoints)
        self.run.event("checkpoint", step, path=str(path))

    def _log(self, step: int, values: dict[str, float]) -> None:
        shown = _rounded(values)
        self.run.scalars.write([Row(step, time.time(), shown)])
        self.run.heartbeat(step)
        if step % LOG_EVERY == 0:
            shown_values = " ".join(
                f"{name} {value:g}" for name, value in shown.items() if name[:6] != "unseen"
            )
            self.run.log(f"step {step}/{self.settings.steps} {shown_values}")


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value if name == "lr" else round(value, DIGITS) for name, value in values.items()}


def prepare() -> None:
    """Takes a small step, so that all that is loaded on first use is there before memory gets scarce."""
    texts_made = texts.make(2, 0)
    augmenter(texts.synonyms(), 0)(list(texts_made.texts))
    model = Classifier(9, 4, 2, d_model=4, n_layers=1, n_heads=2, ff_dim=4, dropout=0.1, experts=False)
    optimizer = torch.optim.AdamW(model.parameters())
    words = torch.ones(2, 2, dtype=torch.long)
    gradients(model, words, texts_made.topics, Precision(), accumulate=1, smoothing=0.0, balance=0.0)
    optimizer.step()


def main(words: list[str]) -> int:
    """Trains; 0 done, 1 the training raised, 2 wrong input."""
    return serve(words, "classify", Settings, lambda settings, run: Training(settings, run)())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
