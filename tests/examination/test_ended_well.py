"""When a run ended well, is solved, or is no course at all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.examination.outcome import ended_well, of_role, scores_well, solved, stands_still
from hrmdoc.examination.scene import Scene
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from tests.examination.small_runs import run_of


def scored(**series: list[float]) -> Scene:
    run = Run("x", role_of=RoleGuess)
    for name, values in series.items():
        at = np.arange(len(values))
        run.add(Points(name.replace("_", ".", 1), at, np.array(values), at * math.nan, "x.log"))
    return Scene(run, usual=[rulebook.load().typical["outcome"]])


FALLS, RISES = np.linspace(3.0, 1.0, 40).tolist(), np.linspace(1.0, 3.0, 40).tolist()


@pytest.mark.parametrize(
    ("series", "role", "well"),
    [
        ({"train_loss": FALLS}, "train.loss", True),
        ({"train_loss": RISES}, "train.loss", False),
        ({"train_loss": RISES, "eval_loss": FALLS}, "train.loss", False),
        ({"train_loss": FALLS, "eval_loss": RISES}, "train.loss", True),
        ({"train_loss": FALLS, "eval_loss": RISES}, "eval.loss", False),
        ({"eval_loss": FALLS}, "eval.accuracy", True),
        ({"perplexity": FALLS}, "perplexity", True),
        ({"eval_perplexity": RISES}, "eval.loss", False),
        ({"eval_accuracy": RISES}, "eval.loss", True),
        ({"eval_accuracy": FALLS}, "eval.loss", False),
        ({"eval_error": FALLS}, "eval.loss", True),
        ({"eval_accuracy": RISES, "eval_error": RISES}, "eval.loss", False),
        ({"rl_reward": RISES}, "train.loss", True),
        ({"train_loss": RISES, "eval_accuracy": RISES}, "train.loss", True),
        ({"train_loss": RISES, "eval_loss": RISES, "eval_accuracy": RISES}, "train.loss", False),
        ({}, "train.loss", False),
    ],
)
def test_a_run_ended_well_by_the_loss_of_the_data_or_by_its_scores(
    series: dict[str, list[float]], role: str, well: bool
) -> None:
    assert ended_well(scored(**series), role) is well


def test_scores_end_well_where_there_are_some_and_all_of_them_do() -> None:
    assert not scores_well(scored(train_loss=FALLS))
    assert scores_well(scored(eval_accuracy=RISES, eval_score=RISES))
    assert of_role(scored(train_loss=FALLS), "eval.loss") is None
    assert of_role(scored(train_loss=FALLS[:5]), "train.loss") is None


def test_a_solved_task_is_told_of_the_side_that_has_a_score() -> None:
    facts = {"run.solved": True}
    assert solved(Scene(Run("x"), facts), "train.loss")
    assert not solved(Scene(Run("x"), facts), "eval.loss")
    assert not solved(Scene(Run("x")), "train.loss")
    scene = scored(eval_accuracy=RISES)
    assert solved(Scene(scene.run, facts), "eval.loss")


@pytest.mark.parametrize(
    ("steps", "axis", "still"),
    [
        ([7] * 6, "step", True),
        ([7] * 5, "step", False),
        ([7] * 5 + [8], "step", False),
        ([7] * 6, "epoch", False),
    ],
)
def test_points_of_one_step_are_no_course(steps: list[int], axis: str, still: bool) -> None:
    assert stands_still(Scene(run_of([1.0] * len(steps), steps=steps, axis=axis)), "train.loss") is still
    assert not stands_still(Scene(Run("x")), "train.loss")
