"""Scores a checkpoint on its test split."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from hrmdoc.errors import ConfigError, InputError

from . import checkpoint, devices
from . import config as configs
from .data import PuzzleData, test_batches
from .evaluate import evaluate
from .model import HRM
from .overrides import run_settings
from .setup import make_plan, open_data
from .state import arch_config


def score(path: Path, words: list[str], predictions: Path | None = None) -> dict[str, dict[str, float]]:
    """Metrics of each test set, as `evaluate` gives them, for a checkpoint or a run's newest good one.

    Args:
        path: a run directory or a `step_<N>` folder; the configuration is read beside it.
        words: `key=value` overrides, such as another `data_path`. The averaged weights are used where the run kept them.
        predictions: a file (.npz) to save the boards and what was predicted to.

    Raises:
        InputError, ConfigError: the checkpoint, its configuration or the data cannot be used.
    """
    settings = run_settings(path)
    if not settings:
        raise ConfigError(
            "there is no config.yaml beside the checkpoint", file=path, hint="name a run directory or its checkpoint"
        )
    config = configs.load(None, words, base=settings)
    plan = make_plan(config, os.environ)
    device = devices.apply(plan)
    if checkpoint.NAME.fullmatch(path.name):
        state = checkpoint.load(path, device)[0]
    else:
        state = checkpoint.newest_good(path / "checkpoints", device)[1]
    data = PuzzleData(open_data(config.data_path), "test")
    model = HRM(arch_config(config.arch, plan.dtype), data.info, config.global_batch_size, attention=plan.attention).to(device)
    try:
        model.load_state_dict(state["model"])
        if state.get("ema") is not None:
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(state["ema"]["average"][name])
    except (RuntimeError, KeyError) as error:
        raise InputError(f"the checkpoint does not fit its configuration: {str(error).splitlines()[0]}", file=path) from error
    return evaluate(model, test_batches(data, config.global_batch_size), device, predictions)
