"""What a config file says: its values as facts, and the framework in whose words it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from hrmdoc.errors import InputError, PatchError
from hrmdoc.record.records import Fact, Value
from hrmdoc.record.run import Run
from hrmdoc.remedies import files
from hrmdoc.remedies.editors.document import Document, Leaf, dotted
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.python_edit import is_config
from hrmdoc.remedies.editors.scalars import Kind, read
from hrmdoc.roles.framework import markers_of
from hrmdoc.rulebook import Framework, Rulebook

_LOGS = (".log", ".out", ".err")
_TABLES = (".jsonl", ".csv", ".tsv")
_TELLING = frozenset({"optimizer.lr", "data.micro_batch_size", "data.batch_size"})
_SURE = 2
"""So many marks of a framework in a config say that it is written for it, whatever the log looks like."""


def config_facts(path: Path) -> Iterator[Fact]:
    """Every value of the file as a fact in the framework's own words; and `config.read` where what it leaves
    out is not set.

    Of a program, most settings cannot be seen, so that nothing follows from their absence.

    Raises:
        InputError: the file cannot be read or is not in a known format.
    """
    if path.suffix.lower() in _LOGS and path.exists():
        raise InputError("is a log, not a config", file=path, hint=f"hrmdoc analyze {path}")
    if path.suffix.lower() in _TABLES:
        raise InputError("is data, not a config", file=path, hint="hrmdoc preflight [CONFIG] --data FILE")
    try:
        source = files.read(path)
        document = parse(str(path), source.text)
    except PatchError as error:
        raise InputError(error.what, file=error.file, line=error.line, hint=error.hint) from error
    yield from facts_of(document, str(path))
    if path.suffix != ".py" or is_config(source.text):
        yield Fact("config.read", True, file=str(path))


def _typed(leaf: Leaf) -> Value:
    """The value with the type that its text says; words stay words."""
    kinds: tuple[Kind, ...] = (
        ("int", "float", "bool") if leaf.text.lower() not in {"y", "n", "0", "1"} else ("int",)
    )
    if leaf.tag in {"{}", "[]"}:
        return leaf.tag
    for kind in kinds:
        try:
            return read(leaf.text, kind)
        except ValueError:
            continue
    return leaf.text


def facts_of(document: Document, name: str) -> Iterator[Fact]:
    """Every value of a document as a fact of the file `name`."""
    for route, leaf in document.leaves.items():
        yield Fact(dotted(route), _typed(leaf), "config", name, leaf.line)


def framework_of(paths: Iterable[Path], book: Rulebook, logged: Framework | None = None) -> Framework | None:
    """The framework that the config files are written for, by the keys in them; None where that is open.

    Args:
        logged: the framework of the run's log. Of files that bear none of its keys, a single mark of another
            one is enough.
    """
    run = Run("")
    for path in paths:
        try:
            run.extend(fact for fact in config_facts(path) if fact.scope == "config")
        except InputError:
            continue  # the planner says what is wrong with it
    counted = [(markers_of(run, one), one.id) for one in book.frameworks.values()]
    marks, name = max(counted, default=(0, ""))
    level = sum(found == marks for found, _ in counted)
    foreign = logged is not None and marks > 0 and not _speaks(logged, run)
    return book.frameworks[name] if level == 1 and (marks >= _SURE or foreign) else None


def _speaks(framework: Framework, run: Run) -> bool:
    """Whether the settings of a run are in the words of a framework, beside those that many have."""
    held = {key for scope, key in run.facts if scope == "config"}
    return markers_of(run, framework) > 0 or any(
        name in held
        for key, spelling in framework.config.items()
        if key in _TELLING
        for name in spelling.keys
    )
