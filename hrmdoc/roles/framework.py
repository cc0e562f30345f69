"""Which framework wrote a run, recognised by the markers in rules/frameworks/*.yaml.

A marker is `metric:NAME`, `config:KEY,KEY` (all of these keys; one that ends with a dot is a section),
`file:NAME`, `format:READER`, `version:PACKAGE`, text of a log line, `columns:NAME,NAME`: a table that begins
with these, or `table:NAME,NAME`: a table by epoch, counted from 0, whose other columns stand in alphabetical
order, those named among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.rulebook import Framework, Rulebook

_BASES = ("generic", "hf-trainer", "lightning", "keras", "deepspeed")  # others build on them, so these yield
_KINDS = frozenset({"metric", "config", "file", "format", "version", "columns", "table"})


class Detected(NamedTuple):
    """A framework's id, or None, and why."""

    id: str | None
    reason: str


def detect(run: Run, book: Rulebook) -> Detected:
    """The framework with the most markers; one that builds on another wins over it when they are level."""
    stated = run.fact("run.framework")
    if stated is not None and stated.value in book.frameworks and stated.value not in _BASES:
        return Detected(str(stated.value), f"{stated.file or 'the run'} names it")
    name, found = _most_marked(run, book)
    if name and (stated is None or name not in _BASES):
        return Detected(name, f"it shows {', '.join(_shown_marker(marker) for marker in found[:3])}")
    if stated is not None and isinstance(stated.value, str):
        return Detected(stated.value, f"{stated.file or 'the run'} names it")
    return Detected(None, "no framework left a mark")


def _most_marked(run: Run, book: Rulebook) -> tuple[str, list[str]]:
    """The framework of which the run shows the most markers, and those; "" where it shows none of any."""
    evidence = _Evidence(run)
    counted = [(one.id, [m for m in one.markers if evidence.holds(m)]) for one in book.frameworks.values()]
    most = max(counted, key=lambda pair: (len(pair[1]), pair[0] not in _BASES, pair[0]), default=("", []))
    name, found = most
    return (name, found) if found else ("", [])


def markers_of(run: Run, framework: Framework) -> int:
    """How many of a framework's marks the run shows."""
    evidence = _Evidence(run)
    return sum(evidence.holds(marker) for marker in framework.markers)


def _shown_marker(marker: str) -> str:
    kind, _, rest = marker.partition(":")
    return f"{kind} {rest}" if kind in _KINDS else repr(marker)


class _Evidence:
    def __init__(self, run: Run) -> None:
        self._metrics = {key.metric for key in run.series}
        self._keys = {key for scope, key in run.facts if scope == "config"}
        self._packages = {key for scope, key in run.facts if scope == "version"}
        files = {fact.file for fact in run.facts.values()} | {
            file for series in run.series.values() for file in series.files
        }
        self._files = {file.replace("\\", "/") for file in files}
        self._formats = set(run.formats)
        self._tables = list(_epoch_tables(run)) if "csv" in self._formats else []
        self._columns = list(_columns(run)) if "csv" in self._formats else []
        self._text = "\n".join(line.text for line in run.lines[:2000])

    def holds(self, marker: str) -> bool:
        kind, _, rest = marker.partition(":")
        if kind == "metric":
            return rest in self._metrics
        if kind == "config":
            return all(self._has_key(key) for key in rest.split(","))
        if kind == "version":
            return rest in self._packages
        if kind == "format":
            return rest in self._formats
        if kind == "table":
            return any(table.issuperset(rest.split(",")) for table in self._tables)
        if kind == "columns":
            return any(names.startswith(f"{rest},") for names in self._columns)
        if kind == "file":
            return any(file == rest or file.endswith("/" + rest) for file in self._files)
        return marker in self._text

    def _has_key(self, key: str) -> bool:
        return key in self._keys or (key.endswith(".") and any(one.startswith(key) for one in self._keys))


def _epoch_tables(run: Run) -> Iterator[set[str]]:
    """The columns of each table by epoch from 0 on that stand in alphabetical order. Series keep the order of
    their columns."""
    columns: dict[str, list[str]] = {}
    for key, series in run.series.items():
        if series.axis == "epoch" and (
            key.source in columns or (key.metric == "epoch" and int(series.steps[0]) == 0)
        ):
            columns.setdefault(key.source, []).append(key.metric)
    return (set(names) for names in columns.values() if names[1:] == sorted(names[1:]))


def _columns(run: Run) -> Iterator[str]:
    """The names of the columns of each source, in order, each with a comma behind it."""
    found: dict[str, str] = {}
    for key in run.series:
        found[key.source] = f"{found.get(key.source, '')}{key.metric},"
    return iter(found.values())


def chain(name: str | None, book: Rulebook) -> list[Framework]:
    """The framework, those it builds on, and then all others: the order in which config keys are looked
    up."""
    first = [name] if name in book.frameworks else []
    bases = [base for base in _BASES if base in book.frameworks and base not in first]
    if name in ("trl", "axolotl", "unsloth", "llama-factory", "ms-swift"):
        bases.sort(key=lambda base: base != "hf-trainer")
    elif name == "nemo":
        bases.sort(key=lambda base: base != "lightning")
    else:
        bases.sort(key=lambda base: base != "generic")
    rest = sorted(one for one in book.frameworks if one not in first and one not in bases)
    return [book.frameworks[one] for one in (*first, *bases, *rest) if one is not None]
