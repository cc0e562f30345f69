"""What separates sick from healthy runs, and what only seems to."""

from __future__ import annotations

import random

import pytest

from hrmdoc.fleet.origin import Plain
from hrmdoc.fleet.separation import fisher, separations
from hrmdoc.fleet.summary import Summary


def of(number: int, sick: bool, **settings: Plain) -> Summary:
    return Summary(f"runs/{number}", "critical" if sick else "healthy", "", settings=dict(settings))


@pytest.mark.parametrize(
    ("table", "p"),
    [((3, 4, 4, 8), 0.48571), ((1, 10, 12, 24), 0.0027595), ((8, 10, 9, 16), 0.034965), ((0, 5, 0, 9), 1.0)],
)
def test_p_values_are_those_of_textbooks(table: tuple[int, int, int, int], p: float) -> None:
    assert fisher(*table) == pytest.approx(p, rel=1e-4)


def test_a_threshold_is_found_where_it_lies() -> None:
    rates = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
    runs = [of(n, rates[n % 5] >= 3e-3 and n != 3, lr=rates[n % 5], seed=n) for n in range(40)]
    (first, *_) = separations(runs)
    assert (first.cut, first.sick, first.of, first.others_sick, first.others) == (
        "lr >= 0.003",
        15,
        16,
        0,
        24,
    )
    assert [one.cut for one in separations(runs)] == ["lr >= 0.003"]


def test_settings_that_part_the_runs_alike_are_named_together() -> None:
    runs = [of(n, n % 2 == 1, lr=0.1 if n % 2 else 0.01, warmup=0 if n % 2 else 100) for n in range(20)]
    (only,) = separations(runs)
    assert only.alike == ("warmup",)
    assert only.tried == 1


def test_one_setting_by_two_names_is_told_once() -> None:
    rates = [0.1, 0.03, 0.003, 0.001]
    runs = [
        of(
            n,
            n % 4 < 2,
            **{"optimizer.lr": (rate := rates[n % 4]), "lr": rate, "peak": rate, "twice": 2 * rate},
        )
        for n in range(24)
    ]
    (only,) = separations(runs)
    assert only.cut == "optimizer.lr >= 0.03"
    assert only.alike == ("twice",)
    flags = [
        of(n, n % 2 == 1, **{"optimizer.nesterov": (flag := n % 2), "nesterov": flag, "fused": flag})
        for n in range(20)
    ]
    (only,) = separations(flags)
    assert only.alike == ("fused",), "two values may be the same by chance"


def test_chance_is_no_reason() -> None:
    dice = random.Random(3)
    runs = [of(n, dice.random() < 0.4, **{f"key{k}": dice.random() for k in range(60)}) for n in range(40)]
    assert separations(runs) == []


def test_few_runs_and_runs_without_a_verdict_say_nothing() -> None:
    assert separations([of(n, n > 2, lr=float(n > 2)) for n in range(5)]) == []
    unread = [Summary(f"runs/{n}", "no_data", "", settings={"lr": float(n)}) for n in range(50)]
    assert separations(unread) == []
