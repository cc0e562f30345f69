"""Every case file of every rule, and what a case file must hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from hrmdoc import rulebook
from hrmdoc.examination.cases.case import check_file, load_cases
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.rulebook import MESSAGE, Rulebook

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.yaml"))


@cache
def book() -> Rulebook:
    return rulebook.load()


@cache
def matcher() -> SignatureMatcher:
    return SignatureMatcher(book())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_holds(path: Path) -> None:
    problems = [
        f"{case.title}: {problem}"
        for case, problem in check_file(path, book(), matcher())
        if problem is not None
    ]
    assert problems == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_near_miss_stands_before_the_first_hit(path: Path) -> None:
    cases = load_cases(path)
    assert cases.symptom == path.stem
    outcomes = [case.expect in ("present", "resolved") for case in cases.cases]
    assert outcomes[0] is False
    assert any(outcomes)


def test_every_symptom_has_its_cases_or_is_a_message() -> None:
    alive = {r.id for r in book().symptoms.values() if r.status != "deprecated" and r.when != MESSAGE}
    assert alive - {path.stem for path in FILES} == set()
