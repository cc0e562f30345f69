"""What conditions do as a run grows: what is asked again, what is kept, and where another run begins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import convert

from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.examination.cases.case import Case, check_file, examine, load_cases
from hrmdoc.examination.examine import Examination
from hrmdoc.examination.nodes import build
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.signatures import SignatureMatch, SignatureMatcher
from hrmdoc.examination.tracks import phases, rewinds
from hrmdoc.record.records import Event, Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import Nature, RoleGuess
from hrmdoc.rulebook import Rulebook, Signature, SymptomRule, When
from hrmdoc.rulebook.expressions import MissingInput
from tests.examination.small_runs import found, run_of

BOOK = Rulebook()


def grown(run: Run, *values: float) -> None:
    """The next points of the run of `run_of`, one each 10 steps."""
    series = run.best("train.loss")
    assert series is not None
    at = int(series.steps[-1]) + 10 * np.arange(1, len(values) + 1)
    run.add(Points("my_loss", at, np.array(values), at * math.nan, "x.log", rank=3))


def test_a_rule_that_shows_nothing_says_anew_what_it_lacks() -> None:
    when = When(detector="level", role="train.loss", enter=5.0, min_points=3)
    examination = Examination(
        run := run_of([1.0]), Rulebook(symptoms={"a": SymptomRule("a", "A", when, "p")})
    )
    said = []
    for _ in range(3):
        said.append(examination.advance()[0].missing)
        grown(run, 1.0)
    assert said == [(f"3 points of train.loss (have {have})",) for have in (1, 2)] + [()]


def test_a_threshold_follows_the_fact_that_it_is_computed_from() -> None:
    when = When(detector="level", role="train.loss", enter="=a.limit", min_points=1)
    run = run_of([5.0])
    run.add(Fact("a.limit", 9.0))
    examination = Examination(run, Rulebook(symptoms={"a": SymptomRule("a", "A", when, "p")}))
    assert examination.advance()[0].state == "absent"
    run.add(Fact("a.limit", 4.0))
    assert examination.advance()[0].state == "present"
    run.add(Fact("a.limit", 8.0))
    assert examination.advance()[0].state == "absent"


def test_a_check_of_the_whole_run_is_asked_again_whenever_the_run_changes() -> None:
    node = build(When(check="never_finite(train.loss)"), "x")
    run = run_of([1.0, 1.0, 1.0])
    assert node.evaluate(Scene(run)).state == "absent"
    series = next(iter(run.series.values()))
    series.role = RoleGuess("train.loss", guessed=True)
    at = np.arange(3)
    run.role_of = lambda _: RoleGuess("train.loss", guessed=True)
    run.add(Points("other_loss", at, np.full(3, math.nan), at * math.nan, "x.log"))
    assert node.evaluate(Scene(run)).state == "present"
    kept = build(When(check="a.x > 1"), "x")
    first = kept.evaluate(Scene(run, facts={"a.x": 2.0}))
    grown(run, 1.0)
    assert kept.evaluate(Scene(run, facts={"a.x": 2.0})) is first, "of facts alone, points change nothing"


@pytest.mark.parametrize(
    ("check", "facts", "missing"),
    [
        ("a.x > 1", {}, "a.x"),
        ("last(lr) > 1", {}, "lr"),
        ("leap(train.loss) > 1", {}, "more points of train.loss"),
        ("rank_ratio(train.loss) > 1", {}, "train.loss of 3 ranks"),
        ("scores_nothing()", {}, "6 points of a score"),
        ("term_exploded()", {}, "4 points of a loss or divergence"),
        ("seconds_below(train.loss, 9) > 1", {}, None),
        ("back_after(train.loss) > 1", {}, "more points of train.loss"),
    ],
)
def test_a_check_that_lacks_something_says_what(
    check: str, facts: dict[str, Any], missing: str | None
) -> None:
    told = found({"check": check}, run_of([1.0, 2.0]), facts=facts)
    assert (told.state, told.missing) == (("not_evaluated", (missing,)) if missing else ("present", ()))


def test_a_word_where_a_number_belongs_is_named_with_the_check() -> None:
    told = found({"check": "a.x > 1"}, run_of([1.0]), facts={"a.x": "auto"})
    assert told.state == "not_evaluated"
    assert "a.x" in told.missing[0] or "auto" in told.missing[0]


def test_what_a_config_leaves_out_is_no_number_of_a_sentence() -> None:
    facts = {"config.read": True, "a.x": 2.0}
    told = found({"check": "a.x > 1 and config.read"}, run_of([1.0]), facts=facts)
    assert told == Finding("present", values={"a.x": 2.0})


def test_of_several_parts_one_that_is_absent_counts_nothing() -> None:
    signature = Signature("one", "oom", "x", ("xxxxx",), "x")
    matches = {"oom": [(Line("x", "x.log", 1), SignatureMatch(signature))]}
    both = {"all": [{"lines": {"at_least": 2}}, {"check": "a.x > 1"}]}
    assert found(both, Run("x"), matches=matches, facts={"a.x": 2.0}) == Finding("absent")


def member(name: str, family: str, values: list[float], steps: list[int] | None = None) -> Run:
    run = Run("x", role_of=lambda _: RoleGuess(None))
    at = np.arange(len(values)) if steps is None else np.array(steps)
    run.add(Points(name, at, np.array(values), at * math.nan, "x.log"))
    next(iter(run.series.values())).nature = Nature(family, words=(name,), ceiling=1.0)
    return run


def test_functions_of_families_are_given_what_their_values_allow_and_of_the_last_run() -> None:
    def asked(run: Run) -> object:
        questions = Questions(Scene(run))
        try:
            shown = questions.functions(["scores_nothing"])["scores_nothing"]()
        except MissingInput as missing:
            return missing.name
        return shown, [one.key.metric for one in questions.asked]

    assert asked(member("f1", "score", [0.0] * 6)) == (True, ["f1"])
    assert asked(member("f1", "score", [0.5] * 6)) == (False, [])
    assert asked(member("f1", "score", [0.0] * 5)) == "6 points of a score"
    assert asked(member("f1", "loss", [0.0] * 6)) == "6 points of a score"
    assert asked(member("f1", "score", [0.0] * 5 + [9.0])) == "6 points of a score", "no score is that high"
    assert asked(member("acc", "score", [0.0] * 6)) == "6 points of a score"
    again = [*range(6), *range(6)]
    assert asked(member("f1", "score", [0.5] * 6 + [0.0] * 6, again)) == (True, ["f1"])
    assert asked(member("f1", "score", [0.0, math.nan, 0.0, 0.0, 0.0, 0.0])) == "6 points of a score"


@pytest.mark.parametrize(
    ("lengths", "wraps"),
    [
        ([100, 105, 95, 98, 102, 100], True),  # as far each time, but for a tenth
        ([100, 60, 122, 31, 217, 90], False),
        ([100, 100, 100, 40, 150, 60], True),  # half of them is enough
        ([100, 100, 40, 150, 60, 200], False),
    ],
)
def test_a_counter_wraps_where_half_of_its_stretches_come_as_far(lengths: list[int], wraps: bool) -> None:
    steps = np.concatenate([np.arange(0, 10 * n, 10) for n in lengths])
    assert rewinds(steps).wraps is wraps


@pytest.mark.parametrize(("length", "fresh"), [(6, True), (5, False)])
def test_folds_are_of_six_points_at_least(length: int, fresh: bool) -> None:
    steps, fold = np.tile(np.arange(length) * 5, 6), np.linspace(3.0, 1.0, length)
    assert rewinds(steps, np.tile(fold, 6)).wraps is not fresh


@pytest.mark.parametrize(("anew", "fresh"), [(4, True), (3, False)])
def test_folds_begin_anew_at_four_falls_in_five(anew: int, fresh: bool) -> None:
    steps = np.tile(np.arange(12), 6)
    fold, goes_on = np.linspace(3.0, 1.0, 12), np.linspace(1.0, 0.9, 12)
    values = np.concatenate([fold, *[fold] * anew, *[goes_on] * (5 - anew)])
    assert rewinds(steps, values).wraps is not fresh


def test_a_step_lies_in_a_phase_of_the_plan() -> None:
    steps = np.array([0, 9, 10, 11, 89, 90, 91])
    assert phases(steps, None, 100.0).tolist() == [1, 1, 2, 2, 2, 2, 3]
    assert phases(steps, 10.0, None).tolist() == [0, 0, 0, 2, 2, 2, 2]
    assert phases(steps, 95.0, 100.0).tolist() == [0] * 7


def launched(*events: Event, steps: list[int], axis: Any = "step") -> tuple[int, ...]:
    run = run_of([1.0] * len(steps), steps=steps, axis=axis)
    run.extend(events)
    series = run.best("train.loss")
    assert series is not None
    return Scene(run).falls(series).fresh


def test_a_launch_in_the_file_of_a_series_begins_another_run_in_it() -> None:
    lines, again = [*range(8)], [0, 10, 20, 30, 0, 10, 20, 30]
    launch = Event("launch", "x.log", 104)
    assert launched(launch, steps=lines) == (4,), "steps that are of lines go on over it"
    assert launched(launch, steps=again) == (4,)
    assert launched(Event("launch", "x.log", 103), steps=again) == (4,), "the steps fall back there anyway"
    assert launched(Event("launch", "other.log", 104), steps=lines) == ()
    assert launched(Event("launch", "x.log"), steps=lines) == ()
    assert launched(Event("start", "x.log", 104), steps=lines) == ()
    assert launched(launch, steps=lines, axis="epoch") == ()


SHIPPED = rulebook.load()
MATCHER = SignatureMatcher(SHIPPED)


def shown(symptom: str, **case: Any) -> tuple[str, int | None]:
    given = convert({"title": "x", "expect": "present", **case}, Case)
    one = examine(given, SHIPPED, MATCHER)[symptom]
    return one.state, one.first_step


def test_a_case_gives_steps_ranks_times_events_and_silence() -> None:
    broken = {"train.loss": "2x20 nanx5"}
    assert shown("loss-nonfinite", series=broken, steps=10) == ("present", 200)
    assert shown("loss-nonfinite", series={"train.loss": "2x20 nanx5 2x40"}, again_at=25)[0] == "resolved"
    assert shown("loss-nonfinite", series={"train.loss": "2x20 _x5"})[0] == "absent"
    again = {"train.loss": "2x20 2x20 nanx5"}
    assert shown("loss-nonfinite", series=again, again_at=20, steps=10) == ("present", 200)
    ranks = {f"step_time@{rank}": "1x20" for rank in range(3)} | {"step_time@3": "3x20"}
    slow = examine(convert({"title": "x", "expect": "present", "series": ranks}, Case), SHIPPED, MATCHER)
    assert {one.rank for one in slow.values() if one.seen and "rank" in one.id} == {3}
    restarts = [{"kind": "restart", "step": 100, "detail": "x"}] * 4
    assert shown("crash-loop", events=restarts, series={"train.loss": "2x120"})[0] == "present"
    quiet = {"series": {"train.loss": "2x30"}, "seconds": 1.0, "quiet_for": 99_999.0}
    assert shown("stall", **quiet)[0] == "present"
    assert shown("stall", **{**quiet, "quiet_for": 1.0})[0] == "absent"


def test_cases_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as error:
        load_cases(tmp_path / "gone.yaml")
    assert error.value.what == "cannot read the cases: No such file or directory"
    assert str(error.value.file) == str(tmp_path / "gone.yaml")
    (tmp_path / "a.yaml").write_text("symptom: loss-nonfinite\ncases:\n- {title: t, expect: present}\n")
    ((case, wrong),) = check_file(tmp_path / "a.yaml", SHIPPED, MATCHER)
    lacks = "train.loss or eval.loss or rl.policy_loss or rl.value_loss"
    assert (case.title, wrong) == ("t", f"expected present, found not_evaluated ({lacks})")
