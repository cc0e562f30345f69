"""What holds for every detector in the folder, also for those added later."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc import measures
from hrmdoc.errors import RuleError
from hrmdoc.measures.function import Curve
from hrmdoc.measures.trigger import Trigger

# parameters without which a detector has nothing to say
NEEDED = {
    "chance": {"classes": 9},
    "initial": {"expected": 2.3},
    "run": {"at_most": 2.5},
    "share": {"above": 2.5},
    "schedule": {"total": 400},
}


def series(seed: int, n: int, columns: int, *, dirty: bool) -> np.ndarray:
    """A falling, noisy curve with a jump, a constant stretch and, when `dirty`, values that are no
    numbers."""
    rng = np.random.default_rng(seed)
    curve = 0.5 + 3.0 * np.exp(-np.arange(n) / max(1, n / 4)) + 0.1 * rng.standard_normal((columns, n))
    curve[:, n // 2 : n // 2 + n // 10] *= rng.uniform(1, 10)
    curve[:, n // 3 : n // 3 + n // 8] = 1.0
    if dirty and n:
        curve[:, rng.integers(0, n, max(1, n // 20))] = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1e308])
    return curve[0] if columns == 1 else curve.T


def fresh(name: str) -> measures.Detector:
    return measures.make(name, NEEDED.get(name, {}))


def columns_of(name: str) -> int:
    return fresh(name).COLUMNS


def test_the_folder_holds_detectors() -> None:
    assert {"level", "spike", "plateau"} <= set(measures.detector_names())


@pytest.mark.parametrize("name", measures.detector_names())
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 700),
    cuts=st.lists(st.integers(0, 700), max_size=12),
    dirty=st.booleans(),
)
def test_scores_and_episodes_do_not_depend_on_how_the_series_is_cut(
    name: str, seed: int, n: int, cuts: list[int], dirty: bool
) -> None:
    values, steps = series(seed, n, columns_of(name), dirty=dirty), np.arange(n) * 10
    whole = fresh(name).update(steps, values)
    borders = [0, *sorted(min(cut, n) for cut in cuts), n]
    detector, triggers = fresh(name), (Trigger(1.0, 0.5, 2, 2), Trigger(1.0, 0.5, 2, 2))
    parts = []
    for begin, end in itertools.pairwise(borders):
        parts.append(detector.update(steps[begin:end], values[begin:end]))
        triggers[0].update(parts[-1])
    triggers[1].update(whole)
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-9, atol=1e-9)
    assert triggers[0].episodes == triggers[1].episodes
    assert triggers[0].evaluated == triggers[1].evaluated


@pytest.mark.parametrize("name", measures.detector_names())
@pytest.mark.parametrize("n", [1, 5, 64, 200, 3000])
def test_one_point_at_a_time_gives_the_same_scores_as_all_at_once(name: str, n: int) -> None:
    values, steps = series(n, n, columns_of(name), dirty=True), np.arange(n)
    detector = fresh(name)
    single = np.concatenate([detector.update(steps[i : i + 1], values[i : i + 1]) for i in range(n)])
    np.testing.assert_allclose(single, fresh(name).update(steps, values), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", measures.detector_names())
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 700),
    cut=st.integers(0, 700),
    unasked=st.integers(0, 700),
    dirty=st.booleans(),
)
def test_scores_that_are_asked_for_do_not_depend_on_those_that_are_not(
    name: str, seed: int, n: int, cut: int, unasked: int, dirty: bool
) -> None:
    values, steps = series(seed, n, columns_of(name), dirty=dirty), np.arange(n)
    detector = fresh(name)
    parts = [
        detector.update(steps[:cut], values[:cut], unasked),
        detector.update(steps[cut:], values[cut:], max(0, unasked - cut)),
    ]
    whole = fresh(name).update(steps, values)
    np.testing.assert_allclose(np.concatenate(parts)[unasked:], whole[unasked:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", measures.detector_names())
def test_a_score_never_depends_on_later_points(name: str) -> None:
    values, steps = series(7, 500, columns_of(name), dirty=False), np.arange(500)
    other = values.copy()
    other[300:] = 77.0
    first, second = fresh(name).update(steps, values), fresh(name).update(steps, other)
    np.testing.assert_array_equal(first[:300], second[:300])


@pytest.mark.parametrize("name", measures.detector_names())
def test_an_empty_chunk_gives_no_scores_and_changes_nothing(name: str) -> None:
    columns = columns_of(name)
    values, steps = series(3, 100, columns, dirty=False), np.arange(100)
    detector = fresh(name)
    empty = np.empty(0) if columns == 1 else np.empty((0, columns))
    assert len(detector.update(np.empty(0, np.int64), empty)) == 0
    np.testing.assert_array_equal(detector.update(steps, values), fresh(name).update(steps, values))


@pytest.mark.parametrize("name", measures.detector_names())
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-300, 1e308, -1e308, np.inf, np.nan])
def test_a_constant_series_of_any_value_raises_nothing_and_scores_no_infinity(
    name: str, value: float
) -> None:
    columns = columns_of(name)
    values = np.full(200 if columns == 1 else (200, columns), value)
    scores = fresh(name).update(np.arange(200), values)
    assert scores.shape == (200,)
    assert not np.isinf(scores).any()


@pytest.mark.parametrize("name", [name for name in measures.detector_names() if name != "nonfinite"])
def test_points_that_are_no_numbers_are_not_judged_and_leave_the_others_alone(name: str) -> None:
    columns = columns_of(name)
    clean, steps = series(11, 300, columns, dirty=False), np.arange(300)
    holes = np.arange(0, 300, 7)
    dirty = np.insert(clean, holes, np.nan, axis=0)
    inside = np.isfinite(dirty).reshape(len(dirty), -1).all(axis=1)
    all_steps = np.insert(steps, holes, steps[holes])
    scores = fresh(name).update(all_steps, dirty)
    assert np.isnan(scores[~inside]).all()
    np.testing.assert_array_equal(scores[inside], fresh(name).update(steps, clean))


@pytest.mark.parametrize("name", measures.detector_names())
def test_values_of_the_wrong_shape_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="shape"):
        fresh(name).update(np.arange(4), np.zeros((4, 3)))


@pytest.mark.parametrize("name", measures.detector_names())
def test_every_detector_and_each_of_its_parameters_is_described(name: str) -> None:
    assert measures.describe(name, detector=True)
    for parameter in measures.parameters(name, detector=True):
        assert parameter.text, f"{name}: {parameter.name} has no words"


def test_an_unknown_detector_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(RuleError, match="did you mean 'spike'"):
        measures.make("spikes")


def test_an_unknown_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(RuleError, match="did you mean 'window'"):
        measures.make("spike", {"windo": 4})


def test_a_parameter_of_the_wrong_type_is_refused_by_name() -> None:
    with pytest.raises(RuleError, match="parameter 'window'"):
        measures.make("spike", {"window": "wide"})


def test_a_parameter_out_of_range_is_refused() -> None:
    with pytest.raises(RuleError, match="window is at least 8"):
        measures.make("spike", {"window": 2})


@pytest.mark.parametrize("name", measures.all_functions())
def test_every_function_says_what_it_is_and_what_its_parameters_mean(name: str) -> None:
    assert measures.describe(name)
    for parameter in measures.parameters(name):
        assert parameter.text, parameter.name


CURVES = [name for name, one in measures.all_functions().items() if one.subject in ("values", "curve")]


@pytest.mark.parametrize("name", CURVES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 60), dirty=st.booleans())
def test_a_function_answers_or_has_too_little_whatever_the_values(
    name: str, seed: int, n: int, dirty: bool
) -> None:
    function = measures.all_functions()[name]
    values = series(seed, n, 1, dirty=dirty)
    sound = values[np.isfinite(values)]
    curve = Curve("train.loss", np.arange(n), values, "step", 1, np.arange(n) * 60.0)
    given = [sound if function.subject == "values" else curve] * function.roles
    if (len(sound) if function.subject == "values" else n) < function.points:
        return
    answer = function(*given)
    assert answer is None or answer == answer, "NaN is no answer"
    assert answer == function(*given), "the same question has the same answer"
    assert np.array_equal(curve.values, values, equal_nan=True), "what it is asked of stays as it is"


@pytest.mark.parametrize("name", [name for name in CURVES if measures.all_functions()[name].course])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31), n=st.integers(1, 60), dirty=st.booleans(), digits=st.sampled_from([1, 3, 9])
)
def test_the_course_of_a_function_is_its_answer_at_each_point(
    name: str, seed: int, n: int, dirty: bool, digits: int
) -> None:
    function = measures.all_functions()[name]
    with np.errstate(over="ignore"):
        values = np.round(series(seed, n, 1, dirty=dirty), digits)  # round values repeat
    if function.subject == "values":
        values = values[np.isfinite(values)]
    steps = np.arange(len(values))

    def given(stop: int) -> object:
        return (
            values[:stop]
            if function.subject == "values"
            else Curve("x", steps[:stop], values[:stop], "step", 1, steps[:stop] * 60.0)
        )

    if not len(values):
        return
    course = function.along(given(len(values)))
    assert course is not None
    for stop in range(1, len(values) + 1):
        answer = function(given(stop)) if stop >= function.points else None
        expected = np.nan if answer is None else float(answer)
        np.testing.assert_allclose(course[stop - 1], expected, rtol=1e-12, err_msg=f"{name} of {stop} points")


def test_functions_that_weigh_the_whole_curve_are_known_by_name() -> None:
    """A check with one of these cannot tell since when it holds: what is usual of a part that moves along,
    and shapes (a largest rise, a turn), are seen only from behind."""
    shapes = {"anew", "back_after", "leap", "leap_alone", "leap_kept", "replayed", "turned"}
    medians = {"before_zero", "from_start", "jitter", "small_unit", "tremor"}
    outcomes = {"errors_gained", "gained_at_most", "kept", "lost_share", "risen", "since_best", "squandered"}
    rates = {"seconds_until", "still_falling"}
    misapplied = {"classes_if_twice", "grows_throughout", "minus_probability", "same_as"}
    whole = {name for name in CURVES if measures.all_functions()[name].course is None}
    assert whole == shapes | medians | outcomes | rates | misapplied


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("initial", {"expected": 0.0}, "expected is not 0"),
        ("initial", {"classes": 1.0}, "classes is at least 2"),
        ("chance", {"classes": (10.0, 1.5)}, "classes is at least 2"),
        ("progress", {"classes": 1.0}, "classes is at least 2"),
        ("clumps", {"window": 7}, "window is at least 8"),
        ("clumps", {"finest": 0.0}, "finest lies between 0 and 1"),
        ("clumps", {"finest": 1.01}, "finest lies between 0 and 1"),
        ("recent_ratio", {"recent": 0.0}, "recent lies between 0 and 1"),
        ("recent_ratio", {"recent": 1.0}, "recent lies between 0 and 1"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(name: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(RuleError, match=said):
        measures.make(name, params)


def test_two_classes_and_a_window_of_eight_are_the_least() -> None:
    for name, params in (
        ("initial", {"classes": 2.0}),
        ("chance", {"classes": (2.0,)}),
        ("progress", {"classes": 2.0}),
        ("clumps", {"window": 8, "finest": 1.0}),
    ):
        made = measures.make(name, params)
        assert (name,) == (made.NAME,)
