from __future__ import annotations

import pytest

from hrmdoc.remedies.policy import Gate
from hrmdoc.rulebook import Remedy, Verify
from hrmdoc.settings import Policy


def remedy(name: str, risk: str = "safe") -> Remedy:
    return Remedy(name, name, "action", risk, "w", Verify())  # type: ignore[arg-type]


def test_by_default_nothing_is_done_without_asking() -> None:
    assert Gate(Policy()).refusal(remedy("a"), 0.0) == "its risk is safe; without asking, nothing is allowed"


def test_only_the_allowed_risks_pass() -> None:
    gate = Gate(Policy(auto=("safe",)))
    assert gate.refusal(remedy("a", "guarded"), 0.0) == "its risk is guarded; without asking, safe is allowed"
    assert gate.refusal(remedy("a"), 0.0) is None


def test_a_remedy_is_not_repeated_and_the_next_one_waits() -> None:
    gate = Gate(Policy(auto=("safe",), max_per_run=2, cooldown_s=60.0))
    gate.record("a", 100.0)
    assert gate.refusal(remedy("a"), 1000.0) == "it was applied to this run before"
    assert gate.refusal(remedy("b"), 159.0) == "the last remedy was applied 59 s ago; 60 s must pass"
    assert gate.refusal(remedy("b"), 160.0) is None
    gate.record("b", 160.0)
    assert (
        gate.refusal(remedy("c"), 1000.0) == "2 remedies were applied to this run, the most that is allowed"
    )


def test_a_failed_remedy_is_not_repeated_and_holds_up_no_other() -> None:
    gate = Gate(Policy(auto=("safe",), max_per_run=1, cooldown_s=60.0))
    gate.record("a", 100.0, applied=False)
    assert gate.refusal(remedy("a"), 1000.0) == "it was tried on this run before, and could not be applied"
    assert gate.refusal(remedy("b"), 101.0) is None


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Policy(auto=("safe",), never=("a",)), "the policy rules a out"),
        (Policy(auto=("safe",), never=("too-hot",)), "the policy rules too-hot out"),
        (Policy(auto=("safe",), remedies=("b",)), "it is not among the remedies that the policy allows"),
        (Policy(auto=("safe",), causes=("too-cold",)), "the policy allows nothing for too-hot"),
        (Policy(auto=("safe",), remedies=("a",), causes=("too-hot",)), None),
    ],
)
def test_remedies_and_causes_are_allowed_and_ruled_out_by_name(policy: Policy, said: str | None) -> None:
    assert Gate(policy).refusal(remedy("a"), 0.0, "too-hot") == said


def test_what_asks_is_named_by_remedy_or_risk() -> None:
    gate = Gate(Policy(auto=("safe", "guarded"), ask=("guarded", "b")))
    assert [gate.asks(one) for one in (remedy("a"), remedy("b"), remedy("c", "guarded"))] == [
        False,
        True,
        True,
    ]


def test_what_a_person_is_asked_about_needs_no_other_leave() -> None:
    gate = Gate(Policy(auto=("safe",), ask=("a",), never=("b",)))
    assert gate.askable(remedy("a", "guarded"))
    assert gate.refusal(remedy("a", "guarded"), 0.0) is None
    assert not gate.askable(remedy("c", "guarded"))
    assert Gate(Policy(ask=("safe",), never=("b",))).refusal(remedy("b"), 0.0) == "the policy rules b out"


def test_what_was_taken_back_may_be_applied_again_and_counts_no_more() -> None:
    gate = Gate(Policy(auto=("safe",), max_per_run=1, cooldown_s=0.0))
    gate.record("a", 1.0)
    assert gate.refusal(remedy("a"), 2.0) is not None
    gate.forget("a")
    assert gate.refusal(remedy("a"), 2.0) is None
