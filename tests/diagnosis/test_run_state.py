"""How a run stands, and whether what was read is enough for a verdict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from hrmdoc.diagnosis.run_state import FEWEST_POINTS, run_state, says_too_little
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.records import Event, Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Rulebook
from tests.diagnosis.small_book import absent, book, cause, present

BOOK = book(cause("any", quiet=0.5, paused=0.5))
HUNG = replace(BOOK.symptoms["quiet"], run_state="hung")
STOPPED = replace(BOOK.symptoms["paused"], run_state="stopped")
STATES = Rulebook(symptoms={"quiet": HUNG, "paused": STOPPED})


def trained(values: list[float], metric: str = "train.loss", *records: Event | Line | Fact) -> Run:
    """A run with so many steps, from 0, of a metric that is named by its role; `other` has none."""
    run = Run("log", role_of=lambda name: RoleGuess(None if name == "other" else name))
    count = len(values)
    if count:
        lines = np.arange(1, count + 1)
        run.add(Points(metric, np.arange(count), np.array(values), np.full(count, math.nan), "log", lines))
    run.extend(records)
    return run


def state(run: Run, *symptoms: Symptom, closed: bool = True, **facts: Any) -> str:
    given = {name.replace("_", ".", 1): value for name, value in facts.items()}
    return run_state(run, given, symptoms, STATES, closed=closed)


@pytest.mark.parametrize(
    ("detail", "expected"),
    [("", "finished"), ("crashed", "crashed"), ("an exception", "crashed"), ("stopped", "stopped")],
)
def test_what_the_end_of_a_run_says_of_itself_decides(detail: str, expected: str) -> None:
    fatal = present("quiet", severity="critical", values={"role": "root"})
    assert state(trained([1.0], "train.loss", Event("end", "log", detail=detail)), fatal) == expected


@pytest.mark.parametrize("role", ["root", "cascade"])
def test_a_critical_message_of_a_failure_says_that_the_run_crashed(role: str) -> None:
    fatal = present("quiet", severity="critical", values={"role": role})
    assert state(trained([1.0] * 9), fatal, run_total_steps=9) == "crashed"
    assert state(trained([1.0] * 9), replace(fatal, severity="warning"), run_total_steps=9) == "finished"
    assert state(trained([1.0] * 9), replace(fatal, state="resolved"), run_total_steps=9) == "finished"


def test_a_note_that_is_critical_ends_nothing() -> None:
    assert state(trained([1.0]), present("other", severity="critical", values={"role": "note"})) == "unknown"


def test_an_exception_behind_which_no_point_stands_says_that_the_run_crashed() -> None:
    assert state(trained([1.0] * 9, "train.loss", Event("exception", "log", line=20))) == "crashed"
    assert state(trained([1.0] * 9, "train.loss", Event("exception", "log", line=2))) == "unknown"
    assert state(trained([1.0] * 9, "train.loss", Event("eval", "log", line=20))) == "unknown"


def test_a_run_that_an_interrupt_from_the_keyboard_ended_was_stopped() -> None:
    by_hand = Event("exception", "log", line=20, detail="KeyboardInterrupt")
    assert state(trained([1.0] * 9, "train.loss", by_hand)) == "stopped"
    fatal = present("quiet", severity="critical", values={"role": "root"})
    assert state(trained([1.0] * 9, "train.loss", by_hand), fatal) == "crashed"


@pytest.mark.parametrize(("total", "expected"), [(9, "finished"), (10, "finished"), (11, "unknown")])
def test_a_run_whose_last_point_is_the_last_planned_step_or_the_one_before_is_finished(
    total: int, expected: str
) -> None:
    assert state(trained([1.0] * 10), run_total_steps=total) == expected


def test_without_a_curve_or_a_planned_number_of_steps_no_run_is_finished() -> None:
    assert state(trained([]), run_total_steps=1) == "unknown"
    assert state(trained([1.0] * 10), run_total_steps="auto") == "unknown"


def test_a_present_symptom_may_say_that_the_run_hangs_or_stopped_and_to_hang_is_worse() -> None:
    quiet, paused = present("quiet"), present("paused")
    assert state(trained([1.0]), paused) == "stopped"
    assert state(trained([1.0]), paused, quiet) == "hung"
    assert state(trained([1.0]), absent("quiet"), replace(paused, state="resolved")) == "unknown"


def test_where_nothing_tells_a_watched_run_is_running_and_a_closed_one_unknown() -> None:
    assert state(trained([1.0]), closed=False) == "running"
    assert state(trained([1.0]), closed=True) == "unknown"


@pytest.mark.parametrize("metric", ["train.loss", "eval.score", "perplexity", "rl.reward", "dpo.margin"])
def test_a_closed_run_in_which_nothing_shows_needs_a_curve_of_three_finite_points(metric: str) -> None:
    enough, few = [1.0] * FEWEST_POINTS, [1.0] * (FEWEST_POINTS - 1)
    assert not says_too_little(trained(enough, metric), "healthy", [], closed=True)
    assert says_too_little(trained([*few, math.nan], metric), "healthy", [], closed=True)
    assert not says_too_little(trained(few, metric), "healthy", [], closed=False)


def test_a_learning_rate_alone_is_no_curve_by_which_a_run_is_healthy() -> None:
    rates = trained([1.0] * 9, "lr")
    assert says_too_little(rates, "healthy", [absent("quiet")], closed=True)
    assert not says_too_little(rates, "healthy", [present("quiet")], closed=True)
    assert not says_too_little(rates, "warning", [], closed=True)


def test_metrics_without_a_role_say_something_only_where_something_was_found() -> None:
    unknown = trained([1.0] * 9, "other")
    assert says_too_little(unknown, "healthy", [], closed=False)
    assert not says_too_little(unknown, "warning", [], closed=False)


def test_a_message_or_an_event_says_something_but_not_that_a_program_was_launched() -> None:
    line = Line("CUDA out of memory", "log", 1)
    assert not says_too_little(trained([], "", line), "healthy", [], closed=False)
    assert not says_too_little(trained([], "", Event("end", "log")), "healthy", [], closed=False)
    assert says_too_little(trained([], "", Event("launch", "log")), "critical", [], closed=False)
    assert says_too_little(trained([]), "healthy", [], closed=False)


def test_an_exception_behind_which_something_else_was_told_ended_nothing() -> None:
    behind = (Event("exception", "log", line=20), Event("checkpoint", "log", line=21))
    assert state(trained([1.0] * 9, "train.loss", *behind)) == "unknown"
