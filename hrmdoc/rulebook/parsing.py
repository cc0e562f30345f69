"""One rule file by itself: its folder says what it is, the schema what it may hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from hrmdoc.errors import RuleError
from hrmdoc.rulebook import conditions, formerly, relations, wordings
from hrmdoc.rulebook.rulefile import convert, line_of
from hrmdoc.rulebook.schema.book import FOLDERS, Rulebook, RuleFile
from hrmdoc.rulebook.schema.causes import Cause
from hrmdoc.rulebook.schema.experience import Experience
from hrmdoc.rulebook.schema.families import Family
from hrmdoc.rulebook.schema.quantities import Quantities
from hrmdoc.rulebook.schema.remedies import Remedy
from hrmdoc.rulebook.schema.signatures import SignatureFile
from hrmdoc.rulebook.schema.symptoms import SymptomRule
from hrmdoc.rulebook.schema.typical import Typical


def parse_all(blobs: Iterable[tuple[Path, bytes]]) -> Rulebook:
    """The rules of all these files, later ones in place of earlier ones of the same id.

    Raises:
        RuleError: as `parse`.
    """
    book = Rulebook()
    for path, blob in blobs:
        parsed = parse(path, blob)
        if isinstance(parsed, SignatureFile):
            for signature in parsed.signatures:
                wordings.check(signature, path)
                book.signatures[signature.id] = signature
            book.symptoms.update((message.id, message.rule()) for message in parsed.symptoms)
        elif isinstance(parsed, SymptomRule):
            book.symptoms[parsed.id] = parsed
        elif isinstance(parsed, Cause):
            book.causes[parsed.id] = parsed
        elif isinstance(parsed, Remedy):
            book.remedies[parsed.id] = parsed
        elif isinstance(parsed, Family):
            book.families[parsed.id] = parsed
        elif isinstance(parsed, Quantities):
            book.quantities[parsed.id] = parsed
        elif isinstance(parsed, Typical):
            book.typical[parsed.id] = parsed
        elif isinstance(parsed, Experience):
            book.experience[parsed.id] = parsed
        else:
            book.frameworks[parsed.id] = parsed
    return formerly.adopted(msgspec.structs.replace(book, symptoms=dict(sorted(book.symptoms.items()))))


def parse(path: Path, blob: bytes) -> RuleFile:
    """Checks one rule file; its folder tells what it is.

    Raises:
        RuleError: with file, line and the nearest valid word.
    """
    kind = FOLDERS.get(path.parent.name)
    if kind is None:
        raise RuleError(
            f"a rule lies in one of the folders {', '.join(FOLDERS)}, not in {path.parent.name!r}", file=path
        )
    parsed = convert(path, blob, kind, _older_forms)
    if isinstance(parsed, SymptomRule):
        try:
            for when in parsed.when.walk():
                when.form()
        except ValueError as error:
            raise RuleError(str(error), file=path, line=line_of(path, blob, ("when",))) from error
    for route, problem in _misfits(parsed):
        raise RuleError(problem, file=path, line=line_of(path, blob, route))
    name = parsed.subsystem if isinstance(parsed, SignatureFile) else parsed.id
    if name != path.stem:
        raise RuleError(f"the id {name!r} differs from the file name", file=path, line=1)
    return parsed


def _older_forms(tree: dict[str, Any]) -> dict[str, Any]:
    """A leak with its interval, `{p, low, high, basis}`, counts as the number `p`: rules of users may still
    have it."""
    leak = tree.get("leak")
    return {**tree, "leak": leak["p"]} if isinstance(leak, dict) and "p" in leak else tree


def _misfits(parsed: RuleFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with the expressions of a file by itself."""
    yield from conditions.misfits(parsed)
    if isinstance(parsed, SymptomRule):
        yield from relations.misfits(parsed)
