"""Settings that cannot be: no training has a rate of zero or below, a batch of nothing, a negative decay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hrmdoc.record.records import Fact, Value
from hrmdoc.roles.nested import ANYWHERE, is_elsewhere, loose, nested
from hrmdoc.rulebook import Framework, Rulebook

FACT = "config.impossible"
_NO_NUMBERS = frozenset({"nan", ".nan", "inf", ".inf", "-inf", "-.inf", "infinity", "+inf"})
_MOST = 5


class Limit(NamedTuple):
    """What a setting may be: at least, at most, and whether the least itself is too little. `off` is a value
    by which programs say that it does not count."""

    least: float
    most: float = math.inf
    above: bool = False
    off: float = math.nan

    def forbids(self, value: float) -> bool:
        """Whether no training can have this value."""
        if value == self.off:
            return False
        return not (self.least < value if self.above else self.least <= value) or value > self.most

    def __str__(self) -> str:
        low = f"above {self.least:g}" if self.above else f"at least {self.least:g}"
        return low if math.isinf(self.most) else f"{low} and at most {self.most:g}"


_POSITIVE, _WHOLE, _SHARE = Limit(0, above=True), Limit(1, off=-1), Limit(0, 1)
LIMITS: Mapping[str, Limit] = {
    "optimizer.lr": _POSITIVE,
    "optimizer.weight_decay": Limit(0),
    "optimizer.momentum": _SHARE,
    "optimizer.beta1": _SHARE,
    "optimizer.beta2": _SHARE,
    "schedule.warmup_steps": Limit(0, off=-1),
    "schedule.warmup_ratio": Limit(0, 1),
    "data.batch_size": _WHOLE,
    "data.micro_batch_size": _WHOLE,
    "data.grad_accum": _WHOLE,
    "data.seq_len": _WHOLE,
    "data.num_workers": Limit(0, off=-1),
    "run.epochs": Limit(0, above=True, off=-1),
    "run.total_steps": Limit(0, above=True, off=-1),
    "model.dropout": _SHARE,
    "model.layers": _WHOLE,
    "model.hidden_size": _WHOLE,
    "model.num_heads": _WHOLE,
    "train.label_smoothing": _SHARE,
}
"""By canonical key. That a share of one makes no sense either is for other rules to say."""
_INSTEAD = {"run.epochs": "run.total_steps", "run.total_steps": "run.epochs"}
"""Of these two, 0 says that the other one counts."""


def impossible_facts(known: Mapping[str, Fact], book: Rulebook) -> Iterator[Fact]:
    """One fact that names each such setting with its line, standing where the first stands."""
    config = {name: fact for name, fact in known.items() if fact.scope == "config"}
    stated = {key: list(_stated(key, config, book)) for key in LIMITS}
    wrong = {fact.key: (fact, limit) for fact, limit in _wrong(stated)}
    found = sorted(wrong.values(), key=lambda one: one[0].line or 0)
    if found:
        told = [
            f"{fact.key} = {fact.value} ({_place(fact)}) has to be {limit}" for fact, limit in found[:_MOST]
        ]
        more = f"; {len(found) - _MOST} more" if len(found) > _MOST else ""
        first = found[0][0]
        yield Fact(FACT, "; ".join(told) + more, "run", first.file, first.line)


def _wrong(stated: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[Fact, Limit]]:
    """What lies outside its limit; not a zero by which a config says that another setting counts."""
    for key, limit in LIMITS.items():
        others = stated.get(_INSTEAD.get(key, ""), ())
        replaced = any((_number(fact.value) or 0) > 0 for fact in others)
        for fact in stated[key]:
            value = _number(fact.value)
            if value is None or (value == 0 and replaced):
                continue
            if math.isnan(value) or limit.forbids(value):
                yield fact, limit


def _stated(key: str, config: Mapping[str, Fact], book: Rulebook) -> Iterator[Fact]:
    """Where the config says it: in common words, in those of a framework that it bears a mark of, or in a
    section of any name."""
    generic = book.frameworks.get("generic")
    frameworks = [one for one in book.frameworks.values() if _marked(one, config)]
    names = [
        name
        for framework in ([generic] if generic else []) + frameworks
        for name in (framework.config[key].keys if key in framework.config else ())
    ]
    wanted = {loose(name) for name in names}
    found = [name for name in config if loose(name) in wanted and not is_elsewhere(name.rpartition(".")[0])]
    found = found or (nested(names, config) if key in ANYWHERE else [])
    yield from (config[name] for name in found)


def _marked(framework: Framework, config: Mapping[str, Fact]) -> bool:
    marks = (mark.removeprefix("config:") for mark in framework.markers if mark.startswith("config:"))
    return any(all(name in config for name in mark.split(",")) for mark in marks)


def _number(value: Value) -> float | None:
    """The value as a number, NaN for what is written as none; None for words, which a program may know."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return math.nan if value.strip().lower() in _NO_NUMBERS else None
    return float(value) if isinstance(value, int | float) else None


def _place(fact: Fact) -> str:
    return f"{Path(fact.file).name}:{fact.line}" if fact.line else Path(fact.file).name
