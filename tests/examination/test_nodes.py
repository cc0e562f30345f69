"""Conditions at work on small runs."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import convert

from hrmdoc.examination.nodes import build
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.examination.watching import strongest
from hrmdoc.record.events import Events
from hrmdoc.record.records import Event, Fact, Line, Points, Tick
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Signature, When


def scene(values: list[float] | None = None, **more: object) -> Scene:
    run = Run("x", role_of=RoleGuess)
    if values is not None:
        numbers = np.array(values, np.float64)
        steps = np.arange(len(numbers), dtype=np.int64)
        run.add(
            Points("train.loss", steps, numbers, steps.astype(np.float64) * 10.0, "x.log", lines=steps + 1)
        )
    return Scene(run, **more)  # type: ignore[arg-type]


def level(direction: str, enter: float, leave: float) -> When:
    return When(
        detector="level", role="train.loss", enter=enter, leave=leave, direction=direction, min_points=1
    )  # type: ignore[arg-type]


def test_a_condition_without_its_metric_is_not_evaluated() -> None:
    found = build(level("above", 5, 4), "x").evaluate(scene())
    assert (found.state, found.missing) == ("not_evaluated", ("train.loss",))


def test_too_few_points_are_not_evaluated() -> None:
    when = When(detector="level", role="train.loss", enter=5.0, min_points=10)
    assert build(when, "x").evaluate(scene([9.0] * 5)).state == "not_evaluated"


def test_of_closed_episodes_above_the_highest_speaks() -> None:
    found = build(level("above", 5, 4), "x").evaluate(scene([1, 7, 1, 9, 1, 6, 1]))
    assert (found.state, found.first_step, found.count) == ("resolved", 3, 3)


def test_of_closed_episodes_below_the_lowest_speaks() -> None:
    found = build(level("below", -5, -4), "x").evaluate(scene([-1, -7, -1, -9, -1, -6, -1]))
    assert (found.state, found.first_step, found.count) == ("resolved", 3, 3)
    found = build(level("below", 0.5, 0.6), "x").evaluate(scene([1, 0.4, 1, 0.1, 1, 0.3, 1]))
    assert (found.state, found.first_step) == ("resolved", 3)


def test_an_open_episode_speaks_before_a_stronger_closed_one() -> None:
    found = build(level("above", 5, 4), "x").evaluate(scene([1, 9, 1, 6, 6]))
    assert (found.state, found.first_step, found.line) == ("present", 3, 4)


def test_a_check_points_to_the_line_of_its_fact() -> None:
    facts = {"optimizer.lr": 0.1}
    places = {"optimizer.lr": Fact("optimizer.lr", 0.1, "run", "c.yaml", 7)}
    found = build(When(check="optimizer.lr > 0.01"), "x").evaluate(scene(facts=facts, places=places))
    assert (found.state, found.file, found.line) == ("present", "c.yaml", 7)


def test_a_check_on_a_word_where_a_number_belongs_is_not_evaluated() -> None:
    found = build(When(check="optimizer.lr > 0.01"), "x").evaluate(scene(facts={"optimizer.lr": "auto"}))
    assert found.state == "not_evaluated"


@pytest.mark.parametrize(("quiet", "state"), [(20.0, "absent"), (500.0, "present")])
def test_silence_is_measured_against_the_usual_interval(quiet: float, state: str) -> None:
    where = scene([1.0] * 20)
    where.run.add(Tick(quiet))
    found = build(convert({"silence": {"factor": 10, "floor": 30}}, When), "x").evaluate(where)
    assert found.state == state
    assert found.values == {"value": quiet, "usual": 10.0, "enter": 100.0}
    place = (19, 19, 190.0, 1) if state == "present" else (None, None, None, 0)
    assert (found.first_step, found.last_step, found.first_time, found.count) == place


SILENT = convert({"silence": {"factor": 10, "floor": 30, "start": 90}}, When)


def test_a_run_that_told_of_its_end_is_not_silent() -> None:
    where = scene([1.0] * 20)
    where.run.add(Event("end"))
    where.run.add(Tick(9999.0))
    assert build(SILENT, "x").evaluate(where).state == "absent"


def test_a_run_at_its_planned_end_is_not_silent() -> None:
    where = scene([1.0] * 20, facts={"run.total_steps": 20})
    where.run.add(Tick(9999.0))
    assert build(SILENT, "x").evaluate(where).state == "absent"


def test_silence_that_nobody_watched_is_not_judged() -> None:
    where = scene([1.0] * 20)
    where.run.add(Tick(closed=True))
    assert build(SILENT, "x").evaluate(where).state == "not_evaluated"


@pytest.mark.parametrize(("quiet", "state"), [(80.0, "absent"), (100.0, "present")])
def test_without_a_pace_silence_has_the_limit_of_the_start(quiet: float, state: str) -> None:
    where = scene()
    where.run.line_count = 3
    where.run.add(Tick(quiet))
    assert build(SILENT, "x").evaluate(where).state == state


def test_a_run_of_which_nothing_was_read_is_not_silent() -> None:
    where = scene()
    where.run.add(Tick(9999.0))
    assert build(SILENT, "x").evaluate(where).state == "not_evaluated"


def test_events_count_within_so_little_progress() -> None:
    when = convert({"event": {"kind": "restart", "at_least": 3, "within_steps": 10}}, When)
    where = scene([1.0] * 5)
    for step in (0, 50, 100):
        where.run.add(Event("restart", step=step))
    assert build(when, "x").evaluate(where).state == "absent"
    for step in (101, 102):
        where.run.add(Event("restart", step=step))
    assert build(when, "x").evaluate(where).state == "present"


def test_no_check_is_asked_behind_a_part_that_is_absent() -> None:
    class Asked(dict[str, float]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            asked.append(key)
            return super().get(key, default)

    asked: list[str] = []
    both = build(When(all=(When(check="a.x > 9"), When(check="b.x > 9"))), "x")
    assert both.evaluate(scene(facts=Asked({"a.x": 1.0, "b.x": 10.0}))).state == "absent"
    assert set(asked) == {"a.x"}
    assert both.evaluate(scene(facts=Asked({"a.x": 10.0, "b.x": 10.0}))).state == "present"


def test_all_needs_every_part_and_any_needs_one() -> None:
    facts = {"a.x": 1, "b.x": 5}
    both = When(all=(When(check="a.x > 0"), When(check="b.x > 9")))
    either = When(any=(When(check="a.x > 0"), When(check="b.x > 9")))
    assert build(both, "x").evaluate(scene(facts=facts)).state == "absent"
    assert build(either, "x").evaluate(scene(facts=facts)).state == "present"
    assert build(When(absent=When(check="b.x > 9")), "x").evaluate(scene(facts=facts)).state == "present"
    assert (
        build(When(absent=When(check="c.x > 9")), "x").evaluate(scene(facts=facts)).state == "not_evaluated"
    )


def test_the_earliest_of_equal_findings_speaks_and_absence_beats_ignorance() -> None:
    late, early = Finding("present", first_step=9), Finding("present", first_step=3)
    assert strongest([late, early]) is early
    assert strongest([Finding("not_evaluated"), Finding("absent")]).state == "absent"
    assert strongest(
        [Finding("not_evaluated", missing=("a",)), Finding("not_evaluated", missing=("b",))]
    ).missing == ("a", "b")


def test_a_check_on_a_series_says_what_its_sentence_needs() -> None:
    run = Run("x", role_of=RoleGuess)
    run.add(Points("train.loss", np.arange(3), np.array([3.0, 1.0, 2.0]), np.zeros(3), "a.log"))
    found = build(When(check="count(lr) == 0 and last(train.loss) > 1"), "x").evaluate(Scene(run))
    assert (found.metric, found.role) == ("train.loss", "train.loss")
    assert found.values == {"first": 3.0, "last": 2.0, "now": 2.0, "best": 1.0, "highest": 3.0, "points": 3}


def test_a_check_began_where_its_condition_came_true_for_good() -> None:
    found = build(When(check="max_of(train.loss) > 5"), "x").evaluate(scene([1, 2, 3, 9, 1, 1, 1, 1]))
    assert (found.first_step, found.first_time) == (3, 30.0)
    found = build(When(check="count(train.loss) >= 2 and last(train.loss) < 5"), "x").evaluate(
        scene([9, 1, 9, 9, 9, 1, 1, 1])
    )
    assert found.first_step == 5


def test_what_other_symptoms_tell_counts_from_their_own_step_on() -> None:
    later = {"loss-spike": Finding("present", first_step=4)}
    found = build(When(check="seen('loss-spike') and last(train.loss) > 0"), "x").evaluate(
        scene([1.0] * 8, found=later.get)
    )
    assert found.first_step == 4


def test_a_check_of_series_that_count_different_things_tells_no_step() -> None:
    here = scene([1.0] * 8)
    here.run.add(Points("eval.loss", np.arange(3), np.ones(3), np.zeros(3), "x.log", axis="epoch"))
    assert build(When(check="last(train.loss) + last(eval.loss) == 2"), "x").evaluate(here).first_step is None
    assert build(When(check="last(eval.loss) == 1"), "x").evaluate(here).first_step == 0


def test_beside_a_check_a_detector_tells_when_it_began() -> None:
    both = When(all=(level("above", 5, 4), When(check="last(train.loss) > 8")))
    assert build(both, "x").evaluate(scene([1, 6, 6, 6, 9])).first_step == 1
    either = When(any=(level("above", 5, 4), When(check="last(train.loss) > 0")))
    assert build(either, "x").evaluate(scene([1, 6, 6, 6, 9])).first_step == 1


def refusals(*lines: int, told: tuple[int, ...] = (), told_in: str = "x.log") -> Scene:
    refused, over = (
        Signature("refused", "oom", "x", ("x",), "x"),
        Signature("over", "pressure", "y", ("y",), "y", fatal=False),
    )
    matches = {
        "oom": [(Line("x", "x.log", number), SignatureMatch(refused)) for number in lines],
        "pressure": [(Line("y", told_in, number), SignatureMatch(over)) for number in told],
    }
    return scene(matches=matches)


@pytest.mark.parametrize(
    ("where", "state"),
    [
        (refusals(5), "present"),
        (refusals(5, told=(4,)), "present"),
        (refusals(5, told=(306,)), "present"),
        (refusals(5, told=(6,), told_in="y.log"), "present"),
        (refusals(5, 9, told=(6,)), "present"),
        (refusals(5, told=(5,)), "resolved"),
        (refusals(5, 9, told=(12, 6)), "resolved"),
        (refusals(5, told=(305,)), "resolved"),
    ],
)
def test_lines_are_over_where_the_program_says_behind_each_of_them_that_it_goes_on(
    where: Scene, state: str
) -> None:
    assert build(convert({"lines": {"got_over": "over"}}, When), "oom").evaluate(where).state == state
    assert build(convert({"lines": {}}, When), "oom").evaluate(where).state == "present"


def test_a_check_is_computed_again_when_an_input_changed_and_only_then() -> None:
    node = build(When(check="last(train.loss) > optimizer.lr"), "x")
    first = scene([1, 2, 3], facts={"optimizer.lr": 2.0})
    found = node.evaluate(first)
    assert found.state == "present"
    assert node.evaluate(Scene(first.run, {"optimizer.lr": 2.0})) is found
    assert node.evaluate(Scene(first.run, {"optimizer.lr": 9.0})).state == "absent"
    steps = np.array([3])
    first.run.add(Points("train.loss", steps, np.array([10.0]), steps * 10.0, "x.log", lines=steps + 1))
    assert node.evaluate(Scene(first.run, {"optimizer.lr": 9.0})).state == "present"


def test_a_check_of_other_symptoms_is_computed_again_when_they_changed() -> None:
    node, run = build(When(check="present('loss-spike')"), "x"), scene([1]).run
    states = ("absent", "present", "absent")
    found = [node.evaluate(Scene(run, found=lambda _, state=state: Finding(state))).state for state in states]
    assert found == ["absent", "present", "absent"]


def gap(values: list[float] | None, other: list[float] | None) -> Finding:
    """A detector of two roles, over a run that has the one, the other, or both."""
    run = Run("x", role_of=RoleGuess)
    for role, numbers in (("eval.loss", values), ("train.loss", other)):
        if numbers is not None:
            at = np.arange(len(numbers))
            run.add(Points(role, at, np.array(numbers, np.float64), at * 10.0, "x.log"))
    when = When(detector="gap", role="eval.loss", against="train.loss", enter=0.5, min_points=1)
    return build(when, "x").evaluate(Scene(run, closed=True))


def test_a_detector_of_two_roles_needs_both_and_names_the_one_that_is_not_there() -> None:
    assert gap([4.0] * 8, [1.0] * 8).state == "present"
    assert (gap([4.0] * 8, None).state, gap([4.0] * 8, None).missing) == ("not_evaluated", ("train.loss",))
    assert gap(None, [1.0] * 8).missing == ("eval.loss",)
    assert gap(None, None).missing == ("eval.loss", "train.loss")


def test_a_role_is_not_compared_with_itself() -> None:
    run = scene([1.0] * 8).run
    when = When(detector="gap", role="train.loss", against="train.loss", enter=0.5, min_points=1)
    assert build(when, "x").evaluate(Scene(run)).missing == ("a train.loss of its own",)


def test_an_episode_is_described_by_the_values_where_it_opened_was_strongest_and_ended() -> None:
    found = build(level("above", 5.0, 4.0), "x").evaluate(scene([1, 6, 9, 7, 2, 3]))
    assert (found.state, found.first_step, found.last_step, found.count) == ("resolved", 1, 4, 1)
    told = {name: found.values[name] for name in ("value", "peak", "first", "last", "now", "best")}
    assert told == {"value": 6.0, "peak": 9.0, "first": 1.0, "last": 7.0, "now": 3.0, "best": 1.0}
    assert (found.values["highest"], found.values["duration"], found.values["points"]) == (9.0, 3, 4)
    assert (found.values["reached"], found.values["of_last_run"]) == (9.0, True)


def test_events_are_described_by_the_first_and_the_last_of_those_that_count() -> None:
    when = convert({"event": {"kind": "restart", "at_least": 2}}, When)
    where = scene([1.0] * 5)
    for step in (3, 5, 9):
        where.run.add(Event("restart", "x.log", step, step, 10.0 * step, rank=step, detail=f"at {step}"))
    found = build(when, "x").evaluate(where)
    assert (found.first_step, found.first_time, found.rank) == (5, 50.0, 5)
    assert (found.last_step, found.file, found.line, found.values) == (9, "x.log", 9, {"detail": "at 9"})
    assert found.count == 3
    where.run.events = Events([Event("restart", "x.log", 1, 1)] * 2)
    assert build(when, "x").evaluate(where).first_time is None
