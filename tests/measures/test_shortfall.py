"""How far a run stands behind others of its program."""

import math

import numpy as np
import pytest

from hrmdoc.measures.peers import shortfall
from hrmdoc.record.peer import Peer, Track

STEPS = np.arange(1, 21)


def run(
    level: float, *, family: str = "score", points: int = 20, name: str = "val_acc", **settings: object
) -> Peer:
    """A score that rises from 0.1 to `level`; a loss that falls from 1 to it."""
    course = 1.0 - np.exp(-STEPS / 4.0)
    start = 0.1 if family == "score" else 1.0
    values = start + (level - start) * course / course[-1]
    steps, values = STEPS[:points], values[:points]
    tracks = {name: Track(steps, values, family), "loss": Track(steps, 1.0 / steps, "")}
    return Peer(f"run-{level}", tracks, settings)


GOOD = [run(0.9 + 0.005 * number) for number in range(6)]


def test_a_run_that_comes_to_half_of_it_is_far_behind() -> None:
    """Its distance is told in what the best ones gained, and in what lies between these."""
    found = shortfall(run(0.5), GOOD)
    assert found is not None
    assert (found.metric, found.count, found.best) == ("val_acc", 6, 3)
    assert found.value == pytest.approx(0.5, abs=0.01)
    assert 0.9 < found.low < found.high < 0.93
    assert 0.6 < found.short < 0.7
    assert found.apart > 20


def test_runs_that_failed_are_no_measure() -> None:
    """Half of the runs beside it failed as well: the best third is what the program comes to."""
    found = shortfall(run(0.5), [*GOOD, *(run(0.3 + 0.02 * number) for number in range(6))])
    assert found is not None
    assert found.short > 0.4


def test_a_loss_is_better_where_it_is_lower() -> None:
    losses = [run(0.1 + 0.002 * number, family="loss") for number in range(6)]
    high, low = shortfall(run(0.6, family="loss"), losses), shortfall(run(0.05, family="loss"), losses)
    assert high is not None
    assert high.short > 0.4
    assert low is not None
    assert low.short < 0.0


def test_one_of_them_is_not_behind() -> None:
    found = shortfall(run(0.91), GOOD)
    assert found is not None
    assert abs(found.short) < 0.05


@pytest.mark.parametrize(
    "peers",
    [
        GOOD[:4],
        [run(0.2 + 0.14 * number) for number in range(6)],
        [run(0.9 + 0.005 * number, name="test_f1") for number in range(6)],
    ],
    ids=["too few", "they do not agree", "of another program"],
)
def test_nothing_is_said(peers: list[Peer]) -> None:
    assert shortfall(run(0.5), peers) is None


def test_other_steps_are_those_of_another_program() -> None:
    moved = Peer(
        "moved",
        {name: Track(one.steps * 7, one.values, one.family) for name, one in run(0.5).tracks.items()},
        {},
    )
    assert shortfall(moved, GOOD) is None


def test_a_run_under_way_is_compared_with_what_they_had_then() -> None:
    """At its sixth step no run had come to its end; after two nobody can tell."""
    found = shortfall(run(0.91, points=6), GOOD)
    assert found is not None
    assert abs(found.short) < 0.05
    slow = shortfall(run(0.4, points=6), GOOD)
    assert slow is not None
    assert slow.short > 0.4
    assert shortfall(run(0.4, points=2), GOOD) is None


def test_a_run_without_a_finite_value_is_infinitely_far_behind() -> None:
    lost = run(0.9)
    lost.tracks["val_acc"].values[:] = math.nan
    found = shortfall(lost, GOOD)
    assert found is not None
    assert found.short == math.inf


def test_what_is_asked_of_a_model_comes_before_its_loss() -> None:
    """Another loss is no worse model: the score is as good as theirs."""

    def both(level: float, loss: float) -> Peer:
        score, cost = run(level), run(loss, family="loss", name="val_loss")
        return Peer(score.path, {**score.tracks, **cost.tracks}, {})

    found = shortfall(both(0.91, 0.8), [both(0.9 + 0.005 * number, 0.1) for number in range(6)])
    assert found is not None
    assert found.metric == "val_acc"
    assert found.short < 0.1
