"""Whether files that no name tells apart record several runs: a metric has other values in each of them.

Parts of one run say the same (a console beside its log), or speak of other metrics (`debug.log` beside
`train.log`), or are named as parts; those are told by their names before this is asked.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from hrmdoc.readers.sources import beginning, remote
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.support.decode import plain_head
from hrmdoc.text import patterns

_ASKED = 64
"""Files whose beginnings are read again, at most: in larger folders names decide."""
_FEW = 3
"""Values of a metric below which nothing is said of it."""
_MANY = 40
"""Values of it that are compared, of so many that are `_KEPT`: two files may show it in other steps."""
_KEPT = 2000
_SHARED = 0.5
"""Two records of one metric are of one run where at least so much of the shorter one stands in the other."""
_BY_CHANCE = 0.5
"""They may agree by chance where, of what agrees, so much would agree with the value of the next step too."""
_KINDS = "loss|acc|reward|return|perplexity|ppl|score|f1|iou|psnr|error|mae|mse|bleu"
_VALUE = patterns.lazy(
    rf"(?P<kind>{_KINDS})\w{{0,40}}['\"]?\s*[:=(|]?\s*(?P<value>[-+]?\d+\.\d+(?:e[-+]?\d+)?)", re.IGNORECASE
)
"""A value in a text log, by the sort of its metric: two programs spell one metric in two ways."""
_METRIC = patterns.lazy(_KINDS, re.IGNORECASE)
_PLACE = patterns.lazy(
    r"(?P<step>step|iter|iteration|update)s?\b['\"]?\s{0,4}[:=#]?\s{0,4}[\[(]?(?P<count>\d{1,12})"
    r"|epochs?\b['\"]?\s{0,4}[:=#]?\s{0,4}[\[(]?(?P<epoch>\d{1,12})",
    re.IGNORECASE,
)
"""The step of a line, or its epoch."""
_STEP = patterns.lazy(r"(?:.*[_/ ])?(?:step|iter|iteration|epoch|update)s?", re.IGNORECASE)

_Place = tuple[str, int, int]
"""Sort of step, its number, and how many values stand there already."""


class _Values(Struct):
    """The first values of one metric, by the places where they stand, and how exactly they are spelt.

    Attributes:
        decimals, digits: behind the point, and from the first that is no zero on, of the value with most.
    """

    every: dict[_Place, float] = field(default_factory=dict)
    decimals: int = 0
    digits: int = 0
    _seen: Counter[tuple[str, int]] = field(default_factory=Counter)

    def add(self, sort: str, number: int, spelt: str) -> None:
        """One more value, as it is spelt; nothing where that is no number."""
        try:
            value = float(spelt)
        except ValueError:
            return
        if len(self.every) >= _KEPT or not math.isfinite(value):
            return
        self.every[sort, number, self._seen[sort, number]] = value
        self._seen[sort, number] += 1
        mantissa, _, power = spelt.strip().lower().partition("e")
        figures = mantissa.lstrip("+-").replace(".", "")
        self.decimals = max(self.decimals, len(mantissa.partition(".")[2]) - int(power or 0))
        self.digits = max(self.digits, len(figures.lstrip("0")))

    def unit(self, value: float) -> float:
        """What the last digit of such a value is worth."""
        size = math.floor(math.log10(abs(value))) + 1 if value else -self.decimals
        return 10.0 ** max(-self.decimals, size - self.digits)


_Metrics = dict[str, _Values]


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


def _differ(one: Mapping[str, _Values], other: Mapping[str, _Values]) -> bool:
    """Whether a metric that they share has other values in each, and none has the same in both."""
    said = {_same(one[name], other[name]) for name in one.keys() & other.keys()}
    return False in said and True not in said


def _same(one: _Values, other: _Values) -> bool | None:
    """Whether they are values of one curve; None where that cannot be told, as of a rough accuracy."""
    places = one.every.keys() & other.every.keys()
    if len(places) >= _FEW:
        ordered = [place for place in one.every if place in places][:_MANY]
        agree = _share(_alike(one, other, place, place) for place in ordered)
        if agree < _SHARED:
            return False
        next_to = _share(_alike(one, other, *pair) for pair in pairwise(ordered))
        return True if next_to < _BY_CHANCE * agree else None
    fewer, more = sorted((one, other), key=lambda values: len(values.every))
    asked = [*fewer.every][:_MANY]
    if len(asked) < _FEW:
        return None
    found = _share(any(_alike(fewer, more, at, place) for place in [*more.every][:_MANY]) for at in asked)
    few = len({fewer.every[at] for at in asked}) < _SHARED * len(asked)
    return False if found < _SHARED else None if few else True


def _share(answers: Iterable[bool]) -> float:
    found = list(answers)
    return sum(found) / max(len(found), 1)


def _alike(one: _Values, other: _Values, at: _Place, place: _Place) -> bool:
    """Whether two values are the same as far as both are spelt: one file may round, or cut, what the other
    spells out."""
    first, second = one.every[at], other.every[place]
    units = one.unit(first), other.unit(second)
    return first == second or (units[0] != units[1] and abs(first - second) < max(units))


def _of_part(part: Sequence[Source]) -> _Metrics:
    found: _Metrics = {}
    for source in part:
        found |= {f"{source.reader} {name}": values for name, values in _of_file(source).items()}
    return found


def _of_file(source: Source) -> _Metrics:
    """The first values of each metric; nothing of files that cannot be opened."""
    try:
        head = beginning.read_head(str(source.file))
    except OSError:
        return {}
    lines = plain_head(head).decode("utf-8", "replace").splitlines()
    if source.reader == "csv":
        return _of_table(lines[: _KEPT + 1])
    return _of_lines(lines) if source.reader in ("text", "jsonl") else {}


def _of_lines(lines: Iterable[str]) -> _Metrics:
    """Those of a text log, each at the step that its line names, or the last one that was named."""
    found: _Metrics = defaultdict(_Values)
    sort, number = "", 0
    for line in lines:
        named = {place["step"] is not None: place for place in reversed([*_PLACE.finditer(line)])}
        if place := named.get(True) or named.get(False):
            sort, number = ("step", int(place["count"])) if place["step"] else ("epoch", int(place["epoch"]))
        for match in _VALUE.finditer(line):
            found[match["kind"].lower()].add(sort, number, match["value"])
    return found


def _of_table(lines: Sequence[str]) -> _Metrics:
    """Those of the columns that are named as a metric, each at the step of its row."""
    mark = max(",;\t", key=lines[0].count) if lines else ","
    try:
        names, *rows = csv.reader(lines, delimiter=mark) if lines else [[]]
    except csv.Error:
        return {}
    counted = [at for at, name in enumerate(names) if _STEP.fullmatch(name.strip())]
    counted.sort(key=lambda at: "epoch" in names[at].lower())
    found: _Metrics = defaultdict(_Values)
    for row_at, row in enumerate(rows):
        at = next((row[at] for at in counted if at < len(row) and row[at].strip().isdecimal()), "")
        for name, value in zip(names, row, strict=False):
            if _METRIC.search(name):
                found[name.strip().lower()].add("step" if at else "row", int(at or row_at), value)
    return found
