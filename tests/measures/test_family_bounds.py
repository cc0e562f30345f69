"""Where functions of families and of two nets begin to speak: the last value that shows nothing, and the
first that does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hrmdoc import measures
from hrmdoc.measures.function import Member
from hrmdoc.record.series import Nature

FUNCTIONS = measures.all_functions()


def shown(function: str, *members: tuple[str, list[float]]) -> str | None:
    """Which series the function answers with, of those of these names and values."""
    series = [
        SimpleNamespace(name=name, nature=Nature(words=tuple(name.split()), held_out="val" in name))
        for name, _ in members
    ]
    values = [np.array(one, np.float64) for _, one in members]
    found = FUNCTIONS[function]([Member(one, at) for one, at in zip(series, values, strict=True)])  # type: ignore[arg-type]
    return None if found is None else str(found.name)


def x(value: float, count: int) -> list[float]:
    return [value] * count


OPPOSED = x(0.7, 20)
UNOPPOSED = [*x(0.5, 3), *x(0.9, 11), *x(2.0, 6)]
NOTHING = [*x(2.0, 14), *x(0.009, 6)]


@pytest.mark.parametrize(
    ("function", "first", "second", "named"),
    [
        ("both_won", NOTHING, NOTHING, "loss g"),
        ("both_won", OPPOSED, NOTHING, None),
        ("both_won", NOTHING, OPPOSED, None),
        ("both_won", NOTHING, [*x(2.0, 14), *x(0.01, 6)], None),  # not nothing yet
        ("both_won", NOTHING, [*x(2.0, 14), *x(0.0, 6)], "loss g"),
        ("both_won", NOTHING, [*x(2.0, 14), *x(-0.001, 6)], None),  # a critic goes below zero
        ("both_won", NOTHING, [*x(2.0, 14), *x(0.009, 5), 0.01], None),  # came back at its end
        ("both_won", NOTHING, [*x(2.0, 14), *x(0.009, 5), -0.001], None),
        ("both_won", NOTHING, [*x(2.0, 14), *x(0.009, 4), 0.01, 0.009], "loss g"),
        ("both_won", NOTHING, [*x(0.1, 14), *x(0.009, 6)], None),  # it had hardly anything to lose
        ("both_won", NOTHING, [*x(0.05, 4), 0.11, *x(0.05, 9), *x(0.009, 6)], "loss g"),
        ("both_won", NOTHING, [*x(0.05, 5), 0.11, *x(0.05, 8), *x(0.009, 6)], None),
        ("both_won", NOTHING, [*x(2.0, 17), *x(0.009, 3)], None),  # of the last third it is not the level
        ("both_won", NOTHING, [*x(2.0, 16), *x(0.009, 4)], "loss g"),
        ("generator_unopposed", UNOPPOSED, NOTHING, "loss g"),
        ("generator_unopposed", UNOPPOSED, OPPOSED, None),
        ("generator_unopposed", OPPOSED, NOTHING, None),
        ("generator_unopposed", [*x(0.5, 14), *x(1.0, 6)], NOTHING, None),  # wrong, but not by much
        ("generator_unopposed", [*x(0.5, 14), *x(1.1, 6)], NOTHING, "loss g"),
        (
            "generator_unopposed",
            [*x(2.0, 14), *x(3.0, 6)],
            NOTHING,
            None,
        ),  # half as much again is not beyond it
        ("generator_unopposed", [*x(2.0, 14), *x(3.1, 6)], NOTHING, "loss g"),
        ("generator_unopposed", [0.5, 2.0, 2.0, *x(0.1, 11), *x(2.0, 6)], NOTHING, None),  # its first three
        ("generator_unopposed", [2.0, 2.0, 0.5, 0.5, *x(1.0, 10), *x(2.0, 6)], NOTHING, None),
        ("discriminator_won", [*x(0.7, 10), *x(0.0, 10)], x(1.0, 20), "loss d"),
        ("discriminator_won", [*x(0.7, 14), *x(0.001, 6)], [*x(1.0, 6), *x(9.0, 8), *x(1.0, 6)], "loss d"),
        ("discriminator_won", [*x(0.7, 14), *x(0.002, 6)], [*x(9.0, 7), *x(1.0, 7), *x(6.0, 6)], None),
        ("discriminator_won", [*x(0.7, 14), *x(0.0, 6)], [*x(9.0, 7), *x(1.0, 7), *x(6.0, 6)], "loss d"),
        ("discriminator_won", [*x(0.7, 14), *x(-1e-6, 6)], [*x(9.0, 7), *x(1.0, 7), *x(6.0, 6)], "loss d"),
        (
            "discriminator_won",
            x(0.0009, 20),
            [*x(9.0, 7), *x(1.0, 7), *x(6.0, 6)],
            None,
        ),  # it never said more
        ("discriminator_diverged", [*x(1.0, 10), *x(30.0, 10)], x(1.0, 20), "loss d"),
        ("discriminator_diverged", [*x(-1.0, 10), *x(-30.0, 10)], x(1.0, 20), "loss d"),
        ("discriminator_diverged", [*x(1.0, 10), *x(20.0, 10)], x(1.0, 20), None),
        ("discriminator_diverged", [*x(0.1, 10), *x(10.0, 10)], x(1.0, 20), None),
        ("discriminator_diverged", [*x(1.0, 10), *x(30.0, 9), 1.0], x(1.0, 20), None),  # it came back
        (
            "discriminator_diverged",
            [*x(1.0, 5), *x(16.0, 5), *x(30.0, 10)],
            x(1.0, 20),
            None,
        ),  # its first half
        ("discriminator_won", [*x(0.7, 14), *x(0.04, 6)], [*x(3.0, 14), *x(5.0, 6)], None),
        ("discriminator_won", [*x(0.7, 14), *x(0.04, 6)], [*x(4.0, 14), *x(6.0, 6)], None),
        ("discriminator_won", [*x(0.7, 14), *x(0.05, 6)], [*x(3.0, 14), *x(6.0, 6)], None),
        ("discriminator_won", [*x(0.7, 14), *x(0.049, 6)], [*x(3.0, 14), *x(6.0, 6)], "loss d"),
        ("discriminator_won", [*x(0.7, 14), *x(0.5, 6)], [*x(3.0, 14), *x(6.0, 6)], None),
        ("discriminator_won", [*x(0.7, 15), *x(0.001, 5)], x(1.0, 20), "loss d"),
        ("discriminator_won", [*x(0.7, 17), *x(0.001, 3)], x(1.0, 20), None),
        ("discriminator_won", [*x(0.001, 14), *x(0.7, 6)], x(1.0, 20), None),
    ],
)
def test_of_two_nets_one_is_named_where_the_game_is_over(
    function: str, first: list[float], second: list[float], named: str | None
) -> None:
    assert shown(function, ("loss d", first), ("loss g", second)) == named


@pytest.mark.parametrize(
    ("judge", "undecided"),
    [
        (x(0.25, 20), True),
        ([0.7, *x(0.6931, 19)], True),
        ([0.9, *x(0.6931, 19)], False),  # it came to rest
        ([*x(1.3863, 19), 1.396], True),
        ([*x(1.3863, 19), 1.397], False),
        (x(1.7, 20), False),
        (x(-0.25, 20), False),
    ],
)
def test_a_discriminator_is_undecided_where_it_costs_what_a_coin_does(
    judge: list[float], undecided: bool
) -> None:
    found = shown("discriminator_undecided", ("loss d", judge), ("loss g", OPPOSED))
    assert (found == "loss d") is undecided
    assert shown("discriminator_undecided", ("loss d", judge), ("loss", OPPOSED)) is None


@pytest.mark.parametrize("names", [("dloss", "gloss"), ("errd err d", "errg err g"), ("critic", "generator")])
def test_names_written_in_one_word_tell_whose_loss_it_is(names: tuple[str, str]) -> None:
    won = [*x(0.7, 10), *x(0.0, 10)]
    assert shown("discriminator_won", (names[0], won), (names[1], x(1.0, 20))) == names[0]


@pytest.mark.parametrize(
    ("function", "values", "speaks"),
    [
        ("term_exploded", [*x(0.1, 8), 10.0, 10.0, 10.0], False),
        ("term_exploded", [*x(0.1, 8), 10.01, 10.01, 10.01], True),
        ("term_exploded", [*x(0.5, 8), 50.0, 50.0, 50.0], False),
        ("term_exploded", [*x(0.5, 8), 50.1, 50.1, 50.1], True),
        ("term_exploded", [*x(100.0, 3), *x(9e5, 5), *x(1e6, 3)], False),
        ("term_exploded", [*x(50.0, 3), *x(9e5, 5), *x(1e6, 3)], False),
        ("term_exploded", [*x(50.0, 3), *x(9e5, 5), *x(1.1e6, 3)], True),
        ("term_exploded", [*x(150.0, 3), *x(9e5, 5), *x(1.5e6, 3)], False),
        ("term_exploded", [*x(149.9, 3), *x(9e5, 5), *x(1.5e6, 3)], True),
        ("term_exploded", [*x(149.9, 3), 500.0, *x(9e5, 4), *x(1.5e6, 3)], True),  # its opening: three values
        ("term_exploded", [*x(1e9, 11)], False),
        ("term_exploded", [5e8, *x(1.1e9, 10)], True),
        ("term_exploded", [1.2e9, *x(1.1e9, 10)], False),
        ("term_exploded", [1.0, 1.2e9, *x(1.1e9, 9)], True),
        ("below_floor", [-1.0, -1.0, 0.5, -1.0, -1.0, -1.0], True),
        ("below_floor", [-1.0, -1.0, -1.0, 0.5, -1.0, -1.0], False),
        ("below_floor", [0.0, *x(-1e-6, 3)], False),
        ("below_floor", [0.0, *x(-2e-6, 3)], True),
        ("scores_nothing", [0.0, 0.0, 0.015, 0.0, 0.0, 0.0], False),
        ("scores_nothing", [0.0, 0.0, 0.0149, 0.0, 0.0, 0.0149], True),
        ("scores_nothing", [0.0, 0.0, 0.0, 0.01, 0.0, 0.01], False),  # no higher than its first three
        ("code_empty", [*x(0.5, 5), *x(9e-4, 7)], True),
        ("code_empty", [*x(0.5, 5), *x(1e-3, 7)], False),
        ("code_empty", [*x(0.5, 5), *x(9e-4, 6), 1e-3], False),
        ("reward_fell", [*x(4.0, 8), *x(5.0, 8), *x(1.9, 8)], True),
        ("reward_fell", [*x(4.0, 8), *x(5.0, 8), *x(2.0, 8)], False),  # half of where it began
        ("reward_fell", [*x(4.0, 16), 5.0, *x(0.0, 7)], False),  # it was at its best till lately
        ("reward_fell", [*x(4.0, 15), 5.0, *x(0.0, 8)], True),
        ("reward_fell", [*x(-4.0, 8), *x(-3.0, 8), *x(-6.1, 8)], True),
    ],
)
def test_a_series_of_a_family_shows_it_beyond_its_bound_alone(
    function: str, values: list[float], speaks: bool
) -> None:
    assert shown(function, ("one", values)) == ("one" if speaks else None)


@pytest.mark.parametrize(
    ("right", "recall", "never"),
    [
        (x(0.6, 5), x(0.0, 5), True),
        (x(1.5, 5), x(0.0, 5), True),  # a share that is read a little high, not percents
        (x(1.6, 5), x(0.0, 5), False),  # percents
        (x(61.0, 5), x(0.0, 5), True),
        ([0.9, 0.5, 0.6, 0.5, 0.6], x(0.0, 5), True),  # the last three
        ([0.9, 0.9, 0.5, 0.5, 0.6], x(0.0, 5), False),
        ([*x(0.5, 8), *x(0.6, 4)], x(0.0, 5), True),  # or the last third
        ([*x(0.5, 9), *x(0.7, 2), 0.5], x(0.0, 5), True),
        ([*x(0.7, 8), *x(0.5, 4)], x(0.0, 5), False),
        (x(0.6, 5), [0.5, *x(0.0, 5)], True),  # the last five
        (x(0.6, 5), [0.2, *x(0.0, 4)], False),
        (x(0.6, 5), [*x(0.2, 7), *x(0.0, 7)], True),  # or the last half
        (x(0.6, 5), [*x(0.2, 8), *x(0.0, 6)], False),
        (x(0.6, 5), [0.0, 0.1, 0.0, 0.0, 0.0], False),
        (x(0.6, 5), [0.0, 0.09, 0.0, 0.0, 0.0], True),
        (x(0.6, 5), [0.0, 9.0, 0.0, 0.0, 0.0], True),  # in percents
        (x(0.6, 5), [0.0, 10.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_the_rare_is_never_found_up_to_a_tenth_beside_six_tenths_of_right_answers(
    right: list[float], recall: list[float], never: bool
) -> None:
    assert shown("never_found", ("accuracy", right), ("recall", recall)) == ("recall" if never else None)


def test_of_several_series_the_strongest_is_shown_whatever_its_name_and_order() -> None:
    weak, strong = [*x(4.0, 8), *x(5.0, 8), *x(1.0, 8)], [*x(4.0, 8), *x(5.0, 8), *x(-9.0, 8)]
    steady = x(4.0, 24)
    assert shown("reward_fell", ("a", steady), ("b", weak), ("c", strong)) == "c"
    assert shown("reward_fell", ("a", strong), ("b", weak), ("c", steady)) == "a"
    assert shown("below_floor", ("a", x(-1.0, 3)), ("b", x(-2.0, 3))) == "b"
    assert shown("below_floor", ("a", x(-1.0, 3)), ("b", x(-1.0, 3))) == "a"
    assert shown("below_floor", ("a", x(-2.0, 3)), ("b", x(-1.0, 3))) == "a"


ASKED = {
    "discriminator_won": ["g loss", "disc", "errd err d"],
    "scores_nothing": ["f1", "map"],
    "never_found": ["recall", "accuracy", "acc"],
    "reward_fell": ["reward mean"],
    "below_floor": ["mse"],
}
LEFT_OUT = {
    "discriminator_won": ["loss", "grad"],
    "scores_nothing": ["val accuracy", "acc"],
    "never_found": ["bleu"],
    "reward_fell": ["reward chosen", "margins"],
}


@pytest.mark.parametrize("function", ASKED)
def test_the_words_of_a_name_say_whether_a_function_looks_at_it(function: str) -> None:
    def asked(name: str, floor: float = 0.0) -> bool:
        nature = Nature(words=tuple(name.split()), floor=floor)
        return FUNCTIONS[function].among(SimpleNamespace(nature=nature))  # type: ignore[arg-type]

    assert [name for name in ASKED[function] if not asked(name)] == []
    assert [name for name in LEFT_OUT.get(function, ()) if asked(name)] == []
    assert asked(ASKED[function][0], -1.0) is (function != "below_floor")


@pytest.mark.parametrize(("role", "asked"), [("train.loss", False), ("rl.kl", False), (None, True)])
def test_explosions_of_losses_that_other_rules_watch_are_theirs(role: str | None, asked: bool) -> None:
    series = SimpleNamespace(role=SimpleNamespace(role=role))
    assert FUNCTIONS["term_exploded"].among(series) is asked  # type: ignore[arg-type]
    assert FUNCTIONS["code_empty"].among(series)  # type: ignore[arg-type]
