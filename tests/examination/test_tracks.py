"""Rewinds, pairs and phases."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.examination.tracks import (
    Rewinds,
    begins_anew,
    beside,
    counts_lines,
    goes_on,
    launched,
    phases,
    rewinds,
)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_a_rising_counter_has_no_rewind() -> None:
    assert rewinds(np.arange(100)).fresh == ()
    assert rewinds(np.arange(100)).resumed == ()


def test_a_fall_to_a_checkpoint_is_a_resume_and_no_fresh_start() -> None:
    found = rewinds(np.concatenate([np.arange(100), np.arange(60, 120)]))
    assert found.resumed == (100,)
    assert found.fresh == ()


def test_a_fall_to_the_beginning_is_a_fresh_start() -> None:
    found = rewinds(np.concatenate([np.arange(100), np.arange(50)]))
    assert found.fresh == (100,)
    assert not found.wraps


def test_a_counter_that_falls_back_every_epoch_counts_batches() -> None:
    found = rewinds(np.tile(np.arange(40), 10))
    assert found.wraps
    assert found.fresh == ()


def test_folds_whose_values_begin_anew_are_fresh_starts_however_many() -> None:
    steps, fold = np.tile(np.arange(12), 6), np.linspace(3.0, 1.0, 12)
    folds = np.concatenate([fold + shift for shift in (0, 0.1, -0.1, 0.2, 0, 0.1)])
    assert rewinds(steps, folds).fresh == (12, 24, 36, 48, 60)
    whole = np.linspace(3.0, 1.0, 72)
    assert rewinds(steps, whole).wraps, "batches of an epoch go on where the epoch before ended"
    assert rewinds(steps, whole + 0.3 * np.sin(7.0 * np.arange(72))).wraps


def test_short_stretches_are_no_folds() -> None:
    steps = np.concatenate([np.arange(0, 20, 5)] * 6)
    assert rewinds(steps, np.tile([3.0, 2.0, 1.5, 1.0], 6)).wraps


@pytest.mark.parametrize(("step", "phase"), [(5, 0), (10, 0), (11, 1), (99, 1), (100, 2), (900, 2), (901, 3)])
def test_phases_follow_warmup_and_total(step: int, phase: int) -> None:
    assert phases(ints(step), 10, 1000)[0] == phase


def test_without_a_known_total_everything_after_warmup_is_the_middle() -> None:
    assert phases(ints(1, 500), None, None).tolist() == [2, 2]


def test_a_counter_that_falls_back_from_another_place_each_time_restarts() -> None:
    lengths = [140, 60, 122, 31, 217, 90]
    steps = np.concatenate([np.arange(0, 10 * n, 10) for n in lengths])
    assert rewinds(steps).fresh == tuple(np.cumsum(lengths)[:-1].tolist())


def test_a_counter_that_falls_back_from_the_same_place_wraps() -> None:
    assert rewinds(np.tile(np.arange(0, 900, 10), 6)).wraps


@pytest.mark.parametrize("first", [0, 1])
def test_steps_that_count_up_by_one_from_the_beginning_may_be_lines(first: int) -> None:
    assert counts_lines(first + np.arange(6))
    assert not counts_lines(first + np.arange(5))
    assert not counts_lines(first + 2 * np.arange(6))
    assert not counts_lines(2 + np.arange(6))
    assert not counts_lines(ints(0, 1, 2, 3, 4, 5, 5))


def test_a_launch_begins_a_run_where_the_steps_begin_anew_and_lines_go_on() -> None:
    steps = ints(0, 1, 2, 3, 0, 1, 2)
    nothing = Rewinds()
    assert launched(nothing, steps, [(4, False)]).fresh == (4,)
    assert launched(nothing, steps, [(3, False)]).fresh == ()
    assert launched(nothing, steps, [(0, True), (7, True), (3, True)]).fresh == (3,)
    assert launched(nothing, ints(5, 6, 7, 5, 6), [(3, False)]).fresh == (3,)
    assert launched(nothing, ints(5, 6, 7, 6, 7), [(3, False)]).fresh == ()
    assert launched(nothing, ints(5, 5, 6), [(1, False)]).fresh == ()


def test_a_launch_is_no_resume_however_short_its_run() -> None:
    steps = np.array([1, 2, 3, 1, 2, 3])
    found = launched(rewinds(steps), steps, [(3, False)])
    assert (found.fresh, found.resumed) == ((3,), ())
    assert beside(found, len(steps), ()).fresh == (3,)


def test_a_counter_that_wraps_at_a_launch_is_none_of_batches() -> None:
    wraps = Rewinds(fresh=(2,), wraps=True)
    assert launched(wraps, ints(0, 1, 0, 1), []) == wraps
    assert launched(wraps, ints(0, 1, 2, 3), [(3, True)]) == Rewinds(fresh=(2, 3), wraps=False)


def test_steps_that_rise_by_one_from_the_first_line_are_those_of_lines() -> None:
    assert counts_lines(np.arange(6))
    assert counts_lines(np.arange(1, 7))
    assert not counts_lines(np.arange(2, 8))
    assert not counts_lines(np.arange(5))
    assert not counts_lines(ints(1, 2, 3, 5, 6, 7))


def test_runs_that_another_series_of_the_file_tells_are_those_of_a_counter_that_goes_on() -> None:
    assert beside(Rewinds(), 10, [0, 4, 10]).fresh == (4,)
    assert beside(Rewinds(fresh=(5,)), 10, [4, 8]).fresh == (5, 8)
    assert beside(Rewinds(wraps=True), 10, [4]) == Rewinds(wraps=True)


def test_a_fall_to_the_second_evaluation_is_to_the_beginning_where_another_series_begins() -> None:
    assert beside(Rewinds(fresh=(2,), resumed=(5, 9)), 12, [5]) == Rewinds(fresh=(2, 5), resumed=(9,))


def test_values_begin_anew_where_they_stand_as_at_first_and_not_as_just_before() -> None:
    values = np.array([3.0, 2.0, 1.5, 1.0, 0.9, 0.8, 2.9, 2.1, 1.4, 0.7, 0.6, 0.6])
    assert begins_anew(values, 6)
    assert not begins_anew(values, 9)


def test_a_run_that_begins_where_the_one_before_it_ended_goes_on() -> None:
    trained, anew = [3.0, 2.0, 1.5, 1.2], [2.9, 2.1, 1.5, 1.4, 1.4]
    assert goes_on(np.array([*trained, 1.1, 1.0, 0.9]), [4])
    assert not goes_on(np.array([*trained, *anew]), [4])
    assert not goes_on(np.array([*trained, *anew, 2.8, 2.0]), [4, 9])
    assert goes_on(np.array([*trained, *anew, 1.4, 1.3]), [4, 9])
    assert not goes_on(np.array([3.0, 3.0, 3.0, 3.0]), [2]), "nothing was gained, so that both are one"


def test_epochs_that_begin_anew_are_runs_where_each_loses_what_was_gained() -> None:
    steps = np.tile(np.arange(10), 5)
    runs = [np.linspace(top, 0.4, 10) for top in (1.0, 1.3, 0.9, 1.2, 1.4)]
    folds = np.concatenate(runs)
    rounds = np.concatenate([np.linspace(top, top - 0.2, 10) for top in (1.4, 1.3, 1.15, 1.05, 0.9)])
    harder = np.concatenate([0.1 * at + np.linspace(0.3, 0.28, 10) for at in range(5)])
    assert rewinds(steps, folds, epochs=True).fresh == (10, 20, 30, 40)
    assert rewinds(steps, folds[::-1].copy(), epochs=True).fresh == (10, 20, 30, 40)
    assert rewinds(steps, rounds, epochs=True).wraps
    assert rewinds(steps, harder, epochs=True).wraps


def test_epochs_that_begin_anew_are_runs_where_there_are_many_of_them() -> None:
    for length, wraps in ((60, False), (10, True)):
        steps, values = np.tile(np.arange(length), 6), np.sin(1.7 * np.arange(6.0 * length) ** 1.1)
        found = rewinds(steps, values, epochs=True)
        assert found.wraps is wraps
        assert found.fresh == (() if wraps else (60, 120, 180, 240, 300))
        assert rewinds(steps, values).wraps
        assert rewinds(steps, np.sqrt(np.arange(6.0 * length)), epochs=True).wraps


def test_a_counter_wraps_for_no_series_where_the_training_loss_begins_many_runs() -> None:
    wrapping = Rewinds(wraps=True)
    assert beside(wrapping, 60, [10, 20, 30, 40, 50]) == Rewinds((10, 20, 30, 40, 50))
    assert beside(wrapping, 60, [10]) == wrapping


@pytest.mark.parametrize(("epochs", "runs"), [(20, True), (19, False)])
def test_long_stretches_of_epochs_that_begin_better_and_worse_are_runs(epochs: int, runs: bool) -> None:
    levels = (0.5, 0.2, 0.4, 0.3, 0.45)  # none of them begins where the first one did
    steps = np.tile(np.arange(epochs), len(levels))
    values = np.concatenate([np.linspace(level, 0.15, epochs) for level in levels])
    found = rewinds(steps, values, epochs=True)
    assert found.wraps is not runs
    assert bool(found.fresh) is runs
    rounds = np.concatenate([np.linspace(level, level - 0.1, epochs) for level in (0.5, 0.4, 0.3, 0.2, 0.1)])
    assert rewinds(steps, rounds, epochs=True).wraps, "rounds of one training begin better each time"
