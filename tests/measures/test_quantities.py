"""What a metric says by its definition: bounds, guesses, orders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from hrmdoc.measures.function import Function, Member
from hrmdoc.measures.functions import codes, quantities
from hrmdoc.record.quantity import Quantity
from hrmdoc.record.series import Nature, SeriesKey

AUC = Quantity(("auc",), "s", lowest=0, highest=1, percent=True, guess=0.5, margin=0.03, reverse=0.35)
R2 = Quantity(("r2",), "s", highest=1, guess=0, margin=0.1)
MASE = Quantity(("mase",), "s", lowest=0, better="low", guess=1, margin=0.05)
DICE = Quantity(("dice",), "s", lowest=0, highest=1, percent=True)
PPL = Quantity(("ppl",), "s", lowest=1, better="low")


def member(
    name: str,
    quantity: Quantity | None,
    values: list[float],
    above: tuple[str, ...] | None = None,
    source: str = "s",
) -> Member:
    nature = Nature(words=tuple(name.split()), held_out="val" in name, quantity=quantity, above=above)
    series: Any = SimpleNamespace(nature=nature, key=SeriesKey(name, None, source))
    return Member(series, np.array(values, np.float64))


def shown(function: Function, *members: Member) -> str | None:
    found = function(list(members))
    return None if found is None else str(found.key.metric)


def x(value: float, count: int) -> list[float]:
    return [value] * count


@pytest.mark.parametrize(
    ("quantity", "values", "beyond"),
    [
        (DICE, [0.4, *x(1.02, 3)], True),
        (DICE, [0.4, *x(1.005, 3)], False),  # rounding
        (DICE, [0.4, 1.02, 1.02, 0.9], False),  # it came back
        (DICE, [40.0, *x(100.6, 3)], True),
        (DICE, [40.0, *x(100.4, 3)], False),
        (DICE, [40.0, *x(200.5, 3)], False),  # a count
        (DICE, [40.0, *x(121.0, 3)], False),  # whole numbers are counted
        (DICE, [40.0, 121.0, 121.3, 121.0], True),
        (DICE, [0.4, *x(-0.006, 3)], True),
        (PPL, [3.0, *x(0.99, 3)], True),
        (PPL, [3.0, *x(0.996, 3)], False),
        (R2, [0.4, *x(1.01, 3)], True),
        (R2, [0.4, *x(-90.0, 3)], False),  # no floor
    ],
)
def test_a_value_is_beyond_bounds_where_the_last_three_are(
    quantity: Quantity, values: list[float], beyond: bool
) -> None:
    assert (shown(quantities.beyond_bounds, member("one", quantity, values)) == "one") is beyond


@pytest.mark.parametrize(
    ("quantity", "values", "nothing"),
    [
        (R2, x(0.05, 9), True),
        (R2, [*x(0.05, 6), *x(0.1, 2), 0.05], False),  # its level at the end
        (R2, [*x(0.05, 8), 0.1], False),  # its end
        (R2, [0.2, *x(0.05, 8)], False),  # it was higher once
        (R2, [0.19, *x(0.05, 8)], True),
        (R2, [*x(0.15, 6), *x(-3.0, 3)], True),
        (AUC, [*x(0.5, 5), 0.56], False),
        (AUC, [0.559, *x(0.5, 5)], True),
        (AUC, [52.0, *x(50.0, 5)], True),
        (AUC, x(0.53, 6), False),
        (AUC, x(0.36, 6), True),
        (AUC, x(0.35, 6), False),  # so far below is knowledge
        (MASE, x(1.2, 6), True),
        (MASE, [*x(1.2, 5), 0.95], False),
        (MASE, [0.91, *x(1.2, 5)], True),
        (MASE, [0.9, *x(1.2, 5)], False),
        (MASE, [-0.1, *x(1.2, 5)], False),  # none that it can have
        (AUC, [1.4, *x(0.5, 5)], False),
    ],
)
def test_a_metric_knows_nothing_where_it_stays_at_its_guess(
    quantity: Quantity, values: list[float], nothing: bool
) -> None:
    assert (shown(quantities.knows_nothing, member("one", quantity, values)) == "one") is nothing


def test_held_out_data_decide_where_there_are_any() -> None:
    low, high = x(0.05, 9), x(0.9, 9)
    assert shown(quantities.knows_nothing, member("train", R2, high), member("val", R2, low)) == "val"
    assert shown(quantities.knows_nothing, member("train", R2, low), member("val", R2, high)) is None
    assert shown(quantities.knows_nothing, member("a", R2, high), member("b", R2, low)) == "b"


@pytest.mark.parametrize(
    ("quantity", "values", "reverse"),
    [
        (AUC, x(0.1, 3), True),
        (AUC, [0.1, 0.35, 0.1], False),
        (AUC, [0.1, 0.349, 0.1], True),
        (AUC, x(10.0, 3), True),
        (R2, x(-3.0, 3), False),
    ],
)
def test_the_reverse_is_known_where_no_guess_is_so_wrong(
    quantity: Quantity, values: list[float], reverse: bool
) -> None:
    assert (shown(quantities.knows_the_reverse, member("one", quantity, values)) == "one") is reverse


def test_of_two_in_an_order_the_one_is_named_that_is_above() -> None:
    def reversed_by(one: list[float], other: list[float], source: str = "s") -> str | None:
        wider = member("top5", None, other, (), source)
        return shown(quantities.order_reversed, member("top1", None, one, ("top5",)), wider)

    assert reversed_by(x(0.5, 5), x(0.4, 5)) == "top1"
    assert reversed_by(x(0.5, 5), x(0.495, 5)) is None, "as good as equal"
    assert reversed_by([*x(0.5, 4), 0.3], x(0.4, 5)) is None, "not at the end"
    assert reversed_by([0.3, *x(0.5, 4)], x(0.4, 5)) == "top1"
    assert reversed_by([0.3, 0.3, *x(0.5, 3)], x(0.4, 5)) is None
    assert reversed_by(x(0.5, 5), x(0.4, 6)) is None, "other points"
    assert reversed_by(x(0.5, 5), x(0.4, 5), "other") is None
    assert shown(quantities.order_reversed, member("top1", None, x(0.5, 5), ("top5",))) is None


def test_what_is_perfect_from_the_start_is_so_at_every_evaluation_of_new_data() -> None:
    found = quantities.perfect_from_start
    assert shown(found, member("val", AUC, [0.9991, *x(1.0, 4)])) == "val"
    assert shown(found, member("val", AUC, [0.9989, *x(1.0, 4)])) is None
    assert shown(found, member("train", AUC, x(1.0, 5))) is None
    assert shown(found, member("val", MASE, x(0.0005, 5))) == "val"


FID = Quantity(("fid",), "s", lowest=0, better="low", incredible=0.3)
ROUGE = Quantity(("rouge",), "s", lowest=0, highest=1, percent=True, incredible=0.97)


@pytest.mark.parametrize(
    ("quantity", "values", "beyond"),
    [
        (FID, [0.3, 0.1], True),
        (FID, [0.31, 0.1], False),  # it began like others
        (FID, [-0.5, 0.1], False),  # none that it can have
        (ROUGE, [97.0, 99.0], True),
        (ROUGE, [0.97, 0.99], True),
        (ROUGE, [0.969, 0.99], False),
        (DICE, [1.0, 1.0], False),  # nobody says what honest results come to
    ],
)
def test_what_is_better_than_any_honest_result_is_so_from_the_first_on(
    quantity: Quantity, values: list[float], beyond: bool
) -> None:
    assert (shown(quantities.beyond_belief, member("one", quantity, values)) == "one") is beyond


def test_nothing_is_right_where_a_share_in_new_data_is_exactly_zero() -> None:
    def nothing(name: str, quantity: Quantity, values: list[float]) -> bool:
        of_shares = quantities.nothing_right.among(member(name, quantity, values).series)
        return of_shares and shown(quantities.nothing_right, member(name, quantity, values)) == name

    assert nothing("val", DICE, [0.0, 0.0])
    assert not nothing("val", DICE, [0.0, 0.001])
    assert not nothing("train", DICE, [0.0, 0.0])
    assert not nothing("val", R2, [0.0, 0.0]), "no share of right answers"
    assert not nothing("val", AUC, [0.0, 0.0])


def test_one_code_is_used_where_the_perplexity_of_codes_is_next_to_one() -> None:
    recon = member("recon error", None, x(0.9, 8))

    def used(values: list[float]) -> str | None:
        return shown(codes.one_code_used, recon, member("perplexity", PPL, values))

    assert used([*x(30.0, 4), *x(1.2, 4)]) == "perplexity"
    assert used([*x(30.0, 4), *x(1.2, 3), 1.5]) is None
    assert used([*x(30.0, 4), *x(0.9, 4)]) is None, "no perplexity"
    assert shown(codes.one_code_used, member("perplexity", PPL, x(1.2, 8))) is None, "of a text"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"names": []}, "needs a name"),
        ({"lowest": 1, "highest": 1}, "must lie below"),
        ({"guess": 1}, "needs a `margin`"),
        ({"margin": 1}, "needs a `margin`"),
        ({"reverse": 1}, "needs a `margin`"),
        ({"better": "left"}, "Invalid enum"),
    ],
)
def test_a_quantity_that_makes_no_sense_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.convert({"names": ["one"], "source": "s"} | wrong, Quantity)
