"""What a finding says, whole: detectors, checks, and several conditions together."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import convert

from hrmdoc.examination.nodes import build
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.record.records import Points
from hrmdoc.rulebook import When
from tests.examination.small_runs import found, run_of

NAN = float("nan")
LEVEL = {"detector": "level", "role": "train.loss", "enter": 5.0, "leave": 4.0, "min_points": 1}


def test_an_episode_that_lasts_says_where_it_began_how_high_it_is_and_for_how_long() -> None:
    assert found(LEVEL, run_of([1, NAN, 6, 9, 7])) == Finding(
        "present",
        role="train.loss",
        metric="my_loss",
        first_step=20,
        last_step=40,
        first_time=1010.0,
        count=1,
        values={
            "value": 6.0,
            "peak": 9.0,
            "score": 9.0,
            "recent": 7.0,
            "first": 1.0,
            "last": 7.0,
            "now": 7.0,
            "reached": 7.0,
            "unit": "step",
            "best": 1.0,
            "highest": 9.0,
            "enter": 5.0,
            "episodes": 1,
            "held": 3,
            "duration": 3,
            "points": 5,
            "in_all": 5,
            "of_last_run": True,
        },
        file="x.log",
        line=103,
        rank=3,
        score=9.0,
    )


def test_a_value_that_has_stood_from_the_first_point_on_is_told_from_there() -> None:
    zero = {**LEVEL, "enter": 1e-6, "leave": 1e-5, "direction": "below", "min_points": 4, "patience": 3}
    always, since = found(zero, run_of([0] * 9)), found(zero, run_of([2, 1, *[0] * 7]))
    assert (always.first_step, always.values["held"], always.values["in_all"]) == (0, 9, 9)
    assert (since.first_step, since.values["held"]) == (20, 7)


def test_a_value_between_both_thresholds_is_said_to_be_beyond_the_one_that_it_is_beyond() -> None:
    assert found(LEVEL, run_of([6, 6, 4.5])).values["enter"] == 4.0
    assert found(LEVEL, run_of([6, 4.5, 6])).values["enter"] == 5.0


def test_an_episode_that_is_over_says_where_it_ended_and_how_high_it_was() -> None:
    told = found(LEVEL, run_of([1, 6, 9, 2, 8, 1, 1]))
    assert (told.state, told.first_step, told.last_step, told.count) == ("resolved", 10, 30, 2)
    asked = ("value", "peak", "score", "recent", "reached", "duration", "episodes", "best", "highest")
    assert [told.values[name] for name in ("held", "points", "in_all")] == [3, 3, 7]
    assert [told.values[name] for name in asked] == [6.0, 9.0, 9.0, 9.0, 9.0, 2, 2, 1.0, 9.0]


def test_nothing_before_the_fewest_points_opens_an_episode() -> None:
    late = {**LEVEL, "min_points": 3}
    assert found(late, run_of([9, 8, 9])).first_step == 20
    assert found(late, run_of([9, 9, 1])).state == "absent"
    few = found(late, run_of([9, 9]))
    assert (few.state, few.missing) == ("not_evaluated", ("3 points of train.loss (have 2)",))
    assert (few.role, few.metric) == ("train.loss", "my_loss")
    early = found({**LEVEL, "with": {"smooth": 5}}, run_of([9, 9]))
    assert (early.state, early.missing) == ("not_evaluated", ("more points of train.loss",))


@pytest.mark.parametrize(("axis", "unit"), [("epoch", "epoch"), ("index", "point"), ("sample", "sample")])
def test_steps_are_called_what_they_count(axis: str, unit: str) -> None:
    assert found(LEVEL, run_of([1, 6, 9], axis=axis)).values["unit"] == unit


AGAIN = [*range(0, 80, 10), *range(0, 80, 10)]
"""The steps of two runs, one behind the other."""


def test_what_a_run_before_showed_is_over_with_it_and_the_new_one_waits_for_its_own_points() -> None:
    first = found(LEVEL, run_of([1, 6, 9, 9, 9, 9, 9, 9, *[1] * 8], steps=AGAIN))
    assert (first.state, first.values["of_last_run"]) == ("resolved", False)
    assert (first.first_step, first.last_step, first.values["best"]) == (10, 70, 1.0)
    told = ("last", "reached", "now", "held", "points", "in_all")
    assert [first.values[name] for name in told] == [9.0, 9.0, 1.0, 7, 8, 8], "of the run before, but for now"
    second = found({**LEVEL, "min_points": 3}, run_of([*[1] * 8, 9, 8, 9, *[9] * 5], steps=AGAIN))
    assert (second.state, second.first_step, second.line) == ("present", 20, 111)
    assert (second.values["first"], second.values["duration"], second.values["of_last_run"]) == (9.0, 6, True)


def test_every_run_of_a_file_is_judged_with_the_parameters_of_the_rule() -> None:
    halved = {**LEVEL, "with": {"unit": 2.0}}
    assert found(halved, run_of([1] * 8 + [9] * 8, steps=AGAIN)).state == "absent"
    assert found(halved, run_of([1] * 8 + [12] * 8, steps=AGAIN)).state == "present"


def test_scores_are_those_of_the_phases_that_a_rule_speaks_of() -> None:
    when, run = convert(LEVEL, When), run_of([9, 9, 1, 1, 1, 1, 9, 1, 1, 9])
    facts = {"schedule.warmup_steps": 10, "run.total_steps": 100}
    for phases, step in ((("warmup",), 0), (("middle", "end"), 90), (("end",), None)):
        node = build(when, "x", phases)
        assert node.evaluate(Scene(run, facts=facts)).first_step == step, phases
    assert build(when, "x", ("warmup",)).evaluate(Scene(run)).state == "not_evaluated"


def test_a_detector_goes_on_where_it_stopped_and_begins_anew_where_its_source_changed() -> None:
    node, run = build(convert({**LEVEL, "patience": 3}, When), "x"), run_of([1, 6, 6])
    assert node.evaluate(Scene(run)).state == "absent"
    run.add(Points("my_loss", np.array([30]), np.array([6.0]), np.array([1015.0]), "x.log", rank=3))
    assert node.evaluate(Scene(run)).first_step == 10
    assert node.evaluate(Scene(run)) == node.evaluate(Scene(run))
    other = run_of([1, 1, 1, 1])
    assert node.evaluate(Scene(other)).state == "absent"


def test_all_parts_together_speak_with_the_words_of_the_first_that_has_a_place() -> None:
    run = run_of([1, 6, 6, 6, 9])
    check = {"check": "optimizer.lr > 0.01"}
    both = found({"all": [check, LEVEL]}, run, facts={"optimizer.lr": 0.1})
    assert (both.state, both.metric, both.first_step, both.line) == ("present", "my_loss", 10, 102)
    assert both.values["optimizer.lr"] == 0.1
    assert both.values["peak"] == 9.0
    over = found({"all": [LEVEL, {"check": "last(train.loss) < 5"}]}, run_of([1, 6, 1, 1]))
    assert (over.state, over.first_step) == ("resolved", 10)
    missing = found({"all": [{"check": "a.b > 1"}, {"check": "c.d > 1"}]}, run)
    assert missing == Finding("not_evaluated", missing=("a.b", "c.d"))
    absent = found({"all": [{**LEVEL, "enter": 99.0}, {"check": "a.b > 1"}]}, run)
    assert (absent.state, absent.count, absent.metric) == ("absent", 0, "my_loss")


def test_parts_that_were_not_there_at_once_are_absent_together() -> None:
    low = {**LEVEL, "enter": 0.5, "leave": 0.6, "direction": "below"}
    apart = found({"all": [LEVEL, low]}, run_of([1, 6, 1, 1, 0, 0]))
    assert (apart.state, apart.count) == ("absent", 0)


def test_the_absence_of_a_part_is_told_of_its_metric() -> None:
    assert found({"absent": LEVEL}, run_of([1, 1])) == Finding("present", role="train.loss", metric="my_loss")
    assert found({"absent": LEVEL}, run_of([6, 6])) == Finding("absent", role="train.loss", metric="my_loss")
    over = found({"absent": LEVEL}, run_of([6, 1]))
    assert over.state == "present", "what is over is not there"


def test_a_check_says_what_it_was_asked_of_and_since_when_it_holds() -> None:
    run = run_of([1, 6, 1, 7, 7], axis="epoch")
    told = found({"check": "last(train.loss) > optimizer.lr"}, run, facts={"optimizer.lr": 5.0})
    assert told == Finding(
        "present",
        role="train.loss",
        metric="my_loss",
        first_step=30,
        first_time=1015.0,
        values={
            "first": 1.0,
            "last": 7.0,
            "now": 7.0,
            "best": 1.0,
            "highest": 7.0,
            "points": 5,
            "optimizer.lr": 5.0,
            "unit": "epoch",
        },
    )
    lost = found({"check": "last_step(train.loss) == 10"}, run_of([NAN, NAN]))
    assert (lost.values["points"], lost.values["duration"], lost.metric) == (2, 2, "my_loss")
    assert np.isnan([lost.values[name] for name in ("value", "best", "highest", "first")]).all()
