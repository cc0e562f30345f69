"""Settings found by their last name in whatever section a program keeps them: `model.lr`,
`optim.args.weight_decay`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ANYWHERE = frozenset(
    {
        "optimizer.lr", "optimizer.name", "optimizer.weight_decay", "optimizer.beta2", "optimizer.grad_clip",
        "run.epochs",
        "run.total_steps", "schedule.warmup_steps", "schedule.warmup_ratio", "data.batch_size",
        "data.micro_batch_size",
        "data.grad_accum", "data.samples", "data.classes", "data.vocab_size", "data.seq_len",
        "data.num_workers",
        "model.hidden_size", "model.num_heads", "model.layers", "model.dropout", "precision",
        "train.label_smoothing",
    }
)  # fmt: skip
"""Canonical settings that mean the same in any section but those of something else."""
_ELSE = frozenset(
    {
        "eval", "evaluation", "val", "valid", "validation", "test", "testing", "inference", "predict",
        "prediction",
        "generation", "generate", "sample", "sampling", "rollout", "callback", "callbacks", "logger",
        "loggers", "logging",
        "checkpoint", "checkpointing", "monitor", "early", "stopping", "ema", "teacher", "reference", "ref",
        "critic",
        "discriminator", "tokenizer", "lora", "peft", "adapter", "finetune", "pretrain", "pretrained",
        "search", "sweep",
        "tune", "export", "serve", "benchmark",
    }
)  # fmt: skip
"""Words of sections whose settings are not those of training the model."""
_PLAIN = frozenset({"lr", "epochs", "dropout", "optimizer", "precision", "wd", "l2", "drop"})
"""Names of one word that mean little else; of the others a word has to join, as in `batch_size`."""
_VAGUE = frozenset(
    {"num_steps", "total_steps", "max_length", "min_lr", "torch_dtype", "max_norm", "n_train", "max_lr"}
)


def nested(names: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Those of the dotted `paths` that end in the first of `names` (more telling names first) that any of
    them ends in.

    Names that mean other things elsewhere, and sections of something else than the training at hand, are
    passed over.
    """
    ends: dict[str, list[str]] = {}
    for path in paths:
        section, _, last = path.rpartition(".")
        if section and not is_elsewhere(section):
            ends.setdefault(loose(last), []).append(path)
    for name in names:
        telling = name in _PLAIN or ("_" in name and name not in _VAGUE)
        if "." not in name and telling and (found := ends.get(loose(name))):
            return found
    return []


def is_elsewhere(section: str) -> bool:
    """Whether a section holds settings of something else than the training at hand."""
    return not _ELSE.isdisjoint(re.split(r"[._\-]", section.lower()))


def loose(name: str) -> str:
    """A key without what programs spell differently: case and hyphens."""
    return name.lower().replace("-", "_")
