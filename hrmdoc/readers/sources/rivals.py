"""Whether files that no name tells apart record several runs: a metric has other values in each of them.

Parts of one run say the same (a console beside its log), or speak of other metrics (`debug.log` beside
`train.log`), or are named as parts; those are told by their names before this is asked.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hrmdoc.readers.sources import beginning, remote
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.support.decode import plain_head
from hrmdoc.text import patterns

_ASKED = 64
"""Files whose beginnings are read again, at most: in larger folders names decide."""
_FEW = 3
"""Values of a metric below which nothing is said of it."""
_MANY = 40
_SHARED = 0.5
"""Two records of one metric are of one run where at least so much of the shorter one stands in the other."""
_KINDS = "loss|acc|reward|return|perplexity|ppl|score|f1|iou|psnr|error|mae|mse|bleu"
_VALUE = patterns.lazy(
    rf"(?P<kind>{_KINDS})\w{{0,40}}['\"]?\s*[:=(|]?\s*(?P<value>[-+]?\d+\.\d+(?:e[-+]?\d+)?)", re.IGNORECASE
)
"""A value in a text log, by the sort of its metric: two programs spell one metric in two ways."""
_METRIC = patterns.lazy(_KINDS, re.IGNORECASE)

_Values = dict[str, list[str]]


def are_rivals(parts: Iterable[Sequence[Source]]) -> bool:
    """Whether the files of at least two parts record the same metric with other values."""
    found = list(parts)
    files = [source for part in found for source in part]
    if len(found) < 2 or len(files) > _ASKED or any(remote.is_remote(one.path) for one in files):
        return False
    recorded = [_of_part(part) for part in found]
    return any(
        _differ(one, other)
        for at, one in enumerate(recorded)
        for other in recorded[at + 1 :]
        if one and other
    )


def _differ(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> bool:
    """Whether they share a metric, and none of those that they share has its values in both."""
    shared = [name for name in one.keys() & other.keys() if min(len(one[name]), len(other[name])) >= _FEW]
    return bool(shared) and all(_apart(one[name], other[name]) for name in shared)


def _apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether few values are the same to three digits: one file may round what the other spells out."""
    fewer, more = sorted(({*map(_rounded, values)} for values in (one, other)), key=len)
    return len(fewer & more) < _SHARED * len(fewer)


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.3g}"
    except ValueError:
        return value


def _of_part(part: Sequence[Source]) -> _Values:
    found: _Values = {}
    for source in part:
        found |= {f"{source.reader} {name}": values for name, values in _of_file(source).items()}
    return found


def _of_file(source: Source) -> _Values:
    """The first values of each metric, as they are spelt; nothing of files that cannot be opened."""
    try:
        head = beginning.read_head(str(source.file))
    except OSError:
        return {}
    text = plain_head(head).decode("utf-8", "replace")
    if source.reader == "csv":
        return _of_table(text)
    found: _Values = defaultdict(list)
    if source.reader in ("text", "jsonl"):
        for match in _VALUE.finditer(text):
            if len(values := found[match["kind"].lower()]) < _MANY:
                values.append(match["value"])
    return found


def _of_table(text: str) -> _Values:
    """The first values of the columns that are named as a metric."""
    lines = text.splitlines()[: _MANY + 1]
    mark = max(",;\t", key=lines[0].count) if lines else ","
    try:
        names, *rows = csv.reader(lines, delimiter=mark) if lines else [[]]
    except csv.Error:
        return {}
    return {
        name.strip().lower(): [row[at] for row in rows if at < len(row) and row[at]]
        for at, name in enumerate(names)
        if _METRIC.search(name)
    }
