"""benchmarks.ratios: what rules are worth on repositories that they were not measured on."""

from __future__ import annotations

import pytest

from benchmarks.ratios import Counts, Log, left_out, ordered
from benchmarks.wild import Judged

SIGN = ("loss-spike", "loud")


def log(repo: str, *rules: str, fault: bool = False) -> Log:
    return Log(repo, Judged(repo, fault, "warning", frozenset(rules), frozenset(rules)))


def test_what_shows_on_both_groups_alike_is_worth_nothing() -> None:
    logs = [log("a", "loss-spike", fault=True), log("b", fault=True), log("c", "loss-spike"), log("d")]
    assert Counts.of(logs).ratio(SIGN) == pytest.approx(1.0)


def test_a_rule_that_few_logs_show_is_worth_little_however_well_they_agree() -> None:
    telling = ("loss-doubled", "loss-zero", "score-zero", "loss-plateau")
    many = [log("a", *telling, fault=True)] * 20 + [log("b", *telling)] + [log("b")] * 99
    counts = Counts.of([*many, log("c", "loss-spike", fault=True)])
    few, often = counts.ratio(SIGN), counts.ratio(("loss-doubled", "loud"))
    assert 1 < few < 10 < often


def test_a_repository_does_not_count_for_itself() -> None:
    logs = [log("a", "loss-spike", fault=True)] * 5 + [log("b")] * 5 + [log("c", fault=True)]
    without = left_out(logs)
    assert without["a"].on_faults[SIGN] == 0
    assert without["b"].on_faults[SIGN] == 5
    assert without["a"].probability({SIGN}) < without["b"].probability({SIGN})


def test_order_counts_ties_as_half() -> None:
    assert ordered([0.9, 0.5, 0.5], [True, True, False]) == pytest.approx(0.75)
