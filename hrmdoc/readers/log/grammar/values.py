"""The numbers of a line whose template is understood: its position and its named values."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hrmdoc.readers.log.grammar.plan import Measure, Plan
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.grammar.words import RESTARTS
from hrmdoc.text import patterns

MOST_STEPS = 1e18
"""What is larger is no count of steps, and does not fit in 64 bits."""

_ENDS_WITH_NAN = patterns.lazy(r"(?i)nan(?:, (?:device|dtype|grad_fn)=[^,)]{1,60}){0,3}\)?\s{0,8}\Z")


def number(text: str) -> float:
    """A number as logs write it: `1,024`, `nan.0`, `-inf`."""
    try:
        return float(text)
    except ValueError:
        return float(text.replace(",", "").removesuffix(".0"))


def values_of(plan: Plan, numbers: list[str]) -> list[tuple[str, float]]:
    """The named values of a line."""
    if plan.simple:
        try:
            return [(name, float(numbers[at])) for name, at in plan.simple]
        except ValueError:
            pass  # 1,024 or nan.0
    return [(measure.name, _scaled(numbers, measure)) for measure in plan.measures]


def position_of(plan: Plan, numbers: list[str]) -> Position:
    """The position that the counters of a line give; a counter with a fraction is none."""
    epoch = epochs = step = total = None
    restarts: bool | None = None
    for counter in plan.counters:
        value = _whole(numbers[counter.at])
        if value is None:
            continue
        if counter.kind == "epoch":
            epoch = value
            epochs = None if counter.total is None else _whole(numbers[counter.total])
        elif step is None or (RESTARTS.get(counter.kind) is False and restarts is not False):
            step = value
            total = None if counter.total is None else _whole(numbers[counter.total])
            restarts = RESTARTS.get(counter.kind)
    return Position(epoch, step, total, restarts, epochs)


def totals_of(position: Position) -> Iterator[tuple[str, int]]:
    """Facts that the totals of the counters state."""
    if position.epochs:
        yield "run.epochs", position.epochs
    if position.total and position.restarts:
        yield "run.steps_per_epoch", position.total
    elif position.total and position.epoch is None:
        yield "run.total_steps", position.total


def _whole(text: str) -> int | None:
    digits = text.replace(",", "") if "," in text else text
    return int(digits) if digits.isdigit() and len(digits) < 18 else None


def _scaled(numbers: list[str], measure: Measure) -> float:
    value = number(numbers[measure.at]) * measure.scale
    if measure.seconds is not None:
        return value + number(numbers[measure.seconds])
    return value if measure.over is None else value / (number(numbers[measure.over]) or 1.0)


def alarming(values: list[tuple[str, float]], text: str) -> bool:
    """Whether one line is enough: `The grad norm is inf. Skipping the update.`, `train_loss nan` of an epoch
    that was the last.

    The best loss so far is infinite before there is any; and a sentence may go on behind a NaN.
    """
    broken = [(name.lower(), value) for name, value in values if not math.isfinite(value)]
    if len(values) == 1 and broken and "norm" in broken[0][0]:
        return True
    lost = any("loss" in name and math.isnan(value) for name, value in broken)
    return lost and (len(values) > 1 or _ENDS_WITH_NAN.search(text) is not None)
