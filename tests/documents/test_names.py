"""Metric names and settings of the five documents, as they are written there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hrmdoc import rulebook
from hrmdoc.roles import RoleMap

BOOK = rulebook.load()
TRAINER = Path(__file__).parents[2] / "trainer"


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("train/loss", "train.loss"),
        ("eval/loss", "eval.loss"),
        ("train/grad_norm", "grad_norm"),
        ("train/learning_rate", "lr"),
        ("memory/max_alloc", "gpu.memory"),
        ("rewards/accuracy_reward/mean", "rl.reward"),
        ("reward", "rl.reward"),
        ("reward_std", "rl.reward_std"),
        ("frac_reward_zero_std", "rl.frac_reward_zero_std"),
        ("entropy", "rl.entropy"),
        ("kl", "rl.kl"),
        ("sampling/sampling_logp_difference/mean", "rl.logp_difference"),
        ("sampling/importance_sampling_ratio/min", "rl.is_ratio_min"),
        ("clip_ratio/region_mean", "rl.clip_ratio"),
        ("completions/mean_length", "rl.completion_length"),
        ("completions/max_length", "rl.completion_max_length"),
        ("completions/clipped_ratio", "rl.completions_clipped"),
        ("num_tokens", "num_tokens"),
        ("ebft/alignment", "rl.ebft_alignment"),
        ("ebft/diversity", "rl.ebft_diversity"),
        ("ebft/cfm_loss", "rl.ebft_cfm_loss"),
        ("train/lm_loss", "train.loss"),
        ("eval/exact_accuracy", "eval.exact_accuracy"),
        ("train/lr", "lr"),
        ("final_metrics.val_loss", "eval.loss"),
        ("system.memory", "host.memory"),
        ("system/gpu.0.memoryAllocated", "gpu.memory"),
    ],
)
def test_metric_names_of_the_documents_map_to_their_roles(metric: str, role: str) -> None:
    assert RoleMap(BOOK)(metric).role == role


@pytest.mark.parametrize(
    "metric",
    [
        "rewards/accuracy_reward/std",
        "completions/min_length",
        "completions/mean_terminated_length",
        "clip_ratio/low_mean",
        "clip_ratio/high_mean",
        "sampling/sampling_logp_difference/max",
        "sampling/importance_sampling_ratio/mean",
        "sampling/importance_sampling_ratio/max",
    ],
)
def test_companions_of_a_metric_do_not_take_its_role(metric: str) -> None:
    assert RoleMap(BOOK)(metric).role is None


def preset(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load(
        next(TRAINER.rglob(f"presets/{name}.yaml")).read_text("utf-8")
    )
    return loaded


def test_presets_hold_the_values_of_the_reliability_plan() -> None:
    assert preset("stable") == {
        "grad_clip": 1.0,
        "lr_warmup_steps": 500,
        "lr_min_ratio": 0.1,
        "checkpoint_interval": 1000,
        "checkpoint_keep": 3,
        "on_nonfinite": "rollback",
    }
    assert preset("mps")["global_batch_size"] <= 4
    assert preset("mps")["grad_accum"] == 8
