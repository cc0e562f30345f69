"""A signature by itself: its pattern, literals and examples agree."""

from __future__ import annotations

import re
from pathlib import Path

from hrmdoc.errors import RuleError
from hrmdoc.rulebook.schema.signatures import Signature


def check(signature: Signature, path: Path) -> None:
    """Its pattern compiles and matches a line of every example and of no counterexample, and a literal is in
    every example.

    Raises:
        RuleError: they do not agree.
    """
    try:
        pattern = re.compile(signature.pattern)
    except re.error as error:
        raise RuleError(f"signature {signature.id}: not a regular expression: {error}", file=path) from error
    if not signature.shown():
        raise RuleError(f"signature {signature.id}: no example", file=path)
    for example in signature.shown():
        if not any(pattern.search(line) for line in example.splitlines()):
            raise RuleError(
                f"signature {signature.id}: the pattern does not match its own example {example!r}", file=path
            )
        if not any(literal in example for literal in signature.literals):
            raise RuleError(
                f"signature {signature.id}: no literal occurs in the example {example!r}", file=path
            )
    for line in signature.counterexamples:
        if pattern.search(line):
            raise RuleError(
                f"signature {signature.id}: the pattern matches the counterexample {line!r}", file=path
            )
