"""Settings in Python code are never edited: the text to paste is shown instead."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hrmdoc.remedies.scalars import Plain

_CLASSES = {"trl": "GRPOConfig", "lightning": "Trainer", "transformers": "TrainingArguments", "hf": "TrainingArguments"}


def is_python(name: str) -> bool:
    """Whether a file holds Python code."""
    return PurePath(name).suffix in {".py", ".ipynb"}


def text_to_paste(framework: str, settings: Mapping[str, Plain]) -> str:
    """The keyword arguments that make the change, one a line; dotted keys become attributes of `config`."""
    name = next((cls for word, cls in _CLASSES.items() if word in framework.lower()), None)
    simple = {key: value for key, value in settings.items() if "." not in key}
    lines = [f"    {key}={value!r}," for key, value in simple.items()]
    call = [f"{name or 'TrainingArguments'}(", *lines, "    ...", ")"] if lines else []
    return "\n".join([*call, *(f"config.{key} = {value!r}" for key, value in settings.items() if "." in key)])
