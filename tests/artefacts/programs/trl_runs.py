"""Tiny runs of TRL's trainers: `trl_runs.py sft|dpo|kto|reward|grpo|grpo_flat|rloo|llama_factory`."""

from __future__ import annotations

import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

WORDS = [
    "the",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "mat",
    "road",
    "and",
    "then",
    "home",
    "fast",
    "slow",
    "good",
    "bad",
]
COMMON = {
    "output_dir": "out",
    "per_device_train_batch_size": 4,
    "max_steps": 12,
    "logging_steps": 2,
    "save_strategy": "no",
    "report_to": ["tensorboard"],
    "use_cpu": True,
    "bf16": False,
}


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a word."""
    words = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    inner = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def model() -> str:
    """A transformer of one layer, on disk: some trainers load the model again as their reference."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(WORDS) + 3,
        n_positions=64,
        n_embd=16,
        n_layer=1,
        n_head=2,
        eos_token_id=1,
        pad_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained("tiny")
    tokenizer().save_pretrained("tiny")
    return "tiny"


def sft() -> None:
    from trl import SFTConfig, SFTTrainer

    texts = [
        {"text": "the cat sat on the mat and then ran home"},
        {"text": "the dog ran on the road fast"},
    ] * 24
    config = SFTConfig(**COMMON, eval_strategy="steps", eval_steps=6, learning_rate=1e-2, max_length=32)
    SFTTrainer(
        model(),
        config,
        train_dataset=Dataset.from_list(texts),
        eval_dataset=Dataset.from_list(texts[:4]),
        processing_class=tokenizer(),
    ).train()


def dpo(*callbacks: object) -> None:
    from trl import DPOConfig, DPOTrainer

    rows = [{"prompt": "the cat", "chosen": "sat on the mat", "rejected": "bad bad bad"}] * 48
    config = DPOConfig(**COMMON, learning_rate=1e-2, beta=0.1)
    data = Dataset.from_list(rows)
    DPOTrainer(
        model(), args=config, train_dataset=data, processing_class=tokenizer(), callbacks=list(callbacks)
    ).train()


def llama_factory() -> None:
    """DPO under LLaMA-Factory's log callback, which writes `out/trainer_log.jsonl`."""
    from llamafactory.train.callbacks import LogCallback

    dpo(LogCallback())


def kto() -> None:
    from trl import KTOConfig, KTOTrainer

    rows = [
        {"prompt": "the cat", "completion": "sat on the mat", "label": True},
        {"prompt": "the cat", "completion": "bad bad bad", "label": False},
    ] * 24
    config = KTOConfig(**COMMON, learning_rate=1e-2, beta=0.1)
    KTOTrainer(
        model(), args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer()
    ).train()


def reward() -> None:
    from transformers import GPT2ForSequenceClassification
    from trl import RewardConfig, RewardTrainer

    rows = [{"chosen": "the cat sat on the mat", "rejected": "the cat bad bad bad"}] * 48
    judge = GPT2ForSequenceClassification.from_pretrained(model(), num_labels=1)
    config = RewardConfig(**COMMON, learning_rate=1e-2)
    RewardTrainer(
        judge, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer()
    ).train()


def shorter(completions: list[str], **others: object) -> list[float]:
    """The reward: few words."""
    return [-float(len(text.split())) for text in completions]


def same_for_all(completions: list[str], **others: object) -> list[float]:
    """A reward that cannot teach: no spread within a group."""
    return [1.0 for _ in completions]


def grpo(reward) -> None:
    from trl import GRPOConfig, GRPOTrainer

    rows = [{"prompt": "the cat"}, {"prompt": "the dog ran"}] * 24
    often = COMMON | {"logging_steps": 1, "max_steps": 16}
    config = GRPOConfig(**often, learning_rate=1e-3, num_generations=4, max_completion_length=8, beta=0.04)
    GRPOTrainer(
        model(), reward, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer()
    ).train()


def rloo() -> None:
    from trl import RLOOConfig, RLOOTrainer

    rows = [{"prompt": "the cat"}, {"prompt": "the dog ran"}] * 24
    often = COMMON | {"logging_steps": 1, "max_steps": 16}
    config = RLOOConfig(**often, learning_rate=1e-3, num_generations=4, max_completion_length=8, beta=0.04)
    RLOOTrainer(
        model(),
        reward_funcs=shorter,
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer(),
    ).train()


torch.set_num_threads(1)
{
    "sft": sft,
    "dpo": dpo,
    "llama_factory": llama_factory,
    "kto": kto,
    "reward": reward,
    "grpo": lambda: grpo(shorter),
    "grpo_flat": lambda: grpo(same_for_all),
    "rloo": rloo,
}[sys.argv[1]]()
