"""hrmdoc.measures.functions.terms: one sound curve does not hide what the other terms of a loss tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Scene
from hrmdoc.measures.functions import terms
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess

NAN = [math.nan] * 4
FALLS = [0.9, 0.7, 0.5, 0.4]


def run_of(**curves: list[float]) -> Run:
    """A run whose metrics are guessed to be training losses, but for `loss`, which is known, and those that
    hold `free`."""

    def role(metric: str) -> RoleGuess:
        return RoleGuess(None) if "free" in metric else RoleGuess("train.loss", guessed=metric != "loss")

    run = Run(role_of=role)
    for name, values in curves.items():
        at = np.arange(len(values))
        run.add(Points(name, at, np.array(values), np.full(len(at), math.nan), "history.json"))
    return run


def name_of(found: object) -> str:
    return getattr(getattr(found, "key", None), "metric", "")


def test_a_term_that_was_never_a_number_is_found_behind_a_sound_one() -> None:
    assert name_of(terms.never_finite(run_of(box_loss=FALLS, shape_loss=NAN), "train.loss")) == "shape_loss"
    assert Questions(Scene(run_of(box_loss=FALLS, shape_loss=NAN))).functions()["never_finite"]("train.loss")


def test_a_known_whole_that_is_finite_does_not_hold_a_term_that_is_no_number() -> None:
    assert terms.never_finite(run_of(loss=FALLS, shape_loss=NAN), "train.loss") is None
    assert name_of(terms.never_finite(run_of(loss=NAN, shape_loss=NAN), "train.loss"))


def test_a_term_that_was_a_number_once_or_has_few_points_is_no_such_term() -> None:
    assert (
        terms.never_finite(run_of(box_loss=FALLS, shape_loss=[math.nan, 1.0, math.nan]), "train.loss") is None
    )
    assert terms.never_finite(run_of(box_loss=FALLS, shape_loss=NAN[:2]), "train.loss") is None
    assert terms.never_finite(run_of(box_loss=FALLS, shape_loss=NAN), "eval.loss") is None


def test_a_guessed_term_of_zeros_beside_a_moving_loss_is_not_the_loss() -> None:
    beside = run_of(vicreg_loss=[0.0] * 4, free_loss=FALLS)
    assert terms.idle_beside_others(beside, "train.loss") is not None
    alone = run_of(vicreg_loss=[0.0] * 4)
    assert terms.idle_beside_others(alone, "train.loss") is None


def test_a_known_loss_of_zeros_is_the_loss() -> None:
    known = run_of(loss=[0.0] * 4, free_loss=FALLS)
    assert terms.idle_beside_others(known, "train.loss") is None


def test_a_guessed_term_that_falls_speaks_for_one_that_stands() -> None:
    stands = [0.5, 0.51, 0.5, 0.5, 0.5]
    assert (
        name_of(
            terms.falls_beside(run_of(full_loss=stands, hard_loss=[0.9, 0.8, 0.3, 0.2, 0.1]), "train.loss")
        )
        == "hard_loss"
    )
    assert terms.falls_beside(run_of(full_loss=stands, hard_loss=stands), "train.loss") is None


def test_a_known_loss_that_stands_is_not_excused_by_one_of_its_terms() -> None:
    assert terms.falls_beside(run_of(loss=[0.5, 0.51, 0.5, 0.5], hard_loss=FALLS), "train.loss") is None


@pytest.mark.parametrize(
    ("zeros", "beside", "idle"),
    [
        ([0.0] * 4, [1.0, 1.0, 0.9], False),  # a tenth of its height is noise
        ([0.0] * 4, [1.0, 1.0, 0.89], True),
        ([0.0] * 4, [10.0, 9.9], False),  # of two points nothing is said
        ([0.0] * 4, [2.0, 1.0, 1.0], True),
        ([0.0] * 4, [-2.0, -1.7, -2.0], True),
        ([0.0] * 4, [1.0, math.nan, math.nan], False),
        ([0.0] * 4, [1.0, 0.5, math.nan], True),
        ([0.0] * 4, [0.0, 0.0, 0.0], False),
        ([0.0, 0.0, 0.1, 0.0], [2.0, 1.0, 1.0], False),
    ],
)
def test_a_term_is_idle_where_another_loss_moves_by_more_than_a_tenth(
    zeros: list[float], beside: list[float], idle: bool
) -> None:
    found = terms.idle_beside_others(run_of(vicreg_loss=zeros, free_loss=beside), "train.loss")
    assert (found is not None) is idle
    assert terms.idle_beside_others(run_of(vicreg_loss=zeros, free_rate=beside), "train.loss") is None
    assert terms.idle_beside_others(run_of(free_loss=FALLS), "train.loss") is None


@pytest.mark.parametrize(
    ("beside", "falls"),
    [
        ([0.9, 0.9, 0.9, 0.61, 0.61, 0.61], False),
        ([0.9, 0.9, 0.9, 0.59, 0.59, 0.59], True),
        ([0.9, 0.3], False),
        ([0.9, 0.3, 0.2], False),  # of three points each is both ends
        ([0.9, 0.8, math.nan, 0.3, 0.1], True),
        ([math.nan] * 4, False),
        ([0.0, 0.0, 0.0, -1.0, -1.0, -1.0], False),
        ([-1.0, -1.0, -1.0, -2.0, -2.0, -2.0], False),
    ],
)
def test_a_term_falls_where_it_has_lost_a_third_of_a_level_above_zero(
    beside: list[float], falls: bool
) -> None:
    stands = [0.5, 0.51, 0.5, 0.5, 0.5, 0.5, 0.5]
    found = terms.falls_beside(run_of(full_loss=stands, hard_loss=beside), "train.loss")
    assert (name_of(found) == "hard_loss") is falls
    assert terms.falls_beside(run_of(free_loss=stands), "train.loss") is None


def test_three_points_that_are_no_number_are_enough() -> None:
    assert name_of(terms.never_finite(run_of(box_loss=FALLS, shape_loss=NAN[:3]), "train.loss"))
