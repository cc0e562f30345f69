"""Settings that a framework spells as one switch per value: `bf16: true` next to `fp16: false`, or `use_mixed_precision`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hrmdoc.errors import PatchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hrmdoc.rulebook import ConfigKey

_FLAG_STYLE = ("hf", "transformers", "trl", "lightning", "axolotl", "accelerate")
_FULL = "fp32"


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
        raise PatchError(f"{value} is in force already: none of {', '.join(key.keys)} is set")
    return wanted


def _stands_for(name: str, value: str) -> bool:
    """A switch stands for the value in its name; one that names none turns lower precision on as a whole."""
    parts = name.lower().replace("_", ".").split(".")
    named = {"fp16", "bf16", "fp8", "tf32", _FULL} & set(parts)
    return value in named if named else value != _FULL


def takes_flags(framework: str) -> bool:
    """Whether overrides of this framework are `--key=value` flags rather than Hydra's `key=value`."""
    return any(word in framework.lower().split("-") for word in _FLAG_STYLE)
