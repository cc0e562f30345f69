"""Scores a checkpoint on its test split."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import ConfigError, InputError

from .. import native
from ..config import load as configs
from ..config.overrides import run_settings
from ..config.schema import TrainConfig
from ..data import PuzzleData
from ..data.iterate import test_batches
from ..data.locate import check_hash, open_data
from ..data.text import unigram_loss
from ..devices.machine import apply
from ..model.evaluate import Metrics, evaluate
from ..model.hrm import HRM
from ..setup.plan import make_plan
from ..state import checkpoint, kept
from ..state.build import arch_config
from .exchange import reference_file, reference_settings
from .reference import load_reference


@dataclass(frozen=True, slots=True)
class Scored:
    """A checkpoint's model, ready to be asked, with the configuration it was trained with and the split it is
    scored on."""

    config: TrainConfig
    model: HRM
    step: int
    data: PuzzleData
    device: torch.device
    chosen: str = ""
    """Why this checkpoint, where a run directory was named."""

    def metrics(self, predictions: Path | None = None) -> Metrics:
        """Metrics of each set of the split, as `evaluate` gives them.

        Those of a causal model on text also have `unigram_loss`: the `lm_loss` of counting tokens in the
        training split.

        Args:
            predictions: a file (.npz) to save the boards and what was predicted to.
        """
        found = evaluate(
            self.model, test_batches(self.data, self.config.global_batch_size), self.device, predictions
        )
        if self.model.arch.causal and (self.data.path / "train").is_dir():
            info, counted = self.data.info, PuzzleData(self.data.path, "train").sets[0].labels
            for part in self.data.sets:
                found[part.name]["unigram_loss"] = unigram_loss(
                    counted, part.labels, info.vocab_size, info.ignore_label_id
                )
        return found


def open_checkpoint(path: Path, words: Sequence[str]) -> Scored:
    """A checkpoint or a run's best one, by its evaluations; where none was saved with one, the newest good
    one. The averaged weights are used where the run kept them.

    Args:
        path: a run directory or a `step_<N>` folder, or a checkpoint of the reference, file or folder; the
            configuration is read beside it.
        words: `key=value` overrides, such as another `data_path`. Only they, never the file beside a
            checkpoint, may say that generated code is to be run.

    Raises:
        InputError, ConfigError: the checkpoint, its configuration or the data cannot be used.
    """
    if path.is_dir():
        path = reference_file(path) or path
    foreign = path.is_file()
    settings = reference_settings(path) if foreign else run_settings(path)
    if not settings:
        hint = "name a run directory or its checkpoint"
        raise ConfigError("there is no config.yaml beside the checkpoint", file=path, hint=hint)
    settings.pop("evaluate.execute_code", None)
    if any(word.startswith("data_path=") for word in words):
        settings.pop("data_hash", None)  # it was the hash of the data the run was trained on
    config = configs.load(None, words, base=settings)
    plan = make_plan(config, os.environ)
    device = apply(plan)
    folder = open_data(config.data_path)
    check_hash(config, folder)
    data = PuzzleData(folder, "test")
    model = HRM(
        arch_config(config.arch, plan.dtype), data.info, config.global_batch_size, attention=plan.attention
    ).to(device)
    if plan.native:
        native.attach(model)
    if foreign:
        load_reference(path, model)
        named = kept.NAME.fullmatch(path.name)
        return Scored(config, model, int(named[1]) if named else 0, data, device)
    if kept.NAME.fullmatch(path.name):
        state, chosen = checkpoint.load(path, device)[0], ""
    else:
        meta, state = kept.best_good(path / "checkpoints", device)
        chosen = _why(meta, path / "checkpoints")
    _fill(model, state, path)
    return Scored(config, model, int(state["step"]), data, device, chosen)


def _why(meta: checkpoint.Meta, folder: Path) -> str:
    if not meta.evaluated:
        return "the newest good checkpoint"
    scores = ", ".join(f"{name} {value:.4f}" for name, value in meta.evaluated.items())
    return f"the best of {len(kept.found(folder))} kept checkpoints ({scores})"


def _fill(model: HRM, state: dict[str, Any], path: Path) -> None:
    try:
        model.load_state_dict(state["model"])
        if state.get("ema") is not None:
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(state["ema"]["average"][name])
    except (RuntimeError, KeyError) as error:
        lines = str(error).splitlines() or [""]
        what = next((line.strip() for line in lines[1:] if line.strip()), lines[0])
        raise InputError(
            f"the checkpoint does not fit its configuration or the dataset: {what}",
            file=path,
            hint="leave out overrides of arch.* and give a dataset of the same kind",
        ) from error
