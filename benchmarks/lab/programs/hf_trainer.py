"""A real Hugging Face Trainer on a tiny GPT-2 that is built from its config: nothing is downloaded."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

VOCABULARY, LENGTH = 64, 24
ARGUMENTS: dict[str, Any] = {
    "output_dir": "out",
    "learning_rate": 3e-3,
    "max_steps": 200,
    "per_device_train_batch_size": 8,
    "per_device_eval_batch_size": 32,
    "logging_steps": 4,
    "eval_steps": 40,
    "eval_strategy": "steps",
    "save_steps": 100,
    "save_total_limit": 1,
    "warmup_steps": 10,
    "lr_scheduler_type": "cosine",
    "report_to": "none",
    "use_cpu": True,
    "dataloader_pin_memory": False,
    "disable_tqdm": True,
}
FAULTS: dict[str, dict[str, Any]] = {
    "lr-too-high": {"learning_rate": 0.5},
    "lr-too-low": {"learning_rate": 3e-7},
    "memorize": {"max_steps": 320},
    "masked": {},
    "token-out-of-range": {},
    "wrong-targets": {},
    "no-such-setting": {"lerning_rate": 1e-3},
}


class Sequences(Dataset[dict[str, torch.Tensor]]):
    """Counting in steps of one to four, with a little noise; `fault` spoils the targets or one token."""

    def __init__(self, count: int, seed: int, fault: str) -> None:
        random = torch.Generator().manual_seed(seed)
        start = torch.randint(VOCABULARY, (count, 1), generator=random)
        stride = torch.randint(1, 5, (count, 1), generator=random)
        self.tokens = (start + stride * torch.arange(LENGTH)) % VOCABULARY
        noise = torch.rand(self.tokens.shape, generator=random) < 0.03
        self.tokens[noise] = torch.randint(VOCABULARY, (int(noise.sum()),), generator=random)
        self.labels = self.tokens.clone()
        if fault == "masked":
            self.labels[:] = -100
        if fault == "wrong-targets":
            self.labels = self.labels.flatten()[
                torch.randperm(self.labels.numel(), generator=random)
            ].view_as(self.labels)
        if fault == "token-out-of-range":
            self.tokens[count // 2, 3] = VOCABULARY + 5

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


def main() -> None:
    """Trains as a user's script does; the log, `trainer_state.json` and the model's config are what is
    left."""
    spec = json.loads(sys.argv[1])
    fault = spec["fault"]
    set_seed(spec["seed"])
    torch.set_num_threads(1)
    arguments = TrainingArguments(
        **{**ARGUMENTS, "seed": spec["seed"], **spec["settings"], **FAULTS.get(fault, {})}
    )
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    train = Sequences(24 if fault == "memorize" else 2000, spec["seed"], fault)
    held_out = Sequences(64, spec["seed"] + 1, fault if fault in ("masked", "wrong-targets") else "")
    trainer = Trainer(
        model=GPT2LMHeadModel(config), args=arguments, train_dataset=train, eval_dataset=held_out
    )
    trainer.train()
    trainer.save_state()


if __name__ == "__main__":
    main()
