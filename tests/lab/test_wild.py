"""benchmarks.wild: what rules are loud on in samples of public logs, and where nothing else is."""

from __future__ import annotations

from benchmarks.wild import Judged, base_rates, families


def log(*loud: str, fault: bool = False) -> Judged:
    return Judged("log", fault, "warning" if loud else "healthy", frozenset(loud), frozenset(loud))


def test_a_rule_is_shown_with_the_faults_and_others_on_which_it_alone_is_loud() -> None:
    logs = [log("kl-high", "loss-zero", fault=True), log("kl-high"), log("kl-high"), log()]
    row = next(row for row in base_rates(logs) if row.startswith("| kl-high"))
    assert row.split(" | ")[6:8] == ["1 + 2", "0 + 2"]


def test_rules_of_one_family_count_once_and_are_alone_together() -> None:
    both = ("overfitting", "eval-past-best")
    assert [*families([log(*both, fault=True), log(*both, "kl-high")])] == [
        "| generalization | 1 + 1 | 1 + 0 |",
        "| kl | 0 + 1 | 0 + 0 |",
    ]
