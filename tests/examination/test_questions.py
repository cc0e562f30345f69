from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
import pytest

from hrmdoc import measures
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.paths import data_dir
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook.expressions import MissingInput

NAN = math.nan


def ask(name: str, *ranks: list[float]) -> float:
    """The answer for a role with these values, one series a rank."""
    run = Run("x", role_of=RoleGuess)
    for rank, values in enumerate(ranks):
        steps = np.arange(len(values), dtype=np.int64) * 10
        numbers = np.array(values, np.float64)
        place = rank if len(ranks) > 1 else None
        run.add(Points("train.loss", steps, numbers, steps.astype(np.float64), f"{rank}.log", rank=place))
    return float(Questions(Scene(run)).functions()[name]("train.loss"))


def told(name: str, findings: Mapping[str, Finding]) -> object:
    return Questions(Scene(Run("x"), found=findings.get)).functions()[name]("loss-spike")


@pytest.mark.parametrize(
    ("name", "values", "answer"),
    [
        ("count", [NAN, 1], 2),
        ("first_step", [3, 2, 1], 0),
        ("last_step", [3, 2, 1], 20),
        ("first", [NAN, 4, 5], 4),
        ("last", [4, 5, math.inf], 5),
        ("opening", [2, NAN, 5, 3, 9], 5),
        ("closing", [2, 9, 4, NAN, 8, 5], 4),
        ("peaks", [1, 9, 1, 1.5, 1, 3, 1], 2),
        ("min_of", [2, NAN, 1], 1),
        ("max_of", [2, NAN, 1], 2),
        ("median_of", [9, 1, 2], 2),
        ("before_zero", [4, 2, 1, 1, 1, 1, 1, 0, 0], 0.25),
        ("before_zero", [0, 0], math.inf),
        ("kept_until_zero", [4, 3, NAN, 5, 0, 0], 0.75),
        ("kept_until_zero", [4, 3, 0, 5, 0], 0.0),
        ("kept_until_zero", [4, 3, 2], 0.0),
        ("kept_until_zero", [0, 0], 0.0),
        ("share", [NAN, 0.2, 0.5], 0.5),
        ("share", [0.5, 20, 60], 0.6),
        ("rises", [1, 2, 1, 3, 4], 0.75),
        ("rises", [1], 0.0),
        ("finite", [NAN, 1, math.inf], 1),
        ("spread", [2, NAN, 3, 2], 0.5),
        ("replayed", [1.2345, 2.3456, 3.4567, 4.5678, 1.2345, 2.3456, 3.4567, 4.5678], 4),
        ("turned", [5, 3, 1, 2, 2.5, 3], 0.5),
        ("from_start", [3, 2, 1], 1.0),
        ("starts", [3, 2, 1], 1),
        ("leap", [4, 9, 2, 1.5, 1, 4, 3], 3.0),
        ("leap", [5, 4, 3, 2, 1], 0.0),
        ("leap", [3, 2, 1, 0, 2], 0.0),
        ("leap_kept", [4, 3, 2, 1, 4, 2.5], 0.5),
        ("leap_kept", [5, 4, 3, 2, 1], 0.0),
        ("anew", [5, 3, 2, 1, 5, 4, 2], 0.25),
        ("anew", [1, 1, 1, 1, 5, 4, 2], math.inf),
        ("leap_alone", [4, 3, 2, 1, 7, 7], 6.0),
        ("leap_alone", [1, 1, 1, 1, 1], math.inf),
        ("back_after", [4, 3, 2, 1, 5, 1, 1, 1, 1, 1], 0.0),
        ("back_after", [4, 3, 2, 1, 1, 1, 1, 1, 9, 8, 7, 6, 5, 2, 1, 1], 4.0),
        ("back_after", [4, 3, 2, 1, 5, 5, 5, 5, 5, 5], math.inf),
        ("jitter", [9, 9, 9, 1, 3, 1, 3], 1.0),
        ("jitter", [0] * 8, 0.0),
        ("unchanged", [1.95791, 1.9, 1.95791, 1.95791, NAN], 2),
        ("unchanged", [1.95, 1.95, 1.95], 0),
        ("unchanged", [41.24, 41.24, 41.24], 0),
        ("repeated", [1.95, 0.5, 0.5, NAN], 2),
    ],
)
def test_each_function_of_a_series_gives_its_value(name: str, values: list[float], answer: float) -> None:
    assert ask(name, values) == pytest.approx(answer)


