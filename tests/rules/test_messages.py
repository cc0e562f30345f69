"""Every symptom that a message alone opens: by which lines, and when it is over."""

from __future__ import annotations

from functools import cache

import pytest

from hrmdoc import rulebook
from hrmdoc.examination.cases.case import Case, CaseLine, check_case
from hrmdoc.examination.cases.examples import check_examples
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.rulebook import MESSAGE, Rulebook, Signature


@cache
def book() -> Rulebook:
    return rulebook.load()


@cache
def matcher() -> SignatureMatcher:
    return SignatureMatcher(book())


MESSAGES = sorted(rule.id for rule in book().symptoms.values() if rule.when == MESSAGE)
WENT_ON = {"train.loss": "2.5-0.01~0.02x40"}


def signatures(symptom: str) -> list[Signature]:
    return [one for one in book().signatures.values() if one.symptom == symptom]


def problem(symptom: str, case: Case) -> str | None:
    return check_case(symptom, case, book(), matcher())


@pytest.mark.parametrize("symptom", MESSAGES)
def test_its_counterexamples_do_not_open_it(symptom: str) -> None:
    near = {line for one in signatures(symptom) for line in one.counterexamples}
    assert [problem for _, problem in check_examples(book(), matcher(), [], [symptom]) if problem] == []
    assert {line: problem(symptom, Case("near", "absent", lines=(line,))) for line in near} == dict.fromkeys(
        near
    )


@pytest.mark.parametrize("symptom", MESSAGES)
def test_it_opens_on_an_example_and_is_over_when_training_outlives_a_fatal_one(symptom: str) -> None:
    for signature in signatures(symptom)[:1]:
        example = signature.shown()[0].splitlines()
        assert problem(symptom, Case("message", "present", lines=tuple(example))) is None
        lines = tuple(CaseLine(text, 3) for text in example)
        outcome = "resolved" if signature.fatal else "present"
        assert problem(symptom, Case("survived", outcome, series=WENT_ON, lines=lines)) is None
