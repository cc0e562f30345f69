"""What the TRL programs share: a tiny random model, a tokenizer of a few words, and arguments. Nothing is
downloaded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed

WORDS = [f"w{i}" for i in range(40)]
SPECIAL = ["<pad>", "<eos>", "<unk>"]
ARGUMENTS: dict[str, Any] = {
    "output_dir": "out",
    "report_to": "none",
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "dataloader_pin_memory": False,
    "disable_tqdm": True,
    "save_strategy": "no",
    "logging_steps": 2,
}


def tokenizer(words: Sequence[str] = WORDS) -> PreTrainedTokenizerFast:
    """One token a word."""
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *words])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def model(vocabulary: int = len(WORDS) + len(SPECIAL), width: int = 32) -> GPT2LMHeadModel:
    """A GPT-2 of two layers with random weights."""
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=64,
        n_embd=width,
        n_layer=2,
        n_head=2,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
    )
    return GPT2LMHeadModel(config)


def sentences(count: int, seed: int, length: int = 10, words: Sequence[str] = WORDS) -> list[list[str]]:
    """Words that count on in steps of one to three, as a fixed language does."""
    random = torch.Generator().manual_seed(seed)
    start = torch.randint(len(words), (count,), generator=random)
    stride = torch.randint(1, 4, (count,), generator=random)
    return [
        [words[(a + b * i) % len(words)] for i in range(length)]
        for a, b in zip(start.tolist(), stride.tolist(), strict=True)
    ]


def shuffled(words: list[str], seed: int) -> list[str]:
    """The same words in random order."""
    order = torch.randperm(len(words), generator=torch.Generator().manual_seed(seed)).tolist()
    return [words[i] for i in order]


def start(run: Callable[[str, int, dict[str, Any]], None]) -> None:
    """Reads the specification and calls `run` with fault, seed and settings."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    spec = json.loads(sys.argv[1])
    set_seed(spec["seed"])
    torch.set_num_threads(1)
    run(spec["fault"], spec["seed"], {**ARGUMENTS, "seed": spec["seed"], **spec["settings"]})
