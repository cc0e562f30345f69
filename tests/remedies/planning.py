"""Frameworks and a short way to a patch, for the tests of patches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.rulebook import Change, ConfigKey, Framework, Remedy, Verify

HRM = Framework(
    "hrm",
    "HRM",
    config={
        "optimizer.lr": ConfigKey(("lr",)),
        "optimizer.weight_decay": ConfigKey(("weight_decay",)),
        "schedule.warmup_steps": ConfigKey(("lr_warmup_steps",), "int"),
        "data.batch_size": ConfigKey(("global_batch_size",), "int"),
        "act.halt_max_steps": ConfigKey(("arch.halt_max_steps",), "int"),
        "precision": ConfigKey(("arch.forward_dtype",), "str"),
    },
    markers=("config:arch", "config:arch."),
    defaults={"lr_warmup_steps": 2000},
)
HF = Framework(
    "transformers",
    "HF Trainer",
    config={
        "optimizer.lr": ConfigKey(("learning_rate",)),
        "optimizer.grad_clip": ConfigKey(("max_grad_norm",)),
        "data.batch_size": ConfigKey(("per_device_train_batch_size",), "int"),
        "data.grad_accum": ConfigKey(("gradient_accumulation_steps",), "int"),
        "precision": ConfigKey(("bf16", "fp16"), "bool"),
        "memory.gradient_checkpointing": ConfigKey(("gradient_checkpointing",), "bool"),
        "schedule.name": ConfigKey(("lr_scheduler_type",), "str"),
    },
    markers=("config:output_dir", "config:fp16", "config:bf16"),
    defaults={"learning_rate": 5e-5, "max_grad_norm": 1.0, "gradient_accumulation_steps": 1},
)
LIGHTNING = Framework(
    "lightning",
    "Lightning",
    config={
        "optimizer.lr": ConfigKey(
            ("optimizer.init_args.lr", "model.init_args.learning_rate", "model.learning_rate")
        ),
        "optimizer.grad_clip": ConfigKey(("trainer.gradient_clip_val",)),
        "precision": ConfigKey(("trainer.precision",), "str"),
    },
    markers=("config:trainer",),
)
LOWER = Change("optimizer.lr", "multiply", 0.2, min=1e-7)


def remedy(*changes: Change, **more: Any) -> Remedy:
    return Remedy("r", "A remedy", "patch", "safe", "because", Verify(), changes, **more)


def planned(
    folder: Path,
    text: str,
    *changes: Change,
    framework: Framework = HRM,
    name: str = "c.yaml",
    facts: Mapping[str, Any] | None = None,
) -> Patch:
    path = folder / name
    path.write_bytes(text.encode())
    return plan(remedy(*changes), facts or {}, framework, [path])


def after(patch: Patch) -> str:
    return patch.edits[0].after.decode()