def test_ranks_are_compared_with_their_median() -> None:
    ranks = [[1.0] * 5, [2.0] * 5, [6.0] * 5]
    assert ask("rank_ratio", *ranks) == pytest.approx(3.0)
    assert ask("rank_spread", *ranks) == pytest.approx(2.5)


OF_NO_SERIES = {"count", "finite", "timed", "present", "seen", "episodes", "peak", "began"}
OF_THE_RUN = {name for name, function in measures.all_functions().items() if function.subject == "run"}


@pytest.mark.parametrize("name", sorted({*measures.all_functions()} - OF_NO_SERIES - OF_THE_RUN))
def test_a_series_that_is_not_there_is_a_missing_input(name: str) -> None:
    with pytest.raises(MissingInput):
        Questions(Scene(Run("x"))).functions()[name]("train.loss")
    assert ask("count", []) == 0


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("jitter", [[1.0] * 4]),
        ("rank_ratio", [[1.0]] * 2),
        ("first", [[NAN]]),
        ("leap", [[1.0] * 4]),
        ("anew", [[4.0, 3.0, 2.0, 1.0, 4.0, 3.0]]),
    ],
)
def test_too_little_of_a_series_is_a_missing_input(name: str, ranks: list[list[float]]) -> None:
    with pytest.raises(MissingInput):
        ask(name, *ranks)


def test_values_that_are_rounded_do_not_pass_for_still() -> None:
    run = Run("x", lambda metric: RoleGuess(metric, guessed=False))
    steps = np.arange(8, dtype=np.int64)
    run.add(
        Points(
            "train.loss",
            steps,
            np.array([2.31, 2.3, 2.305, 2.3, 2.3, 2.3, 2.3, 2.3]),
            steps.astype(np.float64),
            "log",
        )
    )
    jitter = Questions(Scene(run)).functions()["jitter"]
    assert jitter("train.loss") == jitter("train.loss", 0.001) == 0.0
    with pytest.raises(MissingInput, match="more digits"):
        jitter("train.loss", 0.0001)


def test_a_symptom_is_asked_for_its_state_how_often_it_opened_its_peak_and_when_it_began() -> None:
    over = {"loss-spike": Finding("resolved", count=3, first_step=40, values={"peak": 7})}
    assert [told(name, over) for name in ("present", "seen", "episodes", "peak", "began")] == [
        False,
        True,
        3,
        7.0,
        40,
    ]


@pytest.mark.parametrize("findings", [{}, {"loss-spike": Finding("not_evaluated")}])
def test_a_symptom_that_could_not_be_evaluated_was_never_seen_but_may_show(
    findings: Mapping[str, Finding],
) -> None:
    assert [told(name, findings) for name in ("seen", "episodes")] == [False, 0]
    for name in ("present", "peak", "began"):
        with pytest.raises(MissingInput):
            told(name, findings)


def test_the_page_for_own_rules_names_every_function() -> None:
    page = (data_dir("playbooks") / "own-rules.md").read_text("utf-8")
    table = "".join(re.findall(r"^\|(.*?)\|", page, re.MULTILINE))
    assert {"known", *measures.all_functions()} <= set(re.findall(r"\w+", table))


def test_of_several_runs_in_one_file_the_last_one_is_asked() -> None:
    run = Run("x", role_of=RoleGuess)
    steps, values = (
        np.array([*range(20), *range(6)]),
        np.array([*np.linspace(3, 1, 20), *np.linspace(3, 2, 6)]),
    )
    run.add(Points("train.loss", steps, values, steps.astype(np.float64), "x.log"))
    known = Questions(Scene(run)).functions()
    assert [known[name]("train.loss") for name in ("count", "last_step", "first", "min_of")] == [6, 5, 3, 2]


def test_several_symptoms_are_asked_together() -> None:
    shown = {"a": Finding("resolved", count=3, first_step=40, values={"peak": 7}), "b": Finding("absent")}
    shown["c"] = Finding("present", count=1, first_step=20, values={"peak": 2})
    known = Questions(Scene(Run("x"), found=shown.get)).functions()
    assert [known[name]("a", "b", "c", "d") for name in ("seen", "present", "began", "episodes", "peak")] == [
        True,
        True,
        20,
        4,
        7.0,
    ]
    assert not known["seen"]("b", "d")
    with pytest.raises(MissingInput):
        known["began"]("b", "d")
