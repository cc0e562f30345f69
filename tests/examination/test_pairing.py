"""What another role said of the same stretch of training."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.examination.pairing import Pairing, pairs_by_run
from hrmdoc.record.records import FloatArray, IntArray


def ints(*values: int) -> IntArray:
    return np.array(values, np.int64)


def pairs(
    steps: IntArray, values: FloatArray, others: IntArray, beside: FloatArray, *, closed: bool
) -> FloatArray:
    pairing = Pairing(steps, values, others, beside, closed=closed)
    return pairing.of(0, pairing.ready)


def test_each_run_of_a_file_is_paired_by_itself() -> None:
    steps, other = ints(1, 2, 1, 2), ints(1, 2, 1, 2)
    values, beside = np.array([9.0, 2.0, 3.0, -4.0]), np.array([5.0, 6.0, 7.0, 8.0])
    found = pairs_by_run((steps, values, (2,)), (other, beside, (2,)), closed=True)
    assert found.tolist() == [[9, 5], [2, 6], [3, 7], [-4, 8]]
    waiting = pairs_by_run((steps, values, (2,)), (other[:3], beside[:3], (2,)), closed=False)
    assert waiting.tolist() == [[9, 5], [2, 6], [3, 7]]


def test_a_pair_holds_the_mean_of_the_other_role_since_the_point_before() -> None:
    found = pairs(ints(10, 20), np.array([1.0, 2.0]), np.arange(1, 21), np.arange(1.0, 21.0), closed=True)
    assert found[:, 0].tolist() == [1.0, 2.0]
    assert found[:, 1].tolist() == [np.mean(np.arange(1, 11)), np.mean(np.arange(11, 21))]


def test_a_pair_waits_until_the_other_role_has_reached_its_step() -> None:
    steps, values = ints(10, 20), np.array([1.0, 2.0])
    early = pairs(steps, values, np.arange(1, 15), np.ones(14), closed=False)
    assert len(early) == 1
    assert len(pairs(steps, values, np.arange(1, 15), np.ones(14), closed=True)) == 2


def test_non_finite_companions_do_not_enter_the_mean() -> None:
    found = pairs(ints(3), np.array([1.0]), ints(1, 2, 3), np.array([2.0, np.nan, 4.0]), closed=True)
    assert found[0, 1] == 3.0


def test_a_point_before_the_other_role_began_has_no_companion() -> None:
    found = pairs(ints(1, 5), np.array([1.0, 2.0]), ints(4, 5), np.array([7.0, 9.0]), closed=True)
    assert np.isnan(found[0, 1])
    assert found[1, 1] == 8.0


def test_roles_of_the_same_rows_stand_beside_one_another_to_the_last_bit() -> None:
    steps, beside = np.arange(4000), np.random.default_rng(0).standard_normal(4000)
    beside[[0, 7, 3999]] = np.nan, np.inf, np.nan
    found = pairs(steps, np.zeros(4000), steps.copy(), beside, closed=True)
    np.testing.assert_array_equal(found[:, 1], beside)


@given(seed=st.integers(0, 2**31), cut=st.integers(0, 60), same=st.booleans())
def test_pairs_do_not_depend_on_how_they_are_asked_for(seed: int, cut: int, same: bool) -> None:
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.integers(-1, 4, 60))
    others = steps if same else np.cumsum(rng.integers(0, 3, 80))
    values, beside = rng.standard_normal(60), np.where(rng.random(len(others)) < 0.2, np.nan, 1.0)
    pairing = Pairing(steps, values, others, beside, closed=True)
    parts = np.concatenate([pairing.of(0, cut), pairing.of(cut, 60)])
    np.testing.assert_array_equal(parts, pairing.of(0, 60))


def test_a_point_before_the_first_of_its_companion_stands_beside_nothing() -> None:
    found = pairs(ints(0, 5, 9), np.array([1.0, 2.0, 3.0]), ints(5, 7), np.array([10.0, 20.0]), closed=True)
    np.testing.assert_array_equal(found, [[1.0, np.nan], [2.0, 10.0], [3.0, 20.0]])


def test_a_stretch_without_finite_values_takes_the_last_of_its_companion() -> None:
    other = np.array([10.0, 30.0, np.nan, 50.0])
    found = pairs(ints(2, 4, 6), np.array([1.0, 2.0, 3.0]), ints(1, 2, 3, 6), other, closed=True)
    np.testing.assert_array_equal(found, [[1.0, 20.0], [2.0, np.nan], [3.0, 50.0]])
    apart = pairs(ints(2, 4), np.array([1.0, 2.0]), ints(1, 2), np.array([10.0, 30.0]), closed=True)
    np.testing.assert_array_equal(apart, [[1.0, 20.0], [2.0, 30.0]])
