"""What an examination knows of a run before any rule is asked, and which of its findings are over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc.examination.examine import Examination, facts_in
from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.examination.symptom import Symptom
from hrmdoc.examination.tracks import rewinds
from hrmdoc.record.records import Event, Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Rulebook, Signature, SymptomRule, When
from hrmdoc.rulebook.schema.symptoms import Applies, Needs


def run_of(*records: Any, steps: Any = None, **series: list[float]) -> Run:
    run = Run("x", role_of=RoleGuess)
    for name, values in series.items():
        at = np.arange(len(values)) if steps is None else np.array(steps)
        times, lines = np.full(len(values), math.nan), np.arange(len(values)) + 1
        run.add(Points(name.replace("_", ".", 1), at, np.array(values, np.float64), times, "x.log", lines))
    run.extend(records)
    return run


def rule(name: str = "high", **more: Any) -> SymptomRule:
    when = more.pop("when", When(detector="level", role="train.loss", enter=5.0, min_points=1))
    return SymptomRule(name, name, when, "loss", **more)


def symptom(run: Run, one: SymptomRule, *, facts: Any = None, closed: bool = True) -> Symptom:
    (found,) = Examination(run, Rulebook(symptoms={one.id: one}), facts=facts).advance(closed=closed)
    return found


@pytest.mark.parametrize(
    ("size", "gib"),
    [("3 GiB", 3.0), ("3GB", 3.0), ("512 MiB", 0.5), ("1048576 KiB", 1.0), ("2 TiB", 2048.0),
     ("1.5 GiB", 1.5), ("3 B", None), ("3 giB", None), ("", None)],
)  # fmt: skip
def test_the_size_of_a_memory_is_a_fact_in_gib(size: str, gib: float | None) -> None:
    signature = Signature("oom", "oom", "x", ("xxxxx",), "x", facts={"free": "device.free_gib"})
    told = list(facts_in(Line("x", "a.log", 7), SignatureMatch(signature, {"free": size})))
    assert told == ([] if gib is None else [Fact("device.free_gib", gib, "run", "a.log", 7)])
    assert list(facts_in(Line("x", "a.log", 7), SignatureMatch(signature, {}))) == []


@pytest.mark.parametrize(
    ("value", "known"),
    [("7", 7), ("-7", -7), ("1e-3", 1e-3), ("2.5", 2.5), ("1E3", 1000.0), ("7b", "7b"),
     ("", ""), (True, True)],
)  # fmt: skip
def test_a_word_that_spells_a_number_is_that_number(value: Any, known: Any) -> None:
    examination = Examination(run_of(Fact("own.key", value)), Rulebook())
    examination.advance()
    found = examination.situation.facts["own.key"]
    assert (found, type(found)) == (known, type(known))


def test_what_the_user_states_wins_and_is_told_as_the_reason() -> None:
    run = run_of(Fact("run.total_steps", 7), train_loss=[1.0])
    stated = Examination(run, Rulebook(), facts={"run.kind": "sft", "run.total_steps": 9})
    stated.advance()
    assert (stated.situation.kind, stated.situation.reason) == ("sft", "stated by the user")
    assert stated.situation.facts["run.total_steps"] == 9
    plain = Examination(run, Rulebook())
    plain.advance()
    assert (plain.situation.kind, plain.situation.framework) == ("unknown", "unknown")
    assert plain.situation.reason == "nothing in it says"
    assert plain.situation.facts["run.kind"] == "unknown"


def test_a_fall_to_a_checkpoint_is_a_resume_where_no_event_tells_one() -> None:
    steps = [*range(0, 100, 10), *range(50, 120, 10)]
    run = run_of(train_loss=[1.0] * 17, steps=steps)
    Examination(run, Rulebook()).advance()
    (event,) = run.events.of("resume")
    assert (event.file, event.line, event.step) == ("x.log", 11, 50)
    assert event.detail == "the step counter fell back to 50"
    for kind in ("resume", "restart"):
        told = run_of(Event(kind, "x.log", 9), train_loss=[1.0] * 17, steps=steps)  # type: ignore[arg-type]
        Examination(told, Rulebook()).advance()
        assert len(told.events) == 1
    other = run_of(eval_loss=[1.0] * 17, steps=steps)
    Examination(other, Rulebook()).advance()
    assert len(other.events) == 0


@pytest.mark.parametrize(
    ("one", "missing"),
    [
        (rule(applies=Applies(kinds=("rl",))), ("a run of another kind than sft",)),
        (rule(needs=Needs(roles=("lr", "train.loss", "eval.loss"))), ("lr", "eval.loss")),
        (rule(needs=Needs(facts=("a.b",))), ("a.b",)),
        (rule(needs=Needs(any_role=("lr", "eval.loss"))), ("lr or eval.loss",)),
        (rule(when=When(detector="level", role="train.loss", enter="=a.b * 2", min_points=1)), ("a.b",)),
    ],
)
def test_a_rule_that_lacks_something_says_what(one: SymptomRule, missing: tuple[str, ...]) -> None:
    found = symptom(run_of(train_loss=[9.0] * 3), one, facts={"run.kind": "sft"})
    assert (found.state, found.missing) == ("not_evaluated", missing)


def test_a_threshold_that_a_fact_of_the_run_spoils_is_not_evaluated_and_one_of_the_rule_is_refused() -> None:
    own = rule(when=When(detector="level", role="train.loss", enter="=a.b", min_points=1))
    assert symptom(run_of(train_loss=[9.0]), own, facts={"a.b": 5.0}).state == "present"
    assert symptom(run_of(train_loss=[9.0]), own, facts={"a.b": "auto"}).state == "not_evaluated"


def test_a_rule_that_is_switched_off_says_nothing() -> None:
    book = Rulebook(symptoms={name: rule(name) for name in ("a", "b")})
    run = run_of(train_loss=[9.0])
    told = Examination(run, book, disabled=frozenset({"a"})).advance()
    assert [one.id for one in told] == ["b"]
    assert [one.id for one in Examination(run, book).advance()] == ["a", "b"]


AGAIN = [*range(0, 80, 10), *range(0, 80, 10)]


def test_what_a_run_before_the_last_one_showed_is_got_over() -> None:
    first = symptom(run_of(train_loss=[9.0] * 8 + [1.0] * 8, steps=AGAIN), rule())
    assert (first.state, first.got_over) == ("resolved", True)
    last = symptom(run_of(train_loss=[1.0] * 8 + [9.0] * 8, steps=AGAIN), rule())
    assert (last.state, last.got_over) == ("present", False)
    over = symptom(run_of(train_loss=[9.0] * 2 + [1.0] * 14), rule())
    assert (over.state, over.got_over) == ("resolved", False), "nothing says that it ended well"


@pytest.mark.parametrize(("alarms", "got_over"), [("always", False), ("unsolved", True), ("outcome", True)])
def test_near_its_ceiling_a_finding_is_information_unless_it_alarms_always(
    alarms: str, got_over: bool
) -> None:
    run = run_of(Fact("run.solved", True), train_loss=[9.0] * 8)
    assert symptom(run, rule(alarms=alarms)).got_over is got_over
    assert not symptom(run_of(train_loss=[9.0] * 8), rule(alarms=alarms)).got_over


def test_the_state_of_a_rule_follows_the_run_as_it_grows() -> None:
    run = run_of(train_loss=[1.0])
    examination = Examination(run, Rulebook(symptoms={"high": rule()}))
    states = []
    for step, value in enumerate((1.0, 9.0, 9.0, 1.0), 1):
        states.append(examination.advance()[0].state)
        at = np.array([step])
        run.add(Points("train.loss", at, np.array([value]), np.full(1, math.nan), "x.log", at + 1))
    states.append(examination.advance(closed=True)[0].state)
    assert states == ["absent", "absent", "present", "present", "resolved"]


LINES = {"log": Signature("log", "log", "went wrong", ("went wrong",), "went wrong", fatal=False)}


def test_lines_are_matched_once_and_counted() -> None:
    book = Rulebook(symptoms={"log": SymptomRule("log", "L", When(), "loss")}, signatures=LINES)
    run = run_of()
    examination = Examination(run, book)
    assert examination.match_lines() == (0, 0)
    run.add(Line("it went wrong", "a.log", 1))
    assert examination.match_lines() == (1, 1)
    assert examination.match_lines() == (1, 1)
    run.extend([Line("it went wrong", "a.log", 2), Line("fine", "a.log", 3)])
    assert examination.match_lines() == (1, 2)


@pytest.mark.parametrize(
    ("steps", "fresh", "resumed", "wraps"),
    [
        ([0, 1, 2, 3, 4, 0, 1], (), (5,), False),  # four steps are no run
        ([0, 1, 2, 3, 4, 5, 0, 1], (6,), (), False),
        ([0, 1, 2, 3, 4, 5, 1, 2], (6,), (), False),  # the first step but one
        ([0, 1, 2, 3, 4, 5, 2, 3], (), (6,), False),
        ([10, 60, 110, 12, 14], (3,), (), False),  # within two parts in a hundred
        ([10, 60, 110, 13, 14], (), (3,), False),
        ([*range(6)] * 4, (6, 12, 18), (), False),
        ([*range(6)] * 5, (), (), True),  # so often it counts batches
        ([0, *[9, 5] * 64, 9], (), tuple(range(2, 130, 2)), False),
        ([0, *[9, 5] * 65, 9], (), (), True),
    ],
)
def test_steps_that_fall_back_begin_a_run_resume_one_or_count_batches(
    steps: list[int], fresh: tuple[int, ...], resumed: tuple[int, ...], wraps: bool
) -> None:
    found = rewinds(np.array(steps, np.int64))
    assert (found.fresh, found.resumed, found.wraps) == (fresh, resumed, wraps)


@pytest.mark.parametrize(("name", "events"), [("time", 1), ("elapsed", 1), ("step_time", 0)])
def test_so_is_a_clock_that_begins_anew_while_the_steps_go_on(name: str, events: int) -> None:
    clock = [*(10.0 * n for n in range(1, 9)), *(9.0 * n for n in range(1, 9))]
    run = run_of(train_loss=[1.0] * 16, **{name: clock})
    Examination(run, Rulebook()).advance()
    assert [event.step for event in run.events.of("resume")] == [7][:events]


def test_a_clock_that_goes_up_and_down_tells_none() -> None:
    run = run_of(train_loss=[1.0] * 16, time=[0.5, 0.2] * 8)
    Examination(run, Rulebook()).advance()
    assert list(run.events.of("resume")) == []
