"""TRL's SFTTrainer: prompt and completion, the loss on the completion alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import trl_base
from datasets import Dataset
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

FAULTS: dict[str, dict[str, Any]] = {
    "bf16-weights": {"learning_rate": 1e-4},
    "lr-too-high": {"learning_rate": 0.5},
    "lr-too-low": {"learning_rate": 1e-6},
    "lr-zero": {"lr_scheduler_type": "constant"},
    "memorize": {"weight_decay": 0.0},
    "no-such-setting": {"max_seq_len": 64},
    "no-eval-data": {"eval_strategy": "steps"},
    "warmup-never-ends": {"warmup_steps": 4000, "lr_scheduler_type": "constant_with_warmup"},
    "too-long": {"max_steps": 400, "lr_scheduler_type": "constant"},
}
ONSET = 60


class Disturbance(TrainerCallback):
    """What goes wrong between steps."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        del args, control
        if self.fault == "lr-zero" and state.global_step >= ONSET:
            for group in kwargs["optimizer"].param_groups:
                group["lr"] = 0.0
            kwargs["lr_scheduler"].base_lrs = [0.0 for _ in kwargs["lr_scheduler"].base_lrs]
        if self.fault == "nan-weights" and state.global_step == ONSET:
            with torch.no_grad():
                next(kwargs["model"].parameters())[3].fill_(float("nan"))


def rows(count: int, seed: int, fault: str) -> Dataset:
    """Prompts of four words and what follows them; `fault` spoils the completions."""
    found = trl_base.sentences(count, seed)
    spoil = trl_base.shuffled if fault == "wrong-targets" else None
    completions = [
        spoil(trl_base.WORDS, seed + i)[:6] if spoil else words[4:] for i, words in enumerate(found)
    ]
    if fault == "malformed":
        completions = [[] for _ in completions]
    return Dataset.from_list(
        [
            {"prompt": " ".join(a[:4]), "completion": " " + " ".join(b)}
            for a, b in zip(found, completions, strict=True)
        ]
    )


def run(fault: str, seed: int, settings: dict[str, Any]) -> None:
    """Trains, and leaves the log and `trainer_state.json`."""
    given = {
        "learning_rate": 3e-3,
        "max_steps": 160,
        "per_device_train_batch_size": 8,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 8,
        "eval_strategy": "steps",
        "eval_steps": 20,
        "max_length": 32,
        **settings,
        **FAULTS.get(fault, {}),
    }
    if fault == "cut-off":
        given["max_length"] = 5
    few = {"memorize": 16, "too-long": 40}.get(fault, 1500)
    net = trl_base.model(30 if fault == "token-out-of-range" else len(trl_base.WORDS) + len(trl_base.SPECIAL))
    if fault == "bf16-weights":
        net = net.to(torch.bfloat16)
    if fault == "frozen":
        for parameter in list(net.parameters())[:-1]:
            parameter.requires_grad_(False)
    trainer = SFTTrainer(
        model=net,
        args=SFTConfig(**given),
        train_dataset=rows(few, seed, fault),
        eval_dataset=None if fault == "no-eval-data" else rows(48, seed + 1, fault),
        processing_class=trl_base.tokenizer(),
        callbacks=[Disturbance(fault)],
    )
    trainer.train(resume_from_checkpoint=damaged(trainer) if fault == "corrupt-checkpoint" else None)
    trainer.save_state()


def damaged(trainer: SFTTrainer) -> str:
    """A checkpoint whose weights are cut in the middle."""
    folder = Path("out/checkpoint-40")
    trainer.save_model(str(folder))
    trainer.state.save_to_json(str(folder / "trainer_state.json"))
    weights = folder / "model.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    return str(folder)


if __name__ == "__main__":
    trl_base.start(run)
