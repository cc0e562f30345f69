"""Settings that are bound to one that a patch changes: a schedule's own rates, and the batch sizes of which
one is the product of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Route, dotted
from hrmdoc.remedies.editors.scalars import NULLS, Plain, read, rounded
from hrmdoc.remedies.places import Place
from hrmdoc.roles.nested import is_elsewhere, loose

RATE = "optimizer.lr"
_RATES = frozenset({"lr", "learning_rate", "base_lr"})
_PEAKS = frozenset(
    {"max_lr", "warmup_max_lr", "cycle_max_lr", "peak_lr", "peak_learning_rate", "max_learning_rate"}
)
"""What a schedule takes for the highest rate, whatever its optimizer was given."""
_FLOORS = frozenset(
    {
        "min_lr", "lr_min", "eta_min", "min_learning_rate", "min_decay_lr", "warmup_min_lr", "cycle_min_lr",
        "end_lr", "lr_end", "final_lr", "end_learning_rate", "warmup_init_lr", "warmup_start_lr",
    }
)  # fmt: skip
"""What a schedule begins or ends at: above the rate, it climbs where it should fall."""
_BELOW = 0.1
"""A schedule ends at a tenth of its rate (Hoffmann et al. 2022) or lower."""
TOTAL, MICRO, TIMES = "data.batch_size", "data.micro_batch_size", "data.grad_accum"


class Bound(NamedTuple):
    """A value that has to go along: where it stands, and what it is to be."""

    route: Route
    value: float


class Rates(NamedTuple):
    """What a file says of rates beside the one that is changed."""

    moved: tuple[Bound, ...]
    notes: tuple[str, ...]


def rates(place: Place, changed: Route, before: float, after: float) -> Rates:
    """The other rates of a file in which the rate at `changed` goes from `before` to `after`.

    Raises:
        PatchError: one that has the last word cannot be changed.
    """
    moved, notes = [], []
    for route, name in _named(place, _PEAKS | _FLOORS | _RATES, changed):
        where, peak = dotted(route), name in _PEAKS
        now = _number(place, route, must=peak and not is_elsewhere(where))
        if now is None or now <= 0:
            continue
        if name in _RATES or is_elsewhere(where):
            notes.append(f"{where} = {now:g} is another rate, and stays: change it too if it is the one")
        elif peak and (now > after or after > before):
            moved.append(Bound(route, rounded(max(after, now * after / before))))
        elif not peak and after < before and now > _BELOW * after:
            moved.append(Bound(route, rounded(min(now * after / before, _BELOW * after))))
    return Rates(tuple(moved), tuple(notes))


def peak(place: Place) -> Route | None:
    """The highest rate of a schedule, where a file gives one."""
    found = [route for route, _ in _named(place, _PEAKS, ()) if not is_elsewhere(dotted(route))]
    return found[0] if len(found) == 1 else None


def is_peak(path: str) -> bool:
    """Whether a key is the highest rate of a schedule, which wins over that of the optimizer."""
    return loose(path).lstrip("-").rpartition(".")[2] in _PEAKS


def rivals(place: Place) -> list[str]:
    """All that may be the one rate of a program that nobody knows, where a file has several."""
    every = [dotted(route) for route, _ in _named(place, _RATES, ())]
    found = {loose(where): where for where in reversed(every) if not is_elsewhere(where)}
    return list(reversed(found.values()))


def _named(place: Place, names: frozenset[str], without: Route) -> Iterator[tuple[Route, str]]:
    for route in place.document.leaves:
        last = loose(str(route[-1])).lstrip("-")
        name = last.rpartition(".")[2]
        if route != without and name in names and not re.search(r"\[\d+\]", dotted(route)):
            yield route, name


def _number(place: Place, route: Route, *, must: bool) -> float | None:
    leaf = place.document.leaves[route]
    if leaf.text.strip().lower() in NULLS or leaf.text == "auto" or leaf.tag in {"{}", "[]"}:
        return None
    try:
        value = read(leaf.text, "float")
    except ValueError as error:
        if not must:
            return None
        raise PatchError(
            f"{dotted(route)}: {error}, and it has the last word on the rate",
            file=place.source.path, line=leaf.line, hint="change it by hand",
        ) from error  # fmt: skip
    return float(value) if isinstance(value, int | float) else None


def sizes(before: Mapping[str, Plain], after: Mapping[str, Plain]) -> dict[str, int]:
    """What else has to change so that a whole batch stays the product of micro batch, accumulation and world.

    Args:
        before: what the file gives of the three.
        after: what of it was changed.

    Raises:
        PatchError: there are no whole numbers for it.
    """
    old = {key: value for key, value in before.items() if isinstance(value, int) and value > 0}
    new = {**old, **{key: value for key, value in after.items() if isinstance(value, int)}}
    if TOTAL not in old or MICRO not in old or new == old:
        return {}
    world, rest = divmod(old[TOTAL], old[MICRO] * old.get(TIMES, 1))
    if rest or not world:
        return {}  # bound by a rule of the program's own
    if TIMES not in old:
        _whole(new[TOTAL], new[MICRO])
        return {}  # the program takes what is left
    return _balanced(old, new, world)


def _balanced(old: Mapping[str, int], new: Mapping[str, int], world: int) -> dict[str, int]:
    """The one of the three that has to follow the others."""
    if new[TOTAL] == new[MICRO] * new[TIMES] * world:
        return {}
    if new[TOTAL] == old[TOTAL]:
        return {TOTAL: new[MICRO] * new[TIMES] * world}
    if new[TIMES] == old[TIMES] and new[TOTAL] % (new[MICRO] * world) == 0:
        return {TIMES: new[TOTAL] // (new[MICRO] * world)}
    return {MICRO: _whole(new[TOTAL], new[TIMES] * world)}


def _whole(total: int, by: int) -> int:
    if total % by or not total:
        raise PatchError(
            f"a batch of {total} cannot be made of parts of {by}", hint="change the sizes by hand"
        )
    return total // by
