"""What every function of expressions is: one answer about a curve, a run or a symptom as it stands now.

A detector scores every point; a function answers once, from all there is until the moment that is asked
about, and so knows nothing of what comes later. It reads no file and no clock. What it cannot say is
None: the rule is then not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hrmdoc.measures.base import LIMIT
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import Series

Course = Callable[..., NDArray[Any] | None]
"""What answers for every point at once; None where there are too many of them."""

Subject = Literal["values", "curve", "run", "families", "ranks", "standings", "symptom"]


class Curve(Struct, frozen=True):
    """The points of one role, of the last run where one file holds several.

    Attributes:
        steps: shape [n].
        values: shape [n]; they need not be finite.
        axis: what `steps` counts.
        runs: how many runs stand one behind the other in the same file.
        times: Unix seconds, NaN where unknown, shape [n].
        goes_on: whether they begin where the run before them ended, as a model does that is trained further.
    """

    role: str
    steps: IntArray
    values: FloatArray
    axis: str
    runs: int
    times: FloatArray
    goes_on: bool = False


class Member(NamedTuple):
    """A series whose family is known, and its finite values of the last run, shape [n]."""

    series: Series
    values: FloatArray


class Function(Struct, frozen=True):
    """One function of expressions.

    Attributes:
        call: what computes the answer; its docstring is what `hrmdoc explain` prints.
        subject: what it is given: the finite `values` of a role, its whole `curve`, the `run` or the members
            of some `families` (it answers with a series that shows it), the levels of the run's `ranks`, or
            their `standings` at first and at the end (it answers with the rank that stands out, too), or the
            state of a `symptom`.
        roles: how many roles it is asked about; the rest of its parameters are numbers.
        points: below so many of them (finite values, points, or ranks) it is not asked.
        absent: its answer where the role is not logged at all; None where nothing can be said then.
        families: of which families the members are that it is given; each has `points` at least.
        among: which series of those are.
        lacks: what it would have needed where it answers None.
        course: its answers as of every point at once, for the same subject; the last is the answer now. None
            where it weighs the curve as a whole, as a median does: when such an answer came about it cannot
            tell.
    """

    call: Callable[..., Any]
    subject: Subject
    roles: int
    points: int
    absent: float | None
    lacks: str
    course: Course | None = None
    families: tuple[str, ...] = ()
    among: Callable[[Series], bool] = lambda _: True

    @property
    def name(self) -> str:
        """What expressions call it."""
        return self.call.__name__

    def __call__(self, *arguments: Any) -> Any:
        """The answer; magnitudes are cut as those of detectors are, so that squares and sums stay finite."""
        with np.errstate(all="ignore"):
            return self.call(*map(_bounded, arguments))

    def along(self, *arguments: Any) -> FloatArray | None:
        """Its answers as of every point, NaN where it cannot say; None where it has no course."""
        if self.course is None:
            return None
        with np.errstate(all="ignore"):
            course = self.course(*map(_bounded, arguments))
        if course is None:
            return None
        answers: FloatArray = course.astype(np.float64, copy=self.points > 1)
        if self.points > 1:
            answers[: self.points - 1] = np.nan
        return answers


def _bounded(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray) or not len(argument):
        return argument
    if argument.min() >= -LIMIT and argument.max() <= LIMIT:
        return argument
    return np.clip(argument, -LIMIT, LIMIT)


def function(
    subject: Subject = "values",
    *,
    roles: int = 1,
    points: int = 1,
    absent: float | None = None,
    lacks: str = "more points",
    course: Course | None = None,
    families: tuple[str, ...] = (),
    among: Callable[[Series], bool] = lambda _: True,
) -> Callable[[Callable[..., Any]], Function]:
    """Makes a function known to expressions under its own name; see `Function`."""
    return lambda call: Function(call, subject, roles, points, absent, lacks, course, families, among)
