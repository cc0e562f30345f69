"""The alternatives of a signature's pattern, and which of them no example shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.rulebook.schema.signatures import Signature

_FLAGS = patterns.lazy(r"\(\?[aiLmsux]+\)")
_PIECE = patterns.lazy(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)


def alternatives(pattern: str) -> tuple[str, ...]:
    """The parts between which `|` chooses at the top of a regular expression, each with its global flags."""
    found = _FLAGS.match(pattern)
    flags = found[0] if found else ""
    parts, depth = [""], 0
    for piece in _PIECE.findall(pattern, len(flags)):
        if piece == "|" and depth == 0:
            parts.append("")
            continue
        depth += (piece == "(") - (piece == ")")
        parts[-1] += piece
    return tuple(flags + part for part in parts)


def unshown(signature: Signature) -> list[str]:
    """Alternatives of the pattern for which there is no example that they alone match."""
    parts = alternatives(signature.pattern)
    compiled = [re.compile(part) for part in parts]
    shown = set()
    for line in (line for example in signature.shown() for line in example.splitlines()):
        matching = [number for number, pattern in enumerate(compiled) if pattern.search(line)]
        if len(matching) == 1:
            shown.add(matching[0])
    return [part for number, part in enumerate(parts) if number not in shown]
