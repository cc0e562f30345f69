"""What is understood of a template: which of its numbers count, which are values, and by what names."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from hrmdoc.readers.log.grammar.words import CounterKind

_NETS = frozenset("g d gen dis disc generator discriminator lr".split())  # noqa: SIM905
ORDINAL = "{}"
"""Stands in a name for the number that is part of it."""


class Counter(Struct, frozen=True):
    """A counter: positions of its value and its total among the line's numbers."""

    kind: CounterKind
    at: int
    total: int | None


class Measure(Struct, frozen=True):
    """A named value: its position, what it is multiplied by, and the position of its denominator.

    `label` is the position of a number that belongs to the name, which holds `ORDINAL` in its place: `top 1
    acc: 0.4`. `seconds` is the position of what is added to the minutes: `Time: 1m 24s`.
    """

    name: str
    at: int
    scale: float = 1.0
    over: int | None = None
    label: int | None = None
    seconds: int | None = None


class Plan(Struct, frozen=True):
    """How to read the lines of one template.

    Attributes:
        counters: step-like counters, in order.
        measures: named values, in order.
        strong: one of the measures bears a word that logs use for measures.
        bare: nothing but counters and punctuation.
        split: the split that the words before the first measure name, if any.
        shape: what makes two lines alike.
        leading: the line starts like a metric line: it is neither prose nor a command.
        simple: name and position of every measure, when none is scaled or divided; else empty.
        whole: the line is measures and their values, and not a word or a number more.
        pure: so it is, and one of them is a result.
        labels: positions of the numbers that belong to names; `with_labels` puts them there.
        numbered: they are there: the plan is of this line alone.
        free: digits between the numbers have no meaning.
    """

    counters: tuple[Counter, ...]
    measures: tuple[Measure, ...]
    strong: bool
    bare: bool
    split: str | None
    shape: tuple[str, ...]
    leading: bool
    simple: tuple[tuple[str, int], ...]
    whole: bool
    pure: bool
    labels: tuple[int, ...] = ()
    numbered: bool = False
    free: bool = False


@lru_cache(maxsize=1024)
def of_stage(plan: Plan, stage: str) -> Plan:
    """The plan where a heading said which of two nets is trained: its name stands before measures that name
    none."""
    names = {
        measure.name: f"{stage} {measure.name}"
        for measure in plan.measures
        if _NETS.isdisjoint(measure.name.lower().replace("_", " ").split())
    }
    return replace(
        plan,
        measures=tuple(replace(one, name=names.get(one.name, one.name)) for one in plan.measures),
        shape=tuple(names.get(part, part) for part in plan.shape),
        simple=tuple((names.get(name, name), at) for name, at in plan.simple),
    )


def with_labels(plan: Plan, numbers: list[str]) -> Plan:
    """The plan with numbers of a line in its names. One of three digits and more is no part of a name, but a
    count."""
    filled: dict[str, str] = {}
    measures = []
    for measure in plan.measures:
        name = measure.name
        if measure.label is not None:
            label = numbers[measure.label]
            name = " ".join(
                name.replace(ORDINAL, label if label.isdigit() and len(label) <= 2 else "").split()
            )
            filled[measure.name] = name
        measures.append(replace(measure, name=name))
    shape = tuple(filled.get(part, part) for part in plan.shape)
    simple = tuple((measure.name, measure.at) for measure in measures) if plan.simple else ()
    return replace(plan, measures=tuple(measures), shape=shape, simple=simple, labels=(), numbered=True)
