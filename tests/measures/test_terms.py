"""hrmdoc.measures.functions.terms: one sound curve does not hide what the other terms of a loss tell."""

from __future__ import annotations

import math

import numpy as np

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


def test_a_head_at_the_price_of_an_even_guess_is_found_while_another_learns() -> None:
    pinned = [0.693151, 0.693148, 0.693147]
    assert name_of(terms.at_even_guess(run_of(loss=FALLS, order_loss=pinned), "train.loss")) == "order_loss"
    assert terms.at_even_guess(run_of(loss=[0.7, 0.69, 0.7], order_loss=pinned), "train.loss") is None
    assert terms.at_even_guess(run_of(loss=FALLS, order_loss=[0.6931, 0.6921, 0.691]), "train.loss") is None
    assert terms.at_even_guess(run_of(loss=FALLS, order_loss=[0.71] * 5), "train.loss") is None


def test_a_loss_of_no_role_at_the_logarithm_of_a_clip_is_found_by_its_last_half() -> None:
    clipped = [-1.4, -3.0, -9.0, *[-math.log(1e10)] * 7]
    assert name_of(terms.at_clip(run_of(loss=FALLS, free_loss_real=clipped))) == "free_loss_real"
    assert terms.at_clip(run_of(loss=FALLS, free_reward=clipped)) is None
    assert terms.at_clip(run_of(loss=FALLS, free_loss_real=[*clipped, -20.0])) is None
    assert Questions(Scene(run_of(free_loss_real=clipped))).functions()["at_clip"]()


def test_a_term_that_was_always_zero_beside_a_whole_that_never_was_is_idle() -> None:
    assert (
        name_of(terms.idle_term(run_of(loss=FALLS, free_letters_loss=[0.0] * 4), "train.loss"))
        == "free_letters_loss"
    )
    assert terms.idle_term(run_of(loss=FALLS, free_letters_loss=[0.0, 0.0, 0.01, 0.0]), "train.loss") is None
    assert terms.idle_term(run_of(loss=FALLS[:3], free_letters_loss=[0.0] * 3), "train.loss") is None
    assert terms.idle_term(run_of(loss=[*FALLS[:3], 0.0], free_letters_loss=[0.0] * 4), "train.loss") is None
    assert terms.idle_term(run_of(loss=FALLS, free_count=[0.0] * 4), "train.loss") is None
    assert Questions(Scene(run_of(loss=FALLS, free_letters_loss=[0.0] * 4))).functions()["idle_term"](
        "train.loss"
    )


def test_losses_that_place_boxes_are_known_by_many_names() -> None:
    for name in (
        "box_loss",
        "train/box_loss",
        "loss_bbox",
        "loss_box_reg",
        "loss_rpn_loc",
        "rpn_box",
        "giou_loss",
        "dfl_loss",
        "box",
    ):
        assert name_of(terms.idle_boxes(run_of(loss=FALLS, **{name: [0.0] * 4}))) == name
    for name in ("cls_loss", "mailbox_size", "local_loss_weight", "miou", "location"):
        assert terms.idle_boxes(run_of(loss=FALLS, **{name: [0.0] * 4})) is None
    assert terms.idle_boxes(run_of(box_loss=[0.0] * 4, rpn_box=[0.0, 0.1])) is None
