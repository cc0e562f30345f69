"""Which rule, cause, remedy, playbook section and test carries each row of the documents that hrmdoc encodes.

The table is data (`coverage.yaml`); `python -m benchmarks.coverage` writes it as `coverage.md`. `problems`
tells what in it is not so: an id, an anchor, a phrase, a threshold or a test that does not exist.
tests/test_coverage.py keeps that list empty.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hrmdoc import rulebook
from hrmdoc.examination.cases import load_cases
from hrmdoc.reports.pages import sections
from hrmdoc.rulebook import Rulebook

HERE = Path(__file__).parent
ROOT = HERE.parent
CASES = ROOT / "tests" / "rules"
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")


class Row(Struct, forbid_unknown_fields=True, frozen=True):
    """One row of a document.

    Attributes:
        where: its section there.
        says: what it says, in our words.
        thresholds: rule or remedy -> numbers that must stand in it.
        words: playbook page -> phrases that must stand on it.
        note: where we do otherwise, and why.
    """

    where: str
    says: str
    symptoms: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    playbook: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    thresholds: dict[str, tuple[float, ...]] = {}
    words: dict[str, tuple[str, ...]] = {}
    note: str = ""


class Document(Struct, forbid_unknown_fields=True, frozen=True):
    """A document that hrmdoc encodes, row by row."""

    title: str
    scope: str
    rows: tuple[Row, ...]


class Detection(Struct, forbid_unknown_fields=True, frozen=True):
    """A detection that some published tool makes, and the rules that make it here; `outside` says why there
    is none."""

    says: str
    number: int = 0
    symptoms: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    outside: str = ""
    note: str = ""


class Names(Struct, forbid_unknown_fields=True, frozen=True):
    """Ids that must exist, since documents and users name them."""

    symptoms: tuple[str, ...]
    causes: tuple[str, ...]


class Coverage(Struct, forbid_unknown_fields=True, frozen=True):
    """coverage.yaml"""

    documents: tuple[Document, ...]
    detections: tuple[Detection, ...]
    blind_spots: tuple[Detection, ...]
    ids: Names


def load(path: Path = HERE / "coverage.yaml") -> Coverage:
    """The table as data."""
    from ruamel.yaml import YAML

    return msgspec.convert(YAML(typ="safe", pure=True).load(path.read_text("utf-8")), Coverage)


def problems(coverage: Coverage, book: Rulebook) -> list[str]:
    """What the table names and is not there, one message each."""
    found = [f"no symptom {name!r}" for name in coverage.ids.symptoms if name not in book.symptoms]
    found += [f"no cause {name!r}" for name in coverage.ids.causes if name not in book.causes]
    for document in coverage.documents:
        for row in document.rows:
            found += [f"{document.title}, {row.where}, {row.says}: {what}" for what in _row(row, book)]
    for one in (*coverage.detections, *coverage.blind_spots):
        found += [f"detection {one.number} {one.says}: {what}" for what in _detection(one, book)]
    return found


def _row(row: Row, book: Rulebook) -> Iterator[str]:
    if not (row.symptoms or row.causes or row.remedies or row.playbook or row.code):
        yield "nothing carries it"
    if not (row.tests or row.symptoms or row.words):
        yield "no test, case or phrase shows it"
    yield from _ids(row.symptoms, row.causes, row.remedies, book)
    yield from _links(row, book)
    yield from _places(row.code, row.tests)
    yield from (f"no playbook section {place!r}" for place in row.playbook if not _section(place))
    for name, numbers in row.thresholds.items():
        stated = numbers_of(name, book)
        yield from (f"{name} does not state {number:g}" for number in numbers if number not in stated)
    for page, phrases in row.words.items():
        yield from (f"{page} does not say {phrase!r}" for phrase in phrases if phrase not in _page(page))


def _detection(one: Detection, book: Rulebook) -> Iterator[str]:
    if bool(one.outside) == bool(one.symptoms or one.code):
        yield "either something makes it, or it says why nothing does"
    yield from _ids(one.symptoms, one.causes, (), book)
    yield from _places(one.code, one.tests)


def _ids(
    symptoms: Iterable[str], causes: Iterable[str], remedies: Iterable[str], book: Rulebook
) -> Iterator[str]:
    yield from (f"no symptom {name!r}" for name in symptoms if name not in book.symptoms)
    yield from (
        f"no case that shows {name!r}" for name in symptoms if name in book.symptoms and not case_of(name)
    )
    yield from (f"no cause {name!r}" for name in causes if name not in book.causes)
    yield from (f"no remedy {name!r}" for name in remedies if name not in book.remedies)


def _links(row: Row, book: Rulebook) -> Iterator[str]:
    """Cause and symptom, remedy and cause belong together in the rules as they do in the row."""
    causes = [book.causes[name] for name in row.causes if name in book.causes]
    for cause in causes:
        if row.symptoms and not set(row.symptoms) & set(cause.produces):
            yield f"{cause.id} produces none of {', '.join(row.symptoms)}"
    offered = {name for cause in causes for name in cause.remedies}
    yield from (
        f"no cause of the row offers {name!r}" for name in row.remedies if causes and name not in offered
    )


def _places(code: Iterable[str], tests: Iterable[str]) -> Iterator[str]:
    yield from (f"no file {name!r}" for name in code if not (ROOT / name).is_file())
    for test in tests:
        file, _, name = test.partition("::")
        if name not in _functions(file):
            yield f"no test {test!r}"


@cache
def _functions(file: str) -> frozenset[str]:
    path = ROOT / file
    tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module([], [])
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@cache
def case_of(symptom: str) -> str:
    """Title of the first case in which the symptom shows, "" when there is none."""
    path = CASES / f"{symptom}.yaml"
    if not path.is_file():
        return ""
    return next((case.title for case in load_cases(path).cases if case.expect in ("present", "resolved")), "")


def _section(place: str) -> bool:
    page, _, anchor = place.partition("#")
    return any(not anchor or section.anchor == anchor for section in sections(page))


@cache
def _page(page: str) -> str:
    return "\n".join(f"{section.title}\n{section.text}" for section in sections(page))


def numbers_of(name: str, book: Rulebook) -> set[float]:
    """Every number that a symptom rule or a remedy states as a threshold, a bound or a value."""
    found: set[float] = set()
    if name in book.symptoms:
        rule = book.symptoms[name]
        found |= _numbers(msgspec.to_builtins(rule.when)) | _numbers(msgspec.to_builtins(rule.variants))
    if name in book.remedies:
        found |= _numbers(msgspec.to_builtins(book.remedies[name].changes))
    return found


def _numbers(tree: Any) -> set[float]:
    if isinstance(tree, dict):
        return {number for inner in tree.values() for number in _numbers(inner)}
    if isinstance(tree, list | tuple):
        return {number for inner in tree for number in _numbers(inner)}
    if isinstance(tree, str):
        return {float(word) for word in NUMBER.findall(tree)}
    return {float(tree)} if isinstance(tree, int | float) and not isinstance(tree, bool) else set()


def markdown(coverage: Coverage) -> str:
    """The whole page."""
    return "\n".join(_lines(coverage)) + "\n"


def _lines(coverage: Coverage) -> Iterator[str]:
    rows = sum(len(document.rows) for document in coverage.documents)
    yield "# What the documents say, and what carries it\n"
    yield (
        f"Written by `python -m benchmarks.coverage` from `coverage.yaml`: {rows} rows of {len(coverage.documents)} documents. "
        "A test fails when a name, a threshold, a phrase or a test in this table does not exist.\n"
    )
    for document in coverage.documents:
        yield f"## {document.title}\n\n{document.scope}.\n"
        yield "| where | what it says | symptom | cause | remedy | playbook, code | test or case |"
        yield "|---|---|---|---|---|---|---|"
        yield from (_table_row(row) for row in document.rows)
        yield ""
    yield "## Detections of published tools\n"
    yield "What tools and papers detect, and the rule that does it here.\n"
    yield "| | detection | symptom | case | remark |\n|---|---|---|---|---|"
    yield from (_detection_row(one, str(one.number)) for one in coverage.detections)
    yield "\n### Blind spots of the others\n"
    yield "| | detection | symptom | case | remark |\n|---|---|---|---|---|"
    yield from (_detection_row(one, str(number)) for number, one in enumerate(coverage.blind_spots, 1))


def _table_row(row: Row) -> str:
    says = row.says + (f" ({row.note})" if row.note else "")
    places = [*row.playbook, *row.code]
    return _cells(
        row.where,
        says,
        _code(row.symptoms),
        _code(row.causes),
        _code(row.remedies),
        _code(places),
        _shown(row),
    )


def _detection_row(one: Detection, number: str) -> str:
    carried = _code([*one.symptoms, *one.causes, *one.code])
    remark = one.outside or "; ".join(filter(None, (one.note, _code(one.tests))))
    return _cells(number, one.says, carried or "-", _case(one.symptoms), remark)


def _shown(row: Row) -> str:
    named = [f"`{test.partition('::')[2]}`" for test in row.tests]
    case = _case(row.symptoms)
    return ", ".join([*named, *([case] if case and not named else [])]) or "phrases on the page"


def _case(symptoms: Iterable[str]) -> str:
    first = next(iter(symptoms), "")
    return f'case "{case_of(first).replace("`", "")}"' if first else ""


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def main() -> int:
    """Writes coverage.md; status 1 when the table names what is not there."""
    coverage, book = load(), rulebook.load()
    wrong = problems(coverage, book)
    sys.stderr.writelines(f"{what}\n" for what in wrong)
    (HERE / "coverage.md").write_text(markdown(coverage), "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
