"""Facts that follow from others: the family of a model, HRM's size and length of run, how the data fit the
model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hrmdoc.preflight.config import config_value
from hrmdoc.record.records import Fact, Value

_FAMILIES = (
    "mt5",
    "t5",
    "gemma",
    "pegasus",
    "llama",
    "qwen",
    "mistral",
    "mixtral",
    "gpt2",
    "bert",
    "phi",
    "falcon",
    "deepseek",
)
_MODEL_NAMES = ("base_model", "model_name_or_path", "model_name", "pretrained_model_name_or_path")
_MODEL_WORDS = ("name", "path", "checkpoint", *_MODEL_NAMES)
_TOKENIZER_NAMES = ("tokenizer", "tokenizer_name", "tokenizer_name_or_path", "tokenizer_path")
_SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?)([bBmM])(?![A-Za-z0-9])")
_UNITS = {"b": 1e9, "m": 1e6}


def derived_facts(known: Mapping[str, Fact]) -> Iterator[Fact]:
    """Facts in canonical words. What is known already is not derived again."""
    found = {**_family(known), **_named_size(known), **_hrm(known), **_tokenizers(known)}
    for key, value in found.items():
        if key not in known:
            yield Fact(key, value)


def _family(known: Mapping[str, Fact]) -> dict[str, Value]:
    name = config_value(known, *_MODEL_NAMES)
    words = re.split(r"[^a-z0-9]+", str(name or "").lower())
    match = next(
        (family for family in _FAMILIES for word in words if re.fullmatch(rf"(?:flan)?{family}[\d.]*", word)),
        None,
    )
    return {} if match is None else {"model.family": match}


def _tokenizers(known: Mapping[str, Fact]) -> dict[str, Value]:
    """The tokenizers of models that stand side by side in a config (`model_a: {name, tokenizer}`), where
    they differ. A model of two towers names one tokenizer for each, but no second model."""
    tokenizers: dict[str, str] = {}
    for name, fact in known.items():
        section, _, key = name.rpartition(".")
        beside = any(f"{section}.{word}" in known for word in _MODEL_WORDS)
        if section and beside and fact.scope == "config" and key in _TOKENIZER_NAMES and fact.value:
            tokenizers[section] = str(fact.value)
    named = list(dict.fromkeys(tokenizers.values()))
    return {"config.tokenizers": ", ".join(named)} if len(named) > 1 else {}


def _named_size(known: Mapping[str, Fact]) -> dict[str, Value]:
    """How many weights a model has, by its name: `Qwen2.5-0.5B`, `opt-125m`."""
    name = str(config_value(known, *_MODEL_NAMES) or "")
    sizes = [float(size) * _UNITS[unit.lower()] for size, unit in _SIZE.findall(name)]
    return {"model.parameters": int(max(sizes))} if sizes else {}


def _config_number(known: Mapping[str, Fact], *keys: str) -> float | None:
    value = config_value(known, *keys)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _hrm(known: Mapping[str, Fact]) -> dict[str, Value]:
    """Parameters and steps of an HRM run, by its own formulas, where config and data give what they need."""
    if config_value(known, "global_batch_size") is None:
        return {}
    facts: dict[str, Value] = {"run.kind": "hrm"}
    groups, mean = known.get("data.groups"), known.get("data.mean_examples")
    epochs, batch = _config_number(known, "epochs"), _config_number(known, "global_batch_size")
    if groups and mean and epochs and batch:
        steps = epochs * float(str(groups.value)) * float(str(mean.value)) / batch
        facts["run.total_steps"] = int(min(steps, _config_number(known, "max_steps") or steps))
    sizes = [
        _config_number(known, f"arch.{name}") for name in ("hidden_size", "H_layers", "L_layers", "expansion")
    ]
    vocab = known.get("data.vocab_size")
    if vocab and all(size is not None for size in sizes):
        hidden, high, low, expansion = (float(size or 0) for size in sizes)
        facts["model.parameters"] = parameters(hidden, high + low, expansion, float(str(vocab.value)))
    return facts


def parameters(hidden: float, layers: float, expansion: float, vocab: float) -> int:
    """Trained parameters of HRM: each layer has 4 h^2 of attention and 3 h of SwiGLU, whose width is a
    multiple of 256.

    The puzzle table is a buffer and does not count. Sudoku's default (512, 8, 4, 11) has 27,275,266.
    """
    inner = -(-round(expansion * hidden * 2 / 3) // 256) * 256
    return round(layers * (4 * hidden**2 + 3 * hidden * inner) + 2 * vocab * hidden + 2 * hidden + 2)
