"""TRL's GRPOTrainer on a random model: the reward is words from the first half of the vocabulary, and an
end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trl_base
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

FAULTS: dict[str, dict[str, Any]] = {
    "cap-too-low": {"max_completion_length": 2},
    "indivisible": {"num_generations": 7},
    "lr-too-high": {"learning_rate": 0.3, "beta": 0.0},
    "lr-too-low": {"learning_rate": 1e-7},
    "no-such-setting": {"num_generation": 8},
    "too-random": {"temperature": 20.0},
}
WORDS = trl_base.WORDS[:12]
GOOD = set(WORDS[:6])


def half(completions: list[str], **_: Any) -> list[float]:
    """The share of good words, and a fifth for coming to an end before the cap of twenty."""
    found = [text.split() for text in completions]
    return [
        0.8 * sum(word in GOOD for word in words) / max(1, len(words)) + 0.2 * (len(words) < 20)
        for words in found
    ]


def first(completions: list[str], **_: Any) -> list[float]:
    """One good word is enough to begin with."""
    return [float(text.split()[:1] == [WORDS[0]]) for text in completions]


def short(completions: list[str], **_: Any) -> list[float]:
    """Good words, and the end before the cap."""
    return [one - 0.02 * len(text.split()) for one, text in zip(half(completions), completions, strict=True)]


def zero(completions: list[str], **_: Any) -> list[float]:
    return [0.0 for _ in completions]


def same(completions: list[str], **_: Any) -> list[float]:
    return [0.5 for _ in completions]


def length(completions: list[str], **_: Any) -> list[float]:
    """Pays by the word."""
    return [len(text.split()) / 10 for text in completions]


def hard(completions: list[str], **_: Any) -> list[float]:
    """Only the whole vocabulary in order."""
    return [float(text.split() == WORDS) for text in completions]


def broken(completions: list[str], **_: Any) -> list[float]:
    """Fails on a completion that has no word."""
    return [len(text.split()) / len(text.split()[40:]) for text in completions]


REWARDS: dict[str, Callable[..., list[float]]] = {
    "length-hacking": length,
    "no-advantage": same,
    "reward-exception": broken,
    "reward-zero": zero,
    "task-too-hard": hard,
    "cap-too-low": first,
}


def run(fault: str, seed: int, settings: dict[str, Any]) -> None:
    """Trains, and leaves the log and `trainer_state.json`."""
    given = {
        "learning_rate": 3e-3,
        "max_steps": 40,
        "per_device_train_batch_size": 32,
        "num_generations": 8,
        "max_completion_length": 20,
        "beta": 0.02,
        "temperature": 1.0,
        "warmup_steps": 3,
        "logging_steps": 1,
        **settings,
    }
    kind = {"first": first, "short": short}.get(str(given.pop("reward", "")), half)
    given |= FAULTS.get(fault, {})
    prompts = [{"prompt": " ".join(words[:4])} for words in trl_base.sentences(200, seed, words=WORDS)]
    trl_base.model(len(WORDS) + len(trl_base.SPECIAL)).save_pretrained(
        "model"
    )  # the trainer loads its reference policy from where the policy came from
    trainer = GRPOTrainer(
        model="model",
        reward_funcs=REWARDS.get(fault, kind),
        args=GRPOConfig(**{**trl_base.ARGUMENTS, **given}),
        train_dataset=Dataset.from_list(prompts),
        processing_class=trl_base.tokenizer(WORDS),
    )
    trainer.train()
    trainer.save_state()


if __name__ == "__main__":
    trl_base.start(run)
