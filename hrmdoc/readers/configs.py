"""Config files beside a run: YAML, JSON and Python of HRM, Hydra, transformers, TRL, DeepSpeed, OpenMMLab,
nanoGPT and others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hrmdoc.errors import InputError
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.document import Leaf, json_leaves, yaml_leaves
from hrmdoc.readers.support.flatten import plain_value
from hrmdoc.readers.support.whole import Whole
from hrmdoc.record.records import Damage, Fact, Record
from hrmdoc.text import patterns

NAME = "configs"
TITLE = "Config files (YAML, JSON, and Python that only gives values to names)"
WHOLE = True

_KNOWN = patterns.lazy(
    r"^(?:all_config|config|hparams|params|args|training_args|train_args|adapter_config|hyperparameters|default_config"
    r"|ds_config.*|deepspeed.*|zero[123].*|.*[_-]config|config[_-].*|cfg.*|.*recipe.*)\.(?:ya?ml|json)$",
    re.IGNORECASE,
)
_NOT = frozenset(
    {
        "hydra.yaml",
        "meta.yaml",
        "package.json",
        "run.json",
        "heartbeat.json",
        "wandb-metadata.json",
        "meta.json",
    }
)
_KEY = patterns.lazy(
    r"(?:^|[\s{,\"'])(?:[a-z_]*learning_rate|lr0?|[a-z_]*batch_size|num_train_epochs|epochs|max_steps|max_epochs|weight_decay|optimizer|optim"
    r"|lr_scheduler(?:_type)?|warmup_(?:steps|ratio|iters)|gradient_(?:clipping|accumulation_steps|clip_val)|max_grad_norm|hidden_size"
    r"|d_model|n_embd|num_(?:hidden_)?layers|dropout|lora_r|seed|zero_optimization|mixed_precision|base_model|halt_max_steps|model_type)"
    r"[\"']?\s*[:=]",
    re.IGNORECASE | re.MULTILINE,
)
_CODE = patterns.lazy(
    r"^(?:@|(?:async |def |class |if |for |while |with |try:|return )|import torch|from torch)", re.MULTILINE
)
_NOISE = patterns.lazy(r"^(?:_wandb|wandb_version|hydra)(?:\.|$)|(?:^|\.)(?:id2label|label2id)\.|\.desc$")
_LABELS = patterns.lazy(r"(?:^|\.)id2label(?=\.)")
"""The labels of a model of transformers, of which their number counts."""

_WANDB = patterns.lazy(rb"^(?:wandb_version:|_wandb:)", re.MULTILINE)
_IN_ENTRY = patterns.lazy(r"\.(?:desc|sort|value(?:\..*)?)$")
"""What an entry of a tracker's record of settings holds."""


def sniff(path: Path, head: bytes) -> float:
    """By its name, or by two keys that training configs have."""
    suffix = path.suffix.lower()
    if suffix == ".py":
        text = head.decode("utf-8", "replace")
        return 0.55 if len(set(_KEY.findall(text))) >= 2 and not _CODE.search(text) else 0.0
    if suffix not in (".yaml", ".yml", ".json") or path.name in _NOT or b"\0" in head:
        return 0.0
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if suffix == ".json" and start != b"{":
        return 0.0
    keys = set(_KEY.findall(head.decode("utf-8", "replace")))
    if _KNOWN.match(path.name):
        return 0.8 if keys else 0.4
    return 0.55 if len(keys) >= 2 else 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return Whole(context, _read)


def _read(context: Context, blob: bytes) -> Iterator[Record]:
    labels: dict[str, int] = {}
    try:
        for key, value, line in leaves(blob, context.path):
            plain = plain_value(value)
            if (mapping := _LABELS.search(key)) is not None:
                labels[key[: mapping.end()]] = labels.get(key[: mapping.end()], 0) + 1
            if (plain is not None or value is None) and not _NOISE.search(key):
                yield Fact(key, plain, "config", context.path, line)
        for key, count in labels.items():
            yield Fact(key, count, "config", context.path)
    except InputError as error:
        yield Damage(context.path, error.line, error.what)


def leaves(blob: bytes, path: str) -> Iterator[Leaf]:
    """Dotted key, value and line of every leaf. W&B's `key: {desc, value}` is taken as `key: value`, so is
    SwanLab's `key: {desc, sort, value}`.

    Raises:
        InputError: the file is no valid YAML, JSON or Python.
    """
    if path.lower().endswith(".py"):
        from hrmdoc.readers.support import python_settings  # few configs are Python

        settings = python_settings.read(blob.decode("utf-8", "replace"), path)
        yield from (
            (".".join(map(str, route)), one.value, one.line)
            for route, one in settings.values.items()
            if settings.config
        )
        return
    found = json_leaves(blob, path) if path.lower().endswith(".json") else yaml_leaves(blob, path)
    entries = list(found)
    if not _WANDB.search(blob):
        if not _all_described(entries):
            yield from entries
            return
        entries = [one for one in entries if not one[0].endswith(".sort") or ".value." in one[0]]
    for key, value, line in entries:
        yield _unwrapped(key), value, line


def _all_described(found: Sequence[Leaf]) -> bool:
    """Whether every entry is one of SwanLab's, which has a description, a place and a value."""
    described = {key.removesuffix(".desc") for key, _, _ in found if key.endswith(".desc")}
    return bool(described) and all(_IN_ENTRY.sub("", key) in described for key, _, _ in found)


def _unwrapped(key: str) -> str:
    name, dot, rest = key.partition(".value")
    return name + rest if dot and (not rest or rest.startswith(".")) else key
