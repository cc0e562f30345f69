"""What a series shows by its family: each function answers with the series that shows it most, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hrmdoc.measures.function import Member
from hrmdoc.measures.functions import adversaries, families, standing
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Nature

Judge = Callable[[Sequence[Member]], Any]


def member(name: str, values: Sequence[float] | FloatArray, *, held_out: bool = False) -> Member:
    """A series whose name has the words of `name`."""
    nature = Nature(words=tuple(name.split()), held_out=held_out)
    return Member(SimpleNamespace(name=name, nature=nature), np.array(values, np.float64))  # type: ignore[arg-type]


def shown(judge: Judge, *members: Member) -> str | None:
    found = judge(members)
    return None if found is None else str(found.name)


QUIET = [0.05] * 8


@pytest.mark.parametrize(
    ("values", "exploded"),
    [
        ([*QUIET, 11.0, 11.0, 11.0], True),  # left all that it was, and is large
        ([*QUIET, 10.0, 11.0, 11.0], False),  # not large at its lowest
        ([*QUIET, 11.0, 11.0, 0.05], False),  # came back
        ([0.2] * 8 + [19.0] * 3, False),  # not a hundred times
        ([0.2, 0.2, 0.2, 0.19, 9.0, 9.0, 9.0, 9.0] + [21.0] * 3, False),  # the first half had come near it
        ([0.2] * 3 + [90.0, 9e5, 9e5, 9e5, 9e5] + [2e6] * 3, True),  # ten thousand times its opening
        ([500.0] * 3 + [9e5] * 5 + [2e6] * 3, False),
        ([-0.05] * 8 + [-11.0] * 3, True),  # the sign is no matter
        ([2e9] * 8 + [1.9e9] * 3, False),  # falls
        ([1.5e9] * 8 + [1.6e9] * 3, True),
        ([1e8] * 8 + [9e8] * 3, False),
    ],
)
def test_a_term_explodes_where_its_end_is_beyond_all_that_it_was(values: list[float], exploded: bool) -> None:
    assert (shown(families.term_exploded, member("term", values)) == "term") is exploded


def test_of_several_exploded_terms_the_highest_is_shown() -> None:
    low, high = member("low", [*QUIET, 11, 11, 11]), member("high", [*QUIET, 90, 90, 90])
    assert shown(families.term_exploded, low, high, member("calm", QUIET)) == "high"
    assert shown(families.term_exploded, high, low) == "high"
    assert shown(families.term_exploded, member("calm", QUIET)) is None


def test_a_square_below_zero_to_the_end_is_below_its_floor() -> None:
    low, lower = member("low", [1.0, -1.0, -1.0, -1.0]), member("lower", [1.0, -2.0, -2.0, -3.0])
    assert shown(families.below_floor, low, lower) == "lower"
    assert shown(families.below_floor, member("back", [-1.0, -1.0, -1.0, 0.0])) is None
    assert shown(families.below_floor, member("rounded", [0.0, -1e-7, -1e-7, -1e-7])) is None


@pytest.mark.parametrize(
    ("values", "nothing"),
    [
        ([0.0] * 6, True),
        ([0.01, 0.014, 0.0, 0.012, 0.01, 0.014], True),
        ([0.01, 0.0, 0.0, 0.0, 0.0, 0.015], False),  # comes to something
        ([0.001, 0.001, 0.001, 0.0, 0.0, 0.002], False),  # rises at its end
        ([0.0, -0.1, 0.0, 0.0, 0.0, 0.0], False),  # is no share
    ],
)
def test_a_score_is_nothing_where_it_stays_below_a_hundredth_and_a_half(
    values: list[float], nothing: bool
) -> None:
    assert (shown(families.scores_nothing, member("f1", values)) == "f1") is nothing


def test_scores_are_nothing_only_where_all_of_them_are() -> None:
    empty = member("f1", [0.0] * 6)
    assert shown(families.scores_nothing, empty, member("map", [0.0] * 6)) == "f1"
    assert shown(families.scores_nothing, empty, member("map", [0.4] * 6)) is None


RIGHT = member("accuracy", [0.5, 0.6, 0.6, 0.6, 0.6, 0.6])


@pytest.mark.parametrize(
    ("recall", "accuracy", "never"),
    [
        ([0.0] * 10, RIGHT, True),
        ([0.0] * 10, member("acc", [95.0] * 6), True),  # in percents
        ([0.0] * 10, member("acc", [0.59] * 6), False),  # nothing is known to be learned
        ([0.5] * 5 + [0.0] * 5, RIGHT, True),  # the last half counts
        ([0.0] * 5 + [0.0, 0.09, 0.0, 0.0, 0.0], RIGHT, True),  # a single hit
        ([0.0] * 5 + [0.0, 0.2, 0.0, 0.0, 0.0], RIGHT, False),
        ([0.0] * 9 + [0.05], RIGHT, False),  # found at its end
    ],
)
def test_the_rare_is_never_found_where_a_recall_is_zero_beside_an_accuracy(
    recall: list[float], accuracy: Member, never: bool
) -> None:
    assert (shown(families.never_found, member("recall", recall), accuracy) == "recall") is never


def test_all_held_out_scores_of_the_rare_must_be_zero_and_others_do_not_count() -> None:
    empty, some = [0.0] * 10, [0.5] * 10
    assert shown(families.never_found, member("recall", empty), member("f1", some), RIGHT) is None
    held, own = member("f1", empty, held_out=True), member("recall", some)
    assert shown(families.never_found, own, held, RIGHT) == "f1"
    assert shown(families.never_found, RIGHT) is None
    assert shown(families.never_found, member("recall", empty)) is None


def test_a_reward_fell_where_it_ends_far_below_its_beginning_and_has_long_been_below_its_best() -> None:
    falls = np.linspace(4.0, -4.0, 40)
    assert shown(families.reward_fell, member("reward", falls)) == "reward"
    assert shown(families.reward_fell, member("reward", falls[::-1])) is None
    assert shown(families.reward_fell, member("reward", falls / 20 + 4.0)) is None
    late = [*np.linspace(4.0, 5.0, 36), 0.0, 0.0, 0.0, 0.0]
    assert shown(families.reward_fell, member("reward", late)) is None
    little, much = member("little", falls / 10), member("much", falls)
    assert shown(families.reward_fell, much, little) == shown(families.reward_fell, little, much) == "much"


def test_a_divergence_is_empty_where_it_is_next_to_zero_for_most_of_the_run_and_at_its_end() -> None:
    assert shown(families.code_empty, member("kl", [3.0, 2.0, *[1e-4] * 10])) == "kl"
    assert shown(families.code_empty, member("kl", [1e-4] * 11 + [0.1])) is None
    assert shown(families.code_empty, member("kl", [0.1] * 8 + [1e-4] * 4)) is None
    assert shown(families.code_empty, member("kl", [-1e-4] * 12)) == "kl"


def pair(judge: Sequence[float], forger: Sequence[float], names: str = "loss d|loss g") -> str | None:
    one, other = names.split("|")
    return shown(adversaries.discriminator_won, member(one, judge), member(other, forger))


SURE = [0.7] * 10 + [0.005] * 10


@pytest.mark.parametrize(
    ("judge", "forger", "won"),
    [
        (SURE, [1.0] * 20, True),
        (SURE, [1.0] * 10 + [0.9] * 10, False),  # the generator learned
        (SURE, [0.1] * 10 + [0.4] * 10, False),  # and came to little
        ([0.7] * 10 + [0.01] * 10, [1.0] * 20, False),  # not certain
        ([0.7] * 10 + [0.04] * 10, [3.0] * 10 + [6.0] * 10, True),  # nearly, beside a hopeless generator
        ([0.7] * 10 + [0.04] * 10, [3.0] * 10 + [4.9] * 10, False),
        ([0.7] * 10 + [0.04] * 10, [4.5] * 10 + [6.0] * 10, False),
        ([0.7] * 10 + [-0.001] * 10, [1.0] * 20, False),  # a critic is no loss of that kind
    ],
)
def test_a_discriminator_won_where_its_loss_came_to_nothing_and_that_of_its_generator_did_not_fall(
    judge: list[float], forger: list[float], won: bool
) -> None:
    assert (pair(judge, forger) == "loss d") is won


@pytest.mark.parametrize(
    ("names", "paired"),
    [
        ("loss d|loss g", True),
        ("d a|g a", True),
        ("d a|g b", False),
        ("d real|gen loss", True),
        ("errd err d|errg err g", True),
    ],
)
def test_two_losses_are_a_pair_where_their_names_differ_in_whose_they_are_alone(
    names: str, paired: bool
) -> None:
    assert (pair(SURE, [1.0] * 20, names) == names.partition("|")[0]) is paired


def of(family: str, name: str, values: Sequence[float], *, held_out: bool = False) -> Member:
    """A series of a family."""
    nature = Nature(family=family, words=tuple(name.split()), held_out=held_out)
    return Member(SimpleNamespace(name=name, nature=nature), np.array(values, np.float64))  # type: ignore[arg-type]


FALLING = of("loss", "loss", [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])


@pytest.mark.parametrize(
    ("values", "repeats"),
    [
        ([0.4343] * 5, True),
        ([43.43] * 5, True),  # percents
        ([0.434] * 5, False),  # three decimals
        ([0.95001] * 5, False),  # next to the ceiling
        ([0.4343] * 6 + [0.4141] * 2, True),  # three quarters, the first among them
        ([0.4343] * 6 + [0.4141], False),  # too few to differ
        ([0.4343] * 5 + [0.4141] * 3, False),
        ([0.4141] + [0.4343] * 7, False),  # came to it from below
        ([0.4826] + [0.4343] * 7, True),  # fell to it by a tenth
        ([0.4825] + [0.4343] * 7, False),
    ],
)
def test_a_score_repeats_where_nearly_all_evaluations_gave_one_number(
    values: list[float], repeats: bool
) -> None:
    assert (shown(standing.score_repeats, of("score", "iou", values), FALLING) == "iou") is repeats


def test_scores_repeat_where_all_of_held_out_data_do_and_a_loss_moves() -> None:
    stands = of("score", "val iou", [0.4343] * 8, held_out=True)
    moves = [0.1111, 0.2222, 0.3333, 0.4444, 0.5555, 0.6666, 0.7777, 0.8888]
    assert shown(standing.score_repeats, stands, of("score", "iou", moves), FALLING) == "val iou"
    assert shown(standing.score_repeats, stands, of("score", "val f1", moves, held_out=True), FALLING) is None
    assert shown(standing.score_repeats, stands, of("loss", "loss", [0.5] * 8)) is None
    assert shown(standing.score_repeats, stands) == "val iou"
    assert shown(standing.score_repeats, of("score", "last iou", [0.4343] * 8), FALLING) is None


def test_a_reward_never_gained_where_no_level_was_above_the_first() -> None:
    at = np.arange(240.0)
    wave, falls = np.sin(at), at / 100

    def gained_nothing(values: FloatArray) -> bool:
        return shown(families.reward_never_gained, member("score", values)) == "score"

    assert gained_nothing(20 + wave - falls)
    assert not gained_nothing(20 + wave + falls)
    assert not gained_nothing(20 + wave - falls + 12 * np.sin(at / 76))  # was well above on its way
    assert not gained_nothing(np.repeat([3.0, 2.0], 120))


def test_a_reward_is_gone_where_its_last_half_is_zero_and_its_beginning_was_not() -> None:
    def gone(*parts: tuple[float, int]) -> bool:
        values = np.concatenate([np.full(times, value) for value, times in parts])
        return shown(families.reward_gone, member("reward", values)) == "reward"

    assert gone((-3.0, 20), (0.0, 40))
    assert gone((0.0, 10), (-3.0, 20), (0.0, 30))
    assert not gone((0.0, 11), (-3.0, 19), (0.0, 30))  # more than half of the first third was nothing
    assert gone((-3.0, 20), (0.0, 30), (2.0, 6), (0.0, 4))
    assert not gone((-3.0, 20), (0.0, 29), (2.0, 7), (0.0, 4))
    assert not gone((-3.0, 20), (0.0, 39), (2.0, 1))
    assert not gone((0.0, 60))
