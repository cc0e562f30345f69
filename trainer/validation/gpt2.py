"""GPT-2 by Hugging Face `transformers`: made anew, or of weights in a folder; asked as HRM is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hrmdoc.errors import ConfigError, InputError, UsageError

from ..data.bpe import END, VOCAB
from ..data.info import IGNORE
from ..evaluation.generate import Sampling, draw
from ..model.step import Batch

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel

CONFIG = "config.json"
WEIGHTS = (
    "model.safetensors",
    "pytorch_model.bin",
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
)
POSITIONS = 1024


def require_transformers() -> None:
    """Raises UsageError where transformers is not installed, in the one line that helps."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # what is not in the folder is not looked for elsewhere
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise UsageError(
            f"GPT-2 needs the package {error.name}, which is not installed",
            hint="pip install 'hrmdoc[validate]'",
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def new(layers: int, width: int, heads: int) -> GPT2LMHeadModel:
    """GPT-2 of that size with random weights (drawn from torch's global generator)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=POSITIONS,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        bos_token_id=END,
        eos_token_id=END,
    )
    return GPT2LMHeadModel(config)


def load(folder: Path) -> GPT2LMHeadModel:
    """GPT-2 of the weights in `folder`. No code of the folder is run; of pickles only tensors are taken.

    Raises:
        InputError: the folder holds no GPT-2 of the shared vocabulary; names the file.
    """
    from transformers import GPT2LMHeadModel

    kind = _config(folder)
    if kind.get("model_type") != "gpt2":
        raise InputError(f"is a {kind.get('model_type')!r} model, not GPT-2", file=folder / CONFIG)
    if kind.get("vocab_size", VOCAB) != VOCAB:
        what = f"has a vocabulary of {kind['vocab_size']} tokens; both models need GPT-2's {VOCAB}"
        raise InputError(what, file=folder / CONFIG)
    if not any((folder / name).is_file() for name in WEIGHTS):
        raise InputError(
            "there are no weights here", file=folder, hint=f"one of {', '.join(WEIGHTS[:2])} is needed"
        )
    try:
        model, found = GPT2LMHeadModel.from_pretrained(
            str(folder),
            local_files_only=True,
            output_loading_info=True,
            weights_only=True,
            dtype=torch.float32,
        )
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"its weights cannot be read: {first}", file=folder) from error
    missing = sorted(found["missing_keys"])
    if missing or found.get("mismatched_keys"):
        what = (
            f"its weights lack {', '.join(missing[:3])}"
            if missing
            else "its weights have other shapes than its config"
        )
        raise InputError(
            what, file=folder, hint="give a folder that save_pretrained wrote for GPT2LMHeadModel"
        )
    return model


def _config(folder: Path) -> dict[str, Any]:
    file = folder / CONFIG
    if not folder.is_dir():
        raise InputError(
            "there is no such folder", file=folder, hint="--gpt2 takes a folder with config.json and weights"
        )
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except ValueError as error:
        raise InputError(f"is no JSON: {error}", file=file) from error
    if not isinstance(found, dict):
        raise InputError("is no JSON object", file=file)
    return found


def loss_of(model: GPT2LMHeadModel, batch: Batch) -> Tensor:
    """The mean over rows of each row's mean cross-entropy, as HRM's `lm_loss`. Logits are made at labelled
    positions alone, as HRM's are."""
    labels_BS = batch["labels"].long()
    hidden = model.transformer(input_ids=batch["inputs"].long(), use_cache=False).last_hidden_state
    where = labels_BS != IGNORE
    losses = F.cross_entropy(model.lm_head(hidden[where]).float(), labels_BS[where], reduction="none")
    weights = where / where.sum(-1, keepdim=True).clamp(min=1)
    return (losses * weights[where]).sum() / len(labels_BS)


@torch.no_grad()
def generate_many(
    model: GPT2LMHeadModel,
    prompt: Sequence[int],
    count: int,
    samples: int,
    sampling: Sampling,
    generator: torch.Generator,
    length: int,
) -> list[list[int]]:
    """`samples` continuations of `prompt`, as HRM's `generate_many` gives them: the same choice of tokens.

    Args:
        length: prompt and continuation together have at most so many tokens.
    """
    from transformers import DynamicCache

    cache, device = DynamicCache(config=model.config), model.device
    room = min(count, min(length, model.config.n_positions) - len(prompt))

    def read(tokens_BS: Tensor) -> Tensor:
        fresh = tokens_BS[:, cache.get_seq_length() :]
        hidden = model.transformer(input_ids=fresh, past_key_values=cache, use_cache=True).last_hidden_state
        logits: Tensor = model.lm_head(hidden[:, -1])
        return logits

    model.eval()
    return draw(
        *(read, cache.batch_repeat_interleave),
        prompt=torch.tensor([list(prompt)], device=device),
        count=room,
        end=END,
        samples=samples,
        sampling=sampling,
        generator=generator,
    )


def check_lengths(model: GPT2LMHeadModel, seq_len: int) -> None:
    """Raises ConfigError where the data's rows are longer than the model's positions."""
    if seq_len > model.config.n_positions:
        raise ConfigError(
            f"the data have {seq_len} tokens a row, this GPT-2 takes {model.config.n_positions}"
        )
