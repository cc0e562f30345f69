"""Whether a fault did visible harm beside its healthy twin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lab.effects import Outcome, effect, outcome_of
from benchmarks.lab.execute import DONE
from hrmdoc.record.run import Run

STEPS = np.arange(0, 400, 10.0)
FALLING = 2.0 * np.exp(-STEPS / 80) + 0.5


def outcome(status: int = 0, **series: np.ndarray) -> Outcome:
    """Keyword names use a double underscore for the dot of a role."""
    return Outcome(
        status, {name.replace("__", "."): (STEPS[: len(values)], values) for name, values in series.items()}
    )


TWIN = outcome(train__loss=FALLING, eval__loss=FALLING + 0.02, step_time=np.full(40, 0.1))


def test_a_run_like_its_twin_was_not_harmed() -> None:
    random = np.random.default_rng(0)
    noisy = FALLING + 0.05 * random.normal(size=len(FALLING))
    assert effect("lr-zero", 100, outcome(train__loss=noisy, eval__loss=FALLING + 0.03), TWIN) == ""


def test_a_run_that_ends_better_was_not_harmed() -> None:
    assert (
        effect("lr-too-high", None, outcome(train__loss=FALLING - 0.15, eval__loss=FALLING - 0.1), TWIN) == ""
    )


def test_a_loss_below_half_of_the_twins_is_too_good_to_be_true() -> None:
    assert "evaluation loss" in effect(
        "leakage", None, outcome(train__loss=FALLING, eval__loss=FALLING / 20), TWIN
    )


def test_an_end_above_a_tenth_of_the_gain_is_harm() -> None:
    assert effect("frozen", None, outcome(train__loss=FALLING + 0.1), TWIN) == ""
    assert "training loss ends at" in effect("frozen", None, outcome(train__loss=FALLING + 0.3), TWIN)


def test_an_accuracy_must_lose_five_points_however_little_was_gained() -> None:
    twin = outcome(eval__accuracy=np.linspace(0.90, 0.92, 8))
    assert effect("frozen", None, outcome(eval__accuracy=np.full(8, 0.89)), twin) == ""
    assert "accuracy" in effect("frozen", None, outcome(eval__accuracy=np.full(8, 0.80)), twin)


def test_an_accuracy_above_one_is_harm() -> None:
    twin = outcome(eval__accuracy=np.linspace(0.2, 0.9, 8))
    assert "2.4" in effect(
        "metric-over-counted", None, outcome(eval__accuracy=np.linspace(0.6, 2.7, 8)), twin
    )


def test_a_spike_of_one_point_is_no_harm_but_one_of_two_is() -> None:
    one, two = FALLING.copy(), FALLING.copy()
    one[20] += 3.0
    two[20:22] += 3.0
    assert effect("bad-batch", 200, outcome(train__loss=one), TWIN) == ""
    assert "above the twin's at step 2" in effect("bad-batch", 200, outcome(train__loss=two), TWIN)


def test_the_loss_of_a_policy_gradient_has_no_level() -> None:
    reward = np.linspace(0.1, 0.9, 40)
    twin = outcome(train__loss=np.zeros(40), rl__reward=reward)
    wild = outcome(train__loss=np.sin(STEPS), rl__reward=reward)
    assert effect("stale-samples", None, wild, twin) == ""
    assert "reward" in effect(
        "stale-samples", None, outcome(train__loss=np.zeros(40), rl__reward=reward / 2), twin
    )


def test_an_end_with_an_error_is_harm_unless_the_twin_ends_so_too() -> None:
    assert effect("killed", 100, outcome(137, train__loss=FALLING), TWIN) == "ends with status 137"
    assert effect("killed", 100, outcome(1), outcome(1)) == ""


def test_a_loss_that_is_not_finite_is_harm() -> None:
    values = FALLING.copy()
    values[30:] = np.nan
    assert effect("malformed", 300, outcome(train__loss=values), TWIN) == "non-finite loss"


def test_only_faults_of_speed_count_by_their_speed() -> None:
    slow = outcome(train__loss=FALLING, step_time=np.where(STEPS >= 200, 0.3, 0.1))
    assert effect("lr-zero", 200, slow, TWIN) == ""
    assert effect("slowdown", 200, slow, TWIN) == "steps take 3.0 times as long"


def test_a_slow_loader_counts_by_what_the_step_waits_for() -> None:
    times = np.full(40, 0.1)
    waits = outcome(train__loss=FALLING, step_time=times, data_time=np.full(40, 0.05))
    busy = outcome(train__loss=FALLING, step_time=3 * times, data_time=np.full(40, 0.01))
    assert effect("slow-loader", None, busy, TWIN) == ""
    assert effect("slow-loader", None, waits, TWIN) == "50% of a step is waiting for data"


def test_memory_that_grows_by_half_is_harm() -> None:
    assert effect("memory-leak", None, outcome(host__memory=np.linspace(100, 140, 9)), TWIN) == ""
    assert (
        effect("memory-leak", None, outcome(host__memory=np.linspace(100, 300, 9)), TWIN)
        == "memory grows by 200%"
    )


@pytest.mark.parametrize("status", [0, 137])
def test_the_outcome_of_an_empty_run_is_its_status(tmp_path: Path, status: int) -> None:
    (tmp_path / DONE).write_text(json.dumps({"status": status}))
    found = outcome_of(tmp_path, Run())
    assert found.status == status
    assert found.series == {}
    assert np.isnan(found.final("train.loss"))
