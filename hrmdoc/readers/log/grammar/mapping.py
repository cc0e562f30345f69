"""Reads a printed mapping, `{'loss': 2.1, 'epoch': 0.3}`, with numbers or, in newer versions, strings."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hrmdoc.readers.log.grammar.words import measures, split_of
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|nan|NaN|inf|Infinity)"
_PAIR = patterns.lazy(
    rf"""["']([^"'{{}}\n]{{1,120}})["']\s{{0,8}}:\s{{0,8}}(?:(?:np\.)?(?:tensor|array|float\d\d|float\d\d_|int\d\d)\((?:\[(?=[^,\]]{{1,40}}(?:,[^,\]]{{1,40}}){{0,9}}\]))?)?(["']?)({_NUMBER})\2(?=\s*[,}})\]])"""
)
"""Of a few values in an array, as for one k each, the first counts."""
_BRACE = patterns.lazy(r"""(?:["']([^"'{}\n]{1,120})["']\s{0,8}:\s{0,8})?\{|\}""")
_ALONE = patterns.lazy(_NUMBER)
_KEY = patterns.lazy(r"[^\"'{}\n]{1,120}")
_RATIO = patterns.lazy(
    r"""["'](?:global_step/max_steps|current_steps/total_steps)["']\s?:\s?["'](\d+)/(\d+)["']"""
)
_STEP_KEYS = (
    "step",
    "global_step",
    "_step",
    "iter",
    "iteration",
    "current_steps",
    "num_updates",
    "trainer/global_step",
)
TOTAL_KEYS = ("total_steps", "max_steps")
_COUNTER_KEYS = (*_STEP_KEYS, *TOTAL_KEYS)
_END_KEYS = ("train_runtime",)
_OF_A_STEP = frozenset({"loss", "eval_loss"})
"""What a summary has not: a trainer that counts tokens writes its run time with every record."""
_NOT_MEASURES = ("percentage", "total_flos")
_CERTAIN = (
    {"eval_loss", "eval_runtime"},
    {"loss", "grad_norm"},
    {"loss", "learning_rate"},
    {"loss", "reward"},
)
_FLOATS = {float}


class Shape(Struct, frozen=True):
    """What the keys of a mapping show by themselves; logs repeat a few sets of keys for ever.

    Attributes:
        counters: keys of steps and totals that are there.
        closing: it is the summary at the end of a training.
        evaluation: its measures are of an evaluation.
        measured: one of its keys bears a word that logs use for measures.
        other: its keys that name no measure.
        certain: nothing but a trainer prints these keys beside each other, so that one record is believed.
    """

    counters: tuple[str, ...]
    closing: bool
    evaluation: bool
    measured: bool
    other: frozenset[str]
    certain: bool


class Mapping(Struct):
    """One printed mapping: numbers by key, the step on it, whether numbers were quoted, and the epoch of the
    log below which the results of an evaluation stand."""

    values: dict[str, float]
    shape: Shape
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    quoted: bool = False
    below: int | None = None


@lru_cache(maxsize=1024)
def _shape_of(keys: tuple[str, ...]) -> Shape:
    names = [key for key in keys if key not in _COUNTER_KEYS]
    evaluation = "loss" not in names and any(key.startswith("eval_") for key in names)
    return Shape(
        counters=tuple(key for key in _COUNTER_KEYS if key in keys),
        closing=any(key in names for key in _END_KEYS) and _OF_A_STEP.isdisjoint(names),
        evaluation=evaluation,
        measured=any(measures(key) for key in names),
        other=frozenset(key for key in names if key in _NOT_MEASURES or (evaluation and key == "epoch")),
        certain=any(pair.issubset(names) for pair in _CERTAIN),
    )


def mapping_of(text: str) -> Mapping | None:
    """The mapping in `text`, wherever it stands; None when there is none with two numbers."""
    start = text.find("{")
    if start < 0:
        return None
    values, quoted = _flat(text[start:] if start else text) or _pairs(text, start)
    if not values:
        return None
    mapping = Mapping(values, _shape_of(tuple(values)), epoch=values.get("epoch"), quoted=quoted)
    if "_steps" in text and (ratio := _RATIO.search(text, start)):
        mapping.step, mapping.total = int(ratio.group(1)), int(ratio.group(2))
    _take_counters(mapping)
    return mapping


def of_split(mapping: Mapping, split: str, epoch: int | None) -> None:
    """Says of a mapping whose keys do not tell it that its measures are of a part of the data, and below
    which epoch of the log it stands."""
    mapping.below = epoch
    mapping.values = {
        key if split_of(key) else f"{split}_{key}": value for key, value in mapping.values.items()
    }
    mapping.shape = replace(_shape_of(tuple(mapping.values)), evaluation=True)


def places_of(text: str) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """The keys of `mapping_of` and where their numbers stand, if it is flat."""
    pairs = list(_PAIR.finditer(text))
    return tuple(pair.group(1) for pair in pairs), [pair.span(3) for pair in pairs]


def mapping_from(keys: tuple[str, ...], numbers: list[str], *, quoted: bool) -> Mapping:
    """A mapping whose keys are known from another one."""
    values = {key: float(number.replace("_", "")) for key, number in zip(keys, numbers, strict=True)}
    mapping = Mapping(values, _shape_of(keys), epoch=values.get("epoch"), quoted=quoted)
    if mapping.shape.counters:
        _take_counters(mapping)
    return mapping


def _take_counters(mapping: Mapping) -> None:
    """Counters are no values; whole ones give the step and the total."""
    values = mapping.values
    for key in mapping.shape.counters:
        value = values.pop(key)
        if not value.is_integer():
            continue
        if key in TOTAL_KEYS:
            mapping.total = int(value) if mapping.total is None else mapping.total
        elif mapping.step is None:
            mapping.step = int(value)


def _pairs(text: str, start: int) -> tuple[dict[str, float], bool]:
    """Keys with their numbers, whatever stands between them, and whether a number was quoted."""
    pairs = _PAIR.findall(text, start)
    keys = [key for key, _, _ in pairs] if text.count("{", start) < 2 else _keys_within(text, start)
    values = {key: float(number.replace("_", "")) for key, (_, _, number) in zip(keys, pairs, strict=True)}
    return values, any(quote for _, quote, _ in pairs)


def _keys_within(text: str, start: int) -> list[str]:
    """The keys of all pairs behind those of the mappings they stand in: `{'val': {'loss': 1}}` has
    `val/loss`."""
    braces = deque(_BRACE.finditer(text, start))
    within: list[str] = []
    keys = []
    for pair in _PAIR.finditer(text, start):
        while braces and braces[0].start() < pair.start():
            brace = braces.popleft()
            if brace.group() != "}":
                within.append(brace.group(1) or "")
            elif within:
                within.pop()
        keys.append("/".join([*filter(None, within), pair.group(1)]))
    return keys


def _flat(text: str) -> tuple[dict[str, float], bool] | None:
    """The same for a mapping that is JSON but for its quotes and ends the line, ten times as fast; None for
    any other."""
    if "\\" in text:
        return None
    try:
        found = orjson.loads(text.replace("'", '"'))
    except orjson.JSONDecodeError:
        return None
    if not _known_keys(tuple(found)):
        return None
    if set(map(type, found.values())) == _FLOATS:
        return found, False
    values: dict[str, float] = {}
    quoted = False
    for key, value in found.items():
        if type(value) is float or type(value) is int:
            values[key] = float(value)
        elif type(value) is not str:
            return None
        elif _ALONE.fullmatch(value):
            values[key] = float(value.replace("_", ""))
            quoted = True
    return values, quoted


@lru_cache(maxsize=1024)
def _known_keys(keys: tuple[str, ...]) -> bool:
    """Whether these are keys that `_PAIR` takes as well."""
    return all(_KEY.fullmatch(key) for key in keys)
