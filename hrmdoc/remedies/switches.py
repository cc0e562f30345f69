"""Settings that frameworks spell in their own words: `bf16: true` next to `fp16: false`, `bfloat16`,
`bf16-mixed`, `no`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hrmdoc.errors import PatchError, UnchangedError
from hrmdoc.rulebook import ConfigKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hrmdoc.rulebook import Change

_FLAG_STYLE = frozenset(
    "nanogpt hf transformers trl lightning axolotl accelerate megatron openrlhf timm fairseq llama "  # noqa: SIM905
    "swift unsloth".split()
)
_DASHED = frozenset(["megatron", "timm", "fairseq"])
PATIENCE = 5
"""Evaluations without a better one before a run is stopped; the zero-loss case took 5."""
_FULL = "fp32"
_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def is_wanted(change: Change, key: ConfigKey) -> bool:
    """Whether a word is to be set where the framework has switches, as `bf16: true` for a precision."""
    word = change.value if change.op == "set" and isinstance(change.value, str) else "="
    return key.type == "bool" and not word.startswith("=")


def settings(key: ConfigKey, value: str, held: Iterable[str]) -> dict[str, bool]:
    """Which of the switches in `key.keys` stand how when the setting is `value`.

    Switches in `held` (those in the file) are set; the one that turns `value` on is added when it is missing.

    Raises:
        PatchError: no switch stands for `value`.
    """
    on = [name for name in key.keys if _stands_for(name, value)]
    if not on and value != _FULL:
        raise PatchError(f"no switch among {', '.join(key.keys)} stands for {value}")
    wanted = {name: name in on for name in key.keys if name in set(held)}
    if on and not any(wanted.values()):
        wanted[on[0]] = True
    if not wanted:
        raise UnchangedError(f"{value} is in force already: none of {', '.join(key.keys)} is set")
    return wanted


def _stands_for(name: str, value: str) -> bool:
    """A switch stands for the value in its name; one that names none turns lower precision on as a whole."""
    parts = name.lower().replace("_", ".").split(".")
    named = {"fp16", "bf16", "fp8", "tf32", _FULL} & set(parts)
    return value in named if named else value != _FULL


def is_patience(key: ConfigKey) -> bool:
    """Whether early stopping is spelled as a number of evaluations to wait, of which 0 means off."""
    return key.keys[0].endswith("patience")


def as_patience(key: ConfigKey, change: Change) -> tuple[ConfigKey, Change]:
    """The key and the change in evaluations to wait."""
    if not isinstance(change.value, bool):
        return ConfigKey(key.keys, "int"), change
    return ConfigKey(key.keys, "int"), msgspec.structs.replace(change, value=PATIENCE if change.value else 0)


def spelling(name: str, value: str, current: str | None) -> str:
    """A precision in the words that the key uses now, or that keys of its name use.

    `arch.forward_dtype: bfloat16` -> `float32`, Lightning's `16-mixed` -> `bf16-mixed`, Accelerate's `fp16`
    -> `no`.
    """
    word, last = (current or "").lower(), name.rsplit(".", 1)[-1].lower()
    if value not in _DTYPES:
        return value
    if "float" in word or ("dtype" in last and word not in _DTYPES):
        return ("torch." if word.startswith("torch.") else "") + _DTYPES[value]
    if any(end in word for end in ("-mixed", "-true")) or (not word and name == "trainer.precision"):
        return {"fp32": "32-true", "fp16": "16-mixed", "bf16": "bf16-mixed"}[value]
    return "no" if value == _FULL and "mixed_precision" in last else value


def takes_flags(framework: str) -> bool:
    """Whether overrides of this framework are `--key=value` flags rather than Hydra's `key=value`."""
    return not _FLAG_STYLE.isdisjoint(framework.lower().split("-"))


def as_flag(framework: str, name: str) -> str:
    """A key as one types it on the command line of this framework: `lr`, `--learning_rate`, `--clip-grad`."""
    dashed = not _DASHED.isdisjoint(framework.lower().split("-"))
    return f"--{name.replace('_', '-') if dashed else name}" if takes_flags(framework) else name
