"""Case files of rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import convert

from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.examination.cases.case import Case, check_case, check_file, examine, load_cases
from hrmdoc.examination.signatures import SignatureMatcher

BOOK = rulebook.load()
MATCHER = SignatureMatcher(BOOK)


MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def outcome(**given: object) -> str | None:
    return check_case("loss-nonfinite", Case(title="x", **given), BOOK, MATCHER)  # type: ignore[arg-type]


def test_a_case_that_holds_has_nothing_to_say() -> None:
    assert outcome(series={"train.loss": "2x20"}, expect="absent") is None
    assert outcome(series={"train.loss": "2x20 nanx5"}, expect="present", from_step=20, by_step=20) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"expect": "present"}, "expected present, found absent"),
        (
            {"series": {"train.loss": "2x20 nanx5"}, "expect": "present", "from_step": 21},
            "began at step 20, expected not before 21",
        ),
        (
            {"series": {"train.loss": "2x20 nanx5"}, "expect": "present", "by_step": 19},
            "began at step 20, expected by 19",
        ),
        (
            {"series": {"train.loss": "2x20 nanx5"}, "expect": "present", "severity": "info"},
            "severity is critical, expected info",
        ),
    ],
)
def test_a_case_that_fails_says_how(given: dict[str, object], said: str) -> None:
    assert outcome(**{"series": {"train.loss": "2x20"}, **given}) == said


def test_a_missing_point_is_not_a_nan() -> None:
    assert outcome(series={"train.loss": "2x20 _x5 2x5"}, expect="absent") is None


def test_the_rank_of_a_line_is_read_from_its_prefix() -> None:
    case = Case(
        title="x",
        lines=(
            "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
            "GPU 0 has a total capacity of 15.77 GiB of which 1.00 GiB is free.",
        ),
        expect="present",
    )
    assert examine(case, BOOK, MATCHER)["oom-cuda"].rank == 3


@pytest.mark.parametrize(
    "text", ["cases: []", "symptom: x\ncases: [{title: t}]", "a: [", "symptom: x\nother: 1\ncases: []"]
)
def test_a_file_that_is_no_case_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(RuleError, match=r"x\.yaml"):
        load_cases(path)


def test_a_symptom_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("symptom: no-such-thing\ncases: [{title: t, expect: absent}]\n")
    with pytest.raises(RuleError, match="no symptom 'no-such-thing'"):
        list(check_file(path, BOOK, MATCHER))


def test_a_line_stands_at_the_step_that_the_case_gives_it() -> None:
    written = convert(
        {"title": "x", "lines": [{"text": MEMORY, "step": 7}, MEMORY], "expect": "present"}, Case
    )
    assert examine(written, BOOK, MATCHER)["oom-cuda"].first_step == 7
