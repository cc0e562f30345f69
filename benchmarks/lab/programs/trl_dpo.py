"""TRL's DPOTrainer: the chosen completion counts on, the rejected one does not."""

from __future__ import annotations

from typing import Any

import trl_base
from datasets import Dataset
from trl import DPOConfig, DPOTrainer

FAULTS: dict[str, dict[str, Any]] = {
    "lr-too-high": {"learning_rate": 0.3},
    "lr-too-low": {"learning_rate": 1e-8},
    "memorize": {"max_steps": 160},
    "no-such-setting": {"betta": 0.1},
}


def rows(count: int, seed: int, fault: str) -> Dataset:
    """Preference pairs. With `wrong-targets` a coin decides which of both is preferred."""
    pairs = []
    for i, words in enumerate(trl_base.sentences(count, seed)):
        good, bad = words[4:], trl_base.shuffled(trl_base.WORDS, seed + i)[:6]
        if fault == "wrong-targets":
            good, bad = (trl_base.shuffled(trl_base.WORDS, seed + 7919 * (i + side))[:6] for side in (1, 2))
        if fault == "same-pairs":
            bad = good
        pairs.append(
            {"prompt": " ".join(words[:4]), "chosen": " " + " ".join(good), "rejected": " " + " ".join(bad)}
        )
    if fault == "missing-column":
        return Dataset.from_list([{"prompt": pair["prompt"], "chosen": pair["chosen"]} for pair in pairs])
    return Dataset.from_list(pairs)


def run(fault: str, seed: int, settings: dict[str, Any]) -> None:
    """Trains, and leaves the log and `trainer_state.json`."""
    given = {
        "learning_rate": 1e-3,
        "max_steps": 80,
        "per_device_train_batch_size": 8,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 5,
        "eval_strategy": "steps",
        "eval_steps": 16,
        **settings,
        **FAULTS.get(fault, {}),
    }
    trainer = DPOTrainer(
        model=trl_base.model(),
        ref_model=trl_base.model(),
        args=DPOConfig(**given),
        train_dataset=rows(16 if fault == "memorize" else 700, seed, fault),
        eval_dataset=rows(32, seed + 1, fault),
        processing_class=trl_base.tokenizer(),
    )
    trainer.ref_model.load_state_dict(trainer.model.state_dict())
    trainer.train()
    trainer.save_state()


if __name__ == "__main__":
    trl_base.start(run)
