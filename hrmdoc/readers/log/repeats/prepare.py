"""Which columns the readers of many lines need, and which lines of a shape are left to be read one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hrmdoc.readers.log.formats.base import Many
from hrmdoc.readers.log.formats.keras_bar import EpochRedraws
from hrmdoc.readers.log.formats.key_value import Measured
from hrmdoc.readers.log.formats.python_dict import Mappings
from hrmdoc.readers.log.formats.tqdm_bar import ManyRedraws
from hrmdoc.readers.log.grammar.mapping import TOTAL_KEYS, mapping_from
from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.words import EVALUATIONS
from hrmdoc.readers.log.moments import Told
from hrmdoc.readers.log.repeats.columns import Floats
from hrmdoc.readers.log.repeats.numbers import Numbers, Placed
from hrmdoc.readers.log.repeats.rows import Rows

_MOST_STEPS = 1e15


def prepare(rows: Rows, numbers: Numbers) -> bool:
    """Whether lines are of a kind that can be read at once; then their columns are filled in, and
    `numbers.exact` says which of them."""
    return _KINDS[type(rows.many)](rows.many, rows, numbers)


def _measured(many: Measured, rows: Rows, numbers: Numbers) -> bool:
    plan = many.plan
    if plan.bare or not plan.leading or not plan.measures:
        return False
    placed = rows.placed = numbers.placed(plan)
    if plan.split in EVALUATIONS and placed.total is not None and placed.restarts:
        return False
    rows.values = _values(plan, numbers)
    if placed.step is None and placed.epoch is None:
        for measure, (_, values) in zip(plan.measures, rows.values, strict=True):
            if not numbers.constant(measure.at):
                numbers.exact &= np.isfinite(values)
    return True


def _values(plan: Plan, numbers: Numbers, first: int = 0) -> list[tuple[str, Floats]]:
    found = []
    for measure in plan.measures:
        values = numbers.floats(first + measure.at) * measure.scale
        if measure.over is not None:
            over = numbers.floats(first + measure.over)
            values = values / np.where(over == 0, 1.0, over)
        if measure.seconds is not None:
            values = values + numbers.floats(first + measure.seconds)
        found.append((measure.name, values))
    return found


def _redraws(many: ManyRedraws, rows: Rows, numbers: Numbers) -> bool:
    n, total = numbers.whole(0), numbers.whole(1)
    if n is None or total is None:
        return False
    numbers.exact &= n < total
    rows.counts = {"n": n, "total": total}
    if many.drawn.ignored:
        return True
    at, placed = 2, Placed()
    for part, count in zip(many.drawn.parts, many.counts, strict=True):
        rows.values += [(name, numbers.floats(at + place) * scale) for name, place, scale in part.named]
        shown = numbers.placed(part.plan, at) if part.plan.counters else Placed()
        if part.described:
            placed = shown
        elif shown.step is not None:
            placed = Placed(placed.epoch, shown.step, shown.total, False, placed.epochs)
        at += count
    if placed.step is None:
        placed = Placed(placed.epoch, n, total, True, placed.epochs)
        rows.counts["drawn"] = n
    else:
        rows.counts["drawn"] = np.maximum(n, 1)
    rows.placed = placed
    return True


def _epoch_redraws(many: EpochRedraws, rows: Rows, numbers: Numbers) -> bool:
    n, total = numbers.whole(0), numbers.whole(1)
    if n is None or total is None:
        return False
    numbers.exact &= n < total
    rows.counts = {"n": n, "total": total}
    rows.values = _values(many.plan, numbers, 2)
    return bool(rows.values)


def _mappings(many: Mappings, rows: Rows, numbers: Numbers) -> bool:
    keys = many.keys
    if len(set(keys)) < len(keys) or len(keys) != len(numbers):
        return False
    shape = mapping_from(keys, ["0.5"] * len(keys), quoted=many.quoted).shape
    if shape.closing or not shape.measured or len(shape.counters) > 1:
        return False
    for place, key in enumerate(keys):
        values = numbers.floats(place)
        if key not in shape.counters:
            rows.values.append((key, values))
            continue
        if key in TOTAL_KEYS:
            return False
        numbers.exact &= (np.abs(values) < _MOST_STEPS) & (values == np.floor(values))
        with np.errstate(invalid="ignore"):
            rows.placed.step = values.astype(np.int64)
    return True


def _told(many: Told, rows: Rows, numbers: Numbers) -> bool:
    step = numbers.whole(0) if many.kind == "checkpoint" and len(numbers) == 1 else None
    rows.placed.step = step
    return step is not None


_KINDS: dict[type[Many], Callable[[Any, Rows, Numbers], bool]] = {
    Measured: _measured,
    EpochRedraws: _epoch_redraws,
    ManyRedraws: _redraws,
    Mappings: _mappings,
    Told: _told,
}
