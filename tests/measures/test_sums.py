"""hrmdoc.measures.functions.sums: with which weight a logged term counts is told by arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

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
        series.nature = Nature("divergence" if series.key.metric == "kld" else "loss")
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
