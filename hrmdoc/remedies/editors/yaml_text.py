"""New text for a YAML document: values in the quotes that they need, sections in blocks or in flow."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.nodes import ScalarNode

from hrmdoc.remedies.editors.scalars import Scalar, plain_word, quoted


def literal(value: Scalar) -> str:
    """A value as YAML reads it back."""
    return quoted(value.text) if value.string and not plain_word(value.text) else value.text


def restyled(node: Any, value: Scalar) -> str:
    """The new value in the quotes of the old one, unless these held a word and the new value is none."""
    style = node.style if isinstance(node, ScalarNode) else None
    if style not in {"'", '"'} or (not value.string and not any(letter.isdigit() for letter in node.value)):
        return literal(value)
    return quoted(value.text) if style == '"' else "'" + value.text.replace("'", "''") + "'"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else quoted(name)


def flow(names: list[str], value: Scalar) -> str:
    """Sections one inside the other, on one line."""
    text = literal(value)
    for name in reversed(names):
        text = f"{{{_key(name)}: {text}}}"
    return text


def block(names: list[str], value: Scalar, column: int, step: int) -> list[str]:
    """Sections one inside the other, a line each, the first at `column`."""
    lines = [" " * (column + step * depth) + f"{_key(name)}:" for depth, name in enumerate(names)]
    lines[-1] += f" {literal(value)}"
    return lines
