"""Exchanges weights with the reference implementations of HRM and TRM, in both directions.

Their checkpoints are plain state dicts saved with `torch.save`. Every key starts with `model.inner.`, behind
an `_orig_mod.` when the model was compiled. They hold no optimizer, no step and no carry.
"""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from hrmdoc.errors import InputError

from ..model.hrm import HRM

# Ours -> theirs. A block's part is rewritten within its path, `core.L_level.layers.0.attention.qkv.weight`.
_WHOLE = {
    "embed_tokens.weight": "embed_tokens.embedding_weight",
    "embed_pos.weight": "embed_pos.embedding_weight",
    "puzzle_emb.table": "puzzle_emb.weights",
}
_PARTS = {
    "attention.qkv": "self_attn.qkv_proj",
    "attention.out": "self_attn.o_proj",
    "mlp.gate_up": "mlp.gate_up_proj",
    "mlp.down": "mlp.down_proj",
    "mixer.gate_up": "mlp_t.gate_up_proj",
    "mixer.down": "mlp_t.down_proj",
}
_BLOCK = re.compile(r"((?:H|L)_level\.layers\.\d+\.)(\w+\.\w+)(\.weight)")
_PREFIX = re.compile(r"^(?:_orig_mod\.)?(?:model\.)?(?:_orig_mod\.)?inner\.")


def reference_key(key: str) -> str:
    """The reference's name, without prefix, of one of our state dict's keys."""
    short = _WHOLE.get(key, key.removeprefix("core."))
    match = _BLOCK.fullmatch(short)
    return short if match is None else match[1] + _PARTS[match[2]] + match[3]


def to_reference(model: HRM, compiled: bool = True) -> dict[str, Tensor]:
    """`model`'s weights as the reference saves them; `compiled` puts `_orig_mod.` in front, which its loader
    expects."""
    prefix = ("_orig_mod." if compiled else "") + "model.inner."
    return {prefix + reference_key(key): value.detach().clone() for key, value in model.state_dict().items()}


def from_reference(state: Mapping[str, Tensor], model: HRM, file: str | Path | None = None) -> None:
    """Copies a reference state dict into `model`.

    A puzzle table of another height is replaced by the mean of its rows, as TRM does for new puzzles. The
    initial states are stored in the forward dtype and cast.

    Raises:
        InputError: a weight is missing, unknown, or of another shape; names it (and `file`).
    """
    given = {_PREFIX.sub("", key): value for key, value in state.items()}
    own = model.state_dict()
    names = {key: reference_key(key) for key in own}
    missing, unknown = sorted(set(names.values()) - given.keys()), sorted(given.keys() - set(names.values()))
    if missing or unknown:
        parts = [
            f"{what} {', '.join(keys[:3])}{' ...' if keys[3:] else ''}"
            for what, keys in (("lacks", missing), ("adds", unknown))
            if keys
        ]
        raise InputError(
            "does not fit this architecture: it " + " and ".join(parts),
            file=file,
            hint="check arch.* against its config",
        )
    values = {key: _fit(names[key], given[names[key]], target, file) for key, target in own.items()}
    with torch.no_grad():
        for key, target in own.items():
            target.copy_(values[key])


def _fit(name: str, value: Tensor, target: Tensor, file: str | Path | None) -> Tensor:
    if (
        name == _WHOLE["puzzle_emb.table"]
        and value.ndim == 2
        and value.shape[1] == target.shape[1]
        and len(value) != len(target)
    ):
        return value.float().mean(0).expand_as(target)
    if value.shape != target.shape:
        what = f"{name} has shape {tuple(value.shape)}, this architecture needs {tuple(target.shape)}"
        raise InputError(what, file=file, hint="check arch.* and the dataset against its config")
    return value


def load_reference(file: str | Path, model: HRM) -> None:
    """Loads a checkpoint file of the reference into `model`. Nothing in the file is executed.

    Raises:
        InputError: the file cannot be read or does not fit; names it.
    """
    try:
        with warnings.catch_warnings():  # torch warns of pickles that it then refuses; the refusal says it
            warnings.simplefilter("ignore")
            state = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except (
        RuntimeError,
        EOFError,
        ValueError,
        KeyError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"is no checkpoint of tensors: {first}", file=file) from error
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError("is no state dict of tensors", file=file)
    from_reference(state, model, file)
