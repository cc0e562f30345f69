"""The examples that stand in the rules themselves: each line or traceback shows its signature, and no
counterexample does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from hrmdoc.record.records import Line

if TYPE_CHECKING:
    from hrmdoc.examination.signatures import SignatureMatcher
    from hrmdoc.rulebook import Rulebook, Signature

_RANK = re.compile(r"^\[rank(\d+)\]:? ?")


def log_line(text: str, number: int, step: int | None = None) -> Line:
    """A line of a case or an example; the rank that stands before it is the one that wrote it."""
    found = _RANK.match(text)
    rank = int(found[1]) if found else None
    return Line(_RANK.sub("", text), "case.log", number, rank=rank, step=step)


def matched(log: str, matcher: SignatureMatcher) -> list[Signature]:
    """The signatures that a run finds whose whole log this is."""
    session, texts = matcher.session(), log.splitlines()
    at_once = [one for number, text in enumerate(texts, 1) for one in session.match(log_line(text, number))]
    return [one.signature for one in (*at_once, *(one for _, one in session.close(len(texts))))]


def check_examples(
    book: Rulebook, matcher: SignatureMatcher, signatures: Collection[str], symptoms: Collection[str]
) -> Iterator[tuple[str, str | None]]:
    """Every example and counterexample of these rules, and what is wrong about it, None when it holds."""
    for name in signatures:
        yield from ((name, problem) for problem in _of_signature(book.signatures[name], matcher))
    for name in symptoms:
        for log in book.symptoms[name].counterexamples:
            by = [one.id for one in matched(log, matcher) if one.symptom == name]
            yield name, f"{by[0]} opens it on its counterexample {log!r}" if by else None


def _of_signature(signature: Signature, matcher: SignatureMatcher) -> Iterator[str | None]:
    for example in signature.shown():
        found = any(one.id == signature.id for one in matched(example, matcher))
        yield None if found else f"not found in its own example {example!r}"
    for line in signature.counterexamples:
        found = any(one.id == signature.id for one in matched(line, matcher))
        yield f"found in its counterexample {line!r}" if found else None
