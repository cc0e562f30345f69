"""What facts and findings say about a cause beforehand."""

from __future__ import annotations

import math

import pytest

from hrmdoc import rulebook
from hrmdoc.diagnosis.circumstances import Circumstances, facts_asked
from hrmdoc.diagnosis.diagnose import diagnose
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Cause, Given, Rulebook, SymptomRule, When

CLIPPED = Given("0 < optimizer.grad_clip <= 10", 0.1, "gradients are clipped")
BARE = Given(
    "optimizer.grad_clip <= 0 and not seen('steady', 'solved')", 3.0, "the config clips no gradients"
)
LATE = Given("began('spike') > 0.5 * run.total_steps", 0.5, "it began late")


def cause(name: str, *given: Given, prior: float = 0.02) -> Cause:
    return Cause(
        id=name, title=name.title(), prior=prior, produces={"spike": 0.6}, playbook="page", given=given
    )


def book(*causes: Cause) -> Rulebook:
    rule = SymptomRule(id="spike", title="Spike", when=When(check="1"), playbook="page", leak=0.01)
    return Rulebook(symptoms={"spike": rule}, causes={one.id: one for one in causes})


def spike(step: int | None = 700) -> Symptom:
    return Symptom("spike", title="Spike", state="present", severity="warning", first_step=step)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        (CLIPPED, {}),
        (CLIPPED, {"optimizer.grad_clip": 0.0}),
        (BARE, {"optimizer.grad_clip": 1.0}),
        (LATE, {"run.total_steps": 2000}),
    ],
)
def test_what_is_unknown_or_otherwise_leaves_the_prior_as_written(
    given: Given, facts: dict[str, float]
) -> None:
    assert Circumstances.of([spike()], facts).prior(cause("clip", given)) == pytest.approx(0.02)


def test_a_symptom_without_a_step_has_no_beginning() -> None:
    assert Circumstances.of([spike(None)], {"run.total_steps": 10}).holding(cause("batch", LATE)) == []


def test_one_of_several_symptoms_is_enough_to_be_seen() -> None:
    steady = Symptom("solved", title="", state="resolved", severity="info")
    circumstances = Circumstances.of([spike(), steady], {"optimizer.grad_clip": 0.0})
    assert circumstances.holding(cause("clip", BARE)) == []


def test_circumstances_multiply_the_odds() -> None:
    both = cause("clip", BARE, LATE, prior=0.2)
    facts = {"optimizer.grad_clip": 0.0, "run.total_steps": 1000}
    prior = Circumstances.of([spike()], facts).prior(both)
    assert prior / (1 - prior) == pytest.approx(0.25 * 3.0 * 0.5)


def test_of_two_causes_with_the_same_symptom_the_settings_decide_and_are_told_as_evidence() -> None:
    rules = book(cause("batch"), cause("clip", CLIPPED, BARE))
    clipped = diagnose([spike()], rules, facts={"optimizer.grad_clip": 1.0})
    bare = diagnose([spike()], rules, facts={"optimizer.grad_clip": 0.0})
    assert [one.cause for one in clipped.hypotheses] == ["batch", "clip"]
    assert [one.cause for one in bare.hypotheses] == ["clip", "batch"]
    assert [(one.symptom, one.text) for one in bare.hypotheses[0].for_ if not one.symptom] == [
        ("", "the config clips no gradients")
    ]
    against = [one for one in clipped.hypotheses[1].against if not one.symptom]
    assert [one.log_odds for one in against] == [pytest.approx(math.log(0.1))]


def test_a_cause_of_which_nothing_shows_is_not_asked_for_its_circumstances() -> None:
    nonsense = Given("no_such_function(optimizer.lr)", 2.0, "")
    quiet = Cause(
        id="quiet", title="Quiet", prior=0.02, produces={"other": 0.5}, playbook="page", given=(nonsense,)
    )
    assert (
        diagnose([spike()], book(cause("batch"), quiet), facts={"optimizer.lr": 1.0}).hypotheses[0].cause
        == "batch"
    )


def test_facts_that_circumstances_look_at_are_known_by_name() -> None:
    assert facts_asked(book(cause("clip", CLIPPED, LATE))) == {"optimizer.grad_clip", "run.total_steps"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (Given("seen('spike', 'spikes')", 2.0, ""), "no symptom 'spikes'"),
        (Given("optimizer.lr > 1", 0.0, ""), "odds are above 0"),
    ],
)
def test_a_flawed_circumstance_is_found_by_the_check_of_the_rules(given: Given, problem: str) -> None:
    assert any(problem in one for one in rulebook.check(book(cause("batch", given))))
