"""Series as detectors see them: rewinds told apart, two roles paired, phases of the run named. Pure functions
over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray, IntArray

# A log that falls back to its beginning more often than this has a counter that wraps (batches of an epoch),
# not restarts, unless the values begin anew as well, as those of the folds of a cross-validation do.
MAX_FRESH_STARTS = 3
_HEAD = 3
_FEWEST_OF_A_RUN = 6
_EPOCHS_OF_A_RUN = 20
_NEAR = 2
"""Points between the starts of two series that are those of one run."""
_ANEW = 0.8  # share of the falls at which they must
_ALIKE = 0.5  # share of the tops near their median from which they are the end of the same stretch


class Rewinds(Struct, frozen=True):
    """Where the step counter falls back. `fresh`: to the beginning (another run follows); `resumed`: to a
    checkpoint."""

    fresh: tuple[int, ...] = ()
    resumed: tuple[int, ...] = ()
    wraps: bool = False


def rewinds(steps: IntArray, values: FloatArray | None = None, *, epochs: bool = False) -> Rewinds:
    """Finds the indices at which `steps`, shape [n], falls back.

    A fall to within 2 % of the distance covered since the first step is a fresh start, unless it happens so
    often that the counter must be one of batches within an epoch: it comes as far each time, and the
    `values`, shape [n], do not begin anew. What counts `epochs` is none of batches: there it is enough that
    each stretch loses what the one before had gained, or that each is long: rounds of one training are short.
    """
    falls = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    if not len(falls):
        return Rewinds()
    fresh: list[int] = []
    resumed: list[int] = []
    first = int(steps[0])
    for index in falls.tolist():
        top = int(steps[:index].max()) if index < 4096 else int(steps[max(0, index - 4096) : index].max())
        near = first + max(1, round(0.02 * (top - first)))
        (fresh if int(steps[index]) <= near and top - first >= 5 else resumed).append(index)
    often = len(fresh) > MAX_FRESH_STARTS and not _of_any_length(steps, fresh)
    if len(falls) > 64 or (
        often
        and (values is None or not (_begin_anew(values, fresh) or (epochs and _are_runs(values, fresh))))
    ):
        return Rewinds(wraps=True)
    return Rewinds(tuple(fresh), tuple(resumed))


def _of_any_length(steps: IntArray, starts: list[int]) -> bool:
    """Whether hardly two stretches before `starts` come as far: a counter that wraps does so at its end."""
    tops = np.array([int(steps[index - 1]) for index in starts])
    return float(np.mean(np.abs(tops - middle(tops)) <= 0.1 * middle(tops))) < _ALIKE


def _begin_anew(values: FloatArray, starts: list[int]) -> bool:
    """Whether `values` are at nearly all `starts` again where they first began, not where they had come
    to."""
    bounds = [0, *starts, len(values)]
    if min(stop - start for start, stop in pairwise(bounds[:-1])) < _FEWEST_OF_A_RUN:
        return False
    # by the first value as well as by the level: a curve may have fallen before its second one is logged
    return any(
        sum(_again(values, start, head) for start in starts) >= _ANEW * len(starts) for head in (_HEAD, 1)
    )


def _are_runs(values: FloatArray, starts: list[int]) -> bool:
    """Whether stretches of epochs are trainings of their own: long ones, which do not begin better, or worse,
    each time than the one before."""
    levels = np.diff([middle(values[start : start + _HEAD]) for start in (0, *starts)])
    long = min(np.diff([0, *starts]).tolist()) >= _EPOCHS_OF_A_RUN
    return (long and bool((levels > 0).any() and (levels < 0).any())) or _lost_each_time(values, starts)


def _lost_each_time(values: FloatArray, starts: list[int]) -> bool:
    """Whether at nearly all `starts` half is lost of what the stretch before had gained, and all of them
    begin alike: rounds of one training begin lower each time."""
    begun, ended = values[[0, *starts[:-1]]], values[[at - 1 for at in starts]]
    gained, lost = ended - begun, values[starts] - ended
    alike = float(np.abs(np.append(begun, values[starts[-1]]) - middle(begun)).max()) <= middle(
        np.abs(gained)
    )
    return alike and float(np.mean((gained * lost < 0) & (np.abs(lost) >= 0.5 * np.abs(gained)))) >= _ANEW


def _again(values: FloatArray, start: int, head: int) -> bool:
    first, here = middle(values[:head]), middle(values[start : start + head])
    return abs(here - first) < 0.5 * abs(here - middle(values[max(0, start - _HEAD) : start]))


def clock_restarts(values: FloatArray) -> list[int]:
    """Where the seconds that a program has run begin anew, shape [n] as it wrote them: they only grow but for
    few falls, each by more than half."""
    falls = np.flatnonzero(~(values[1:] > values[:-1])) + 1
    few = len(values) >= _FEWEST_OF_A_RUN * (len(falls) + 1) and float(values[0]) >= 0
    return falls.tolist() if few and bool((values[falls] < 0.5 * values[falls - 1]).all()) else []


def counts_lines(steps: IntArray) -> bool:
    """Whether the steps are those of a counter of lines, which a log without steps is given by its reader."""
    return len(steps) >= _FEWEST_OF_A_RUN and int(steps[0]) <= 1 and bool((np.diff(steps) == 1).all())


def launched(found: Rewinds, steps: IntArray, launches: Sequence[tuple[int, bool]]) -> Rewinds:
    """`found`, and the first points behind `launches` of the program as far as they begin a run.

    Each launch is an index and whether the steps are of lines, which go on over it. Those that a program
    counts fall back at a launch, or are resumed by it.
    """
    fresh = {
        index
        for index, counted in launches
        if 0 < index < len(steps) and (counted or steps[index] <= steps[0] < steps[index - 1])
    }
    resumed = tuple(index for index in found.resumed if index not in fresh)
    every = tuple(sorted({*found.fresh, *fresh}))
    return Rewinds(every, resumed, wraps=found.wraps and not fresh)


def begins_anew(values: FloatArray, start: int) -> bool:
    """Whether `values` are at `start` where they first began again, by their level or by one value."""
    return any(_again(values, start, head) for head in (_HEAD, 1))


def goes_on(values: FloatArray, starts: Sequence[int]) -> bool:
    """Whether the last of several runs, which begin at these indices and 0, begins nearer to where the one
    before it ended than to where that began."""
    start = starts[-1]
    before = values[starts[-2] if len(starts) > 1 else 0 : start]
    if not len(before):
        return False
    end = middle(before[-_HEAD:])
    return bool(abs(values[start] - end) < 0.3 * abs(before[0] - end))


def beside(found: Rewinds, points: int, starts: Sequence[int]) -> Rewinds:
    """`found` of a series of so many `points`, and the `starts` of runs that another series of the same file
    tells: a fall of its own near by is to the beginning, then."""
    begun = [at for at in starts if 0 < at < points]
    if found.wraps:  # a counter that goes by runs for the training loss does so for what stands beside it
        return Rewinds(tuple(sorted({*begun}))) if len(begun) > MAX_FRESH_STARTS else found
    resumed = tuple(own for own in found.resumed if not any(abs(at - own) <= _NEAR for at in begun))
    own = {*found.fresh, *found.resumed}
    others = {at for at in begun if all(abs(at - one) > _NEAR for one in own)}
    return replace(found, fresh=tuple(sorted(own.difference(resumed) | others)), resumed=resumed)


PHASES = ("warmup", "early", "middle", "end")


def phases(steps: IntArray, warmup: float | None, total: float | None) -> NDArray[np.int8]:
    """The phase of each step as an index into `PHASES`; without a known total everything after warmup is
    `middle`."""
    phase = np.full(len(steps), 2, np.int8)
    if total:
        phase[steps < 0.1 * total] = 1
        phase[steps > 0.9 * total] = 3
    if warmup:
        phase[steps <= warmup] = 0
    return phase
