"""Trains the text classifier of the zero-loss case.

`python -m hrmdoc.trainer.replay.classify CONFIG run_dir=FOLDER`.
The keys are those of the case's own program. The run directory is that of the HRM trainer.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec
import torch
import torch.nn.functional as F
from torch import Tensor

from hrmdoc.errors import ConfigError, HrmdocError, UsageError

from ..config.overrides import read_yaml
from ..rundir.control import Refused, take
from ..rundir.directory import RunDir, claim
from ..rundir.tb import Row
from . import texts
from .augment import augmenter
from .network import Classifier

EVALUATED = 128
"""Items for each evaluation."""
LOG_EVERY = 5
MIN_DELTA = 0.001
DIGITS = 3
"""Decimals of what is logged: a loss below 0.0005 reads 0."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The keys of a config. `load_balance` weighs the loss that evens out the use of the experts."""

    d_model: int = 256
    n_layers: int = 4
    n_heads: int = 4
    ff_dim: int = 1024
    experts: bool = False
    load_balance: float = 0.0
    dropout: float = 0.1
    lr: float = 3e-4
    warmup_steps: int = 0
    weight_decay: float = 0.0
    batch_size: int = 16
    train_limit: int = 2048
    steps: int = 1000
    eval_every: int = 100
    early_stopping_patience: int = 0
    label_smoothing: float = 0.0
    augment: bool = False
    seed: int = 0


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
        self._describe(model, train)
        enough = EarlyStopping(one.early_stopping_patience)
        order = torch.Generator().manual_seed(one.seed)
        for step in range(1, one.steps + 1):
            rate = self._rate(step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            chosen = torch.randint(len(train.texts), (one.batch_size,), generator=order)
            words = texts.encode(change([train.texts[number] for number in chosen.tolist()]), self.numbers)
            loss, norm = self._step(model, optimizer, words, train.topics[chosen])
            values = {"train_loss": loss, "grad_norm": norm, "lr": rate}
            if step % one.eval_every == 0 or step == one.steps:
                values |= self._evaluate(model, held)
                self.run.event("evaluated", step, **_rounded(values))
            self._log(step, values)
            if self._told_to_stop(step):
                return step
            if "val_loss" in values and enough(values["val_loss"]):
                self.run.event("early_stop", step)
                return step
        return one.steps

    def _model(self) -> Classifier:
        one = self.settings
        return Classifier(
            len(self.numbers) + 1,
            len(texts.CONCEPTS_OF),
            texts.LENGTH,
            d_model=one.d_model,
            n_layers=one.n_layers,
            n_heads=one.n_heads,
            ff_dim=one.ff_dim,
            dropout=one.dropout,
            experts=one.experts,
        )

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
        model.train()
        loss = F.cross_entropy(model(words), topics, label_smoothing=self.settings.label_smoothing)
        optimizer.zero_grad()
        (loss + self.settings.load_balance * model.imbalance()).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item(), norm.item()

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

    def _told_to_stop(self, step: int) -> bool:
        """Answers what lies in the inbox; the one action that this program knows is `stop`."""
        stop = False
        for action in take(self.run.control, self.settings.lr):
            asked = "" if isinstance(action, Refused) else action.action
            done = asked == "stop"
            stop = stop or done
            self.run.event("action", step, id=action.id, action=asked, status="done" if done else "refused")
        return stop

    def _describe(self, model: Classifier, train: texts.Items) -> None:
        lines = [f"{key}: {_yaml(value)}" for key, value in asdict(self.settings).items()]
        count = sum(parameter.numel() for parameter in model.parameters())
        facts = {"parameters": count, "samples": len(train.texts), "seed": self.settings.seed}
        self.run.describe("\n".join(lines) + "\n", facts)
        self.run.log(f"{count:,} parameters, {len(train.texts):,} texts")

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


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read(path: Path) -> Settings:
    """The settings of a config.

    Raises:
        ConfigError: it cannot be read, or holds what is no setting.
    """
    stated = {key: setting.value for key, setting in read_yaml(path).items()}
    if unknown := sorted(stated.keys() - set(Settings.__dataclass_fields__)):
        raise ConfigError(f"there is no setting {unknown[0]!r}", file=path)
    try:
        return msgspec.convert(stated, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), file=path) from error


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def main(words: list[str]) -> int:
    """Trains; 0 done, 2 wrong input."""
    try:
        match words:
            case [config, folder] if folder.startswith("run_dir="):
                place = Path(folder.removeprefix("run_dir="))
            case _:
                raise UsageError("usage: python -m hrmdoc.trainer.replay.classify CONFIG run_dir=FOLDER")
        settings = read(Path(config))
        run = RunDir(place, _say, claim(place))
        step = Training(settings, run)()
    except HrmdocError as error:
        _say(f"hrmdoc: {error}")
        return 2
    run.event("ended", step, reason="finished")
    run.close(step, "finished")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
