"""hrmdoc.measures.functions.sums: with which weight a logged term counts is told by arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from hrmdoc.measures.function import Function
from hrmdoc.measures.functions import sums
from hrmdoc.record.records import FloatArray, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import Nature, RoleGuess

N = 24
FALLS = np.linspace(1000.0, 300.0, N)
STANDS = 1.0 + 0.01 * np.cos(np.arange(N))
GROWS = np.minimum(400.0, 0.05 * 3.0 ** np.arange(N))


def found(ask: Callable[[Run], object], **curves: FloatArray) -> str:
    """The metric that is answered with, of a run of these terms and their `loss`."""
    run = Run(role_of=lambda metric: RoleGuess("train.loss" if metric == "loss" else None))
    for name, values in curves.items():
        run.add(Points(name, np.arange(N), values, np.full(N, math.nan), "train.log"))
    for series in run.series.values():
        family = "divergence" if series.key.metric == "kld" else "loss"
        series.nature = Nature(family, words=(series.key.metric,))
    return getattr(getattr(ask(run), "key", None), "metric", "")


def test_a_growing_term_that_the_loss_does_not_hold_is_named_and_one_that_it_holds_is_not() -> None:
    assert found(sums.term_left_out, loss=FALLS, bce=FALLS, kld=GROWS) == "kld"
    assert found(sums.term_left_out, loss=FALLS + GROWS, bce=FALLS, kld=GROWS) == ""
    assert found(sums.term_left_out, loss=FALLS + 0.1 * GROWS, bce=FALLS, kld=GROWS) == ""


def test_nothing_is_said_of_a_loss_that_is_no_sum_of_what_is_logged() -> None:
    noise = 1.0 + 0.05 * np.sin(7.0 * np.arange(N))
    assert found(sums.term_left_out, loss=FALLS * noise, bce=FALLS, kld=GROWS) == ""
    assert found(sums.term_dwarfed, loss=FALLS * noise, box=FALLS, cls=STANDS) == ""


def test_a_term_that_stands_beside_one_that_is_all_of_the_loss_is_named() -> None:
    assert found(sums.term_dwarfed, loss=FALLS + STANDS, box=FALLS, cls=STANDS) == "cls"
    assert found(sums.term_dwarfed, loss=FALLS / 500 + STANDS, box=FALLS / 500, cls=STANDS) == ""


def test_terms_of_which_one_is_a_multiple_of_the_other_have_no_weights() -> None:
    assert found(sums.term_dwarfed, loss=3 * FALLS, box=FALLS, cls=2 * FALLS) == ""


def test_a_term_that_is_most_of_the_loss_at_the_end_and_stands_is_named_unless_it_restrains() -> None:
    small = FALLS / 500
    assert found(sums.term_stands, loss=small + STANDS, box=small, cls=STANDS) == "cls"
    assert found(sums.term_stands, loss=FALLS + STANDS, box=FALLS, cls=STANDS) == ""
    assert found(sums.term_stands, loss=small + STANDS, box=small, kld=STANDS) == ""


@pytest.mark.parametrize(
    ("size", "start", "named"),
    [
        (0.6, 0.05, "kld"),
        (0.49, 0.04, ""),  # of the size of the loss: half of it at least
        (0.6, 0.06, ""),  # grows: ten times its beginning
        (0.6, 0.0, "kld"),
        (1e-12, 0.0, ""),
    ],
)
def test_a_term_left_out_has_grown_tenfold_to_half_of_the_loss(size: float, start: float, named: str) -> None:
    level = float(np.median(FALLS[-6:]))
    grown = np.where(np.arange(N) < N // 2, start * level, size * level)
    assert found(sums.term_left_out, loss=FALLS, bce=0.5 * FALLS, kld=grown) == named


@pytest.mark.parametrize(("weight", "named"), [(0.0, "kld"), (0.019, "kld"), (0.021, "")])
def test_a_term_is_left_out_up_to_a_weight_of_a_fiftieth(weight: float, named: str) -> None:
    assert found(sums.term_left_out, loss=FALLS + weight * GROWS, bce=FALLS, kld=GROWS) == named


@pytest.mark.parametrize(
    ("stands", "falls", "named"),
    [
        (STANDS, FALLS, "cls"),
        (np.linspace(1.0, 0.95, N), FALLS, "cls"),
        (np.linspace(1.0, 0.8, N), FALLS, ""),  # it falls as well
        (-STANDS, FALLS, ""),
        (STANDS, np.linspace(1000.0, 950.0, N), ""),  # the large one stands, too
        (15.0 * STANDS, FALLS, ""),  # more than a fiftieth of the loss
        (0.01 * STANDS, FALLS, "cls"),
    ],
)
def test_a_term_is_dwarfed_where_it_stands_beside_one_that_is_nearly_all(
    stands: FloatArray, falls: FloatArray, named: str
) -> None:
    assert found(sums.term_dwarfed, loss=falls + stands, box=falls, cls=stands) == named
    assert found(sums.term_dwarfed, loss=falls + stands, box=falls, kld=stands) == ""


SMALL = FALLS / 500


@pytest.mark.parametrize(
    ("stands", "named"),
    [
        (STANDS, "cls"),
        (0.5 * STANDS, ""),  # less than half of the loss at its end
        (np.linspace(1.0, 0.85, N), ""),  # falls
        (np.append(np.ones(N - 1), 0.89), ""),  # fell at its end
        (np.append(np.ones(N - 1), 0.91), "cls"),
    ],
)
def test_a_term_stands_that_is_most_of_the_loss_to_the_end(stands: FloatArray, named: str) -> None:
    assert found(sums.term_stands, loss=SMALL + stands, box=SMALL, cls=stands) == named
    assert found(sums.term_stands, loss=SMALL + stands, box=SMALL, reg=stands) == ""


@pytest.mark.parametrize(
    ("easy", "hard", "named"),
    [
        (1e-4, 0.6, "bc"),
        (1e-2, 0.6, ""),  # the other is not solved
        (1e-4, 0.3, ""),  # it is learned, too
        (1e-4, 1.5, ""),  # it is worse than at first, which is another matter
    ],
)
def test_a_term_that_is_left_while_an_easy_one_is_solved_is_named(
    easy: float, hard: float, named: str
) -> None:
    pde, bc = np.geomspace(1.0, easy, N), np.linspace(1.0, hard, N)
    assert found(sums.term_starved, loss=pde + 5 * bc, pde=pde, bc=bc) == named
    assert found(sums.term_starved, loss=pde + 5 * bc, pde=pde, kld=bc) == ""
    assert found(sums.term_starved, loss=1e5 * pde + bc, pde=pde, bc=bc) == "", "what is solved is most of it"


def test_a_loss_of_next_to_nothing_may_stand() -> None:
    for scale, named in ((0.0171, "cls"), (0.0168, "")):
        parts = {"box": scale * SMALL, "cls": scale * STANDS}
        assert found(sums.term_stands, loss=parts["box"] + parts["cls"], **parts) == named


@pytest.mark.parametrize(
    ("points", "asked", "named"),
    [
        (24, sums.term_stands, "cls"),
        (23, sums.term_stands, ""),
        (12, sums.term_dwarfed, "cls"),
        (11, sums.term_dwarfed, ""),
    ],
)
def test_weights_are_believed_from_twelve_points_on_and_what_stands_from_twice_as_many(
    points: int, asked: Function, named: str
) -> None:
    falls, stands = np.linspace(1000.0, 300.0, points), 1.0 + 0.01 * np.cos(np.arange(points))
    small = falls / 500 if asked is sums.term_stands else falls
    assert found(asked, loss=small + stands, box=small, cls=stands) == named


@pytest.mark.parametrize("broken", [np.nan, 0.0, -1.0])
def test_of_a_loss_that_is_not_a_number_or_not_above_zero_nothing_is_said(broken: float) -> None:
    loss = FALLS + STANDS
    loss[5] = broken
    assert found(sums.term_dwarfed, loss=loss, box=FALLS, cls=STANDS) == ""
    assert found(sums.term_dwarfed, box=FALLS, cls=STANDS) == "", "and nothing without a loss"


def test_two_to_six_terms_are_taken_apart() -> None:
    waves = {f"t{at}": 1.0 + 0.01 * np.cos(at * np.arange(N)) for at in range(1, 7)}
    parts = {"box": FALLS, **waves}
    loss = sum(parts.values(), np.zeros(N))
    assert found(sums.term_dwarfed, loss=loss, **parts) == ""
    parts.popitem()
    loss = sum(parts.values(), np.zeros(N))
    assert found(sums.term_dwarfed, loss=loss, **parts) == "t1"
    assert found(sums.term_dwarfed, loss=FALLS, box=FALLS) == ""


@pytest.mark.parametrize(("missed", "named"), [(1.9e-3, "cls"), (2.6e-3, "")])
def test_a_sum_may_miss_the_loss_by_two_parts_in_a_thousand(missed: float, named: str) -> None:
    loss = FALLS + STANDS
    loss[7] *= 1 + missed
    assert found(sums.term_dwarfed, loss=loss, box=FALLS, cls=STANDS) == named


def test_a_term_of_zeros_has_no_weight() -> None:
    assert found(sums.term_dwarfed, loss=FALLS + STANDS, box=FALLS, cls=STANDS, zero=np.zeros(N)) == ""
