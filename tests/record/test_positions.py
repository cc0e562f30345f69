"""Series whose points stand at the same places keep them once, and each still has its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.record.records import Points
from hrmdoc.record.run import Run

METRICS = ("loss", "lr", "accuracy", "reward")


def block(first: int, rows: int, wanted: dict[str, frozenset[int]]) -> list[Points]:
    """Points of some metrics in `rows` rows; metrics that are in the same rows get the same arrays."""
    found: dict[frozenset[int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    made = []
    for metric, left_out in wanted.items():
        places = found.get(left_out)
        if places is None:
            at = np.array([first + row for row in range(rows) if row not in left_out], np.int64)
            places = found[left_out] = (at, at + 0.5, at + 1)
        steps, times, lines = places
        made.append(Points(metric, steps, steps * 2.0, times, "f", lines))
    return made


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(METRICS), st.sampled_from([frozenset(), frozenset({0}), frozenset({1, 2})])
        ),
        max_size=8,
    )
)
def test_every_series_has_the_places_of_its_own_points(blocks: list[dict[str, frozenset[int]]]) -> None:
    run, expected = Run(), {metric: [] for metric in METRICS}
    for number, wanted in enumerate(blocks):
        for points in block(10 * number, 4, wanted):
            run.add(points)
            expected[points.metric] += points.steps.tolist()
    for series in run.series.values():
        steps = expected[series.key.metric]
        assert series.steps.tolist() == steps
        assert series.values.tolist() == [2.0 * step for step in steps]
        assert series.times.tolist() == [step + 0.5 for step in steps]
        assert [series.place(index) for index in range(len(series))] == [("f", step + 1) for step in steps]


def test_metrics_of_the_same_rows_share_their_places() -> None:
    run = Run()
    for number in range(40):
        odd = frozenset({1}) if number == 20 else frozenset()
        for points in block(10 * number, 4, {"loss": odd, "lr": frozenset(), "accuracy": frozenset()}):
            run.add(points)
    loss, lr, accuracy = run.series.values()
    assert (len(loss), len(lr), len(accuracy)) == (159, 160, 160)
    assert np.shares_memory(lr.steps, accuracy.steps)
    assert np.shares_memory(lr.times, accuracy.times)
    assert not np.shares_memory(loss.steps, lr.steps)


def test_a_table_of_many_metrics_keeps_its_steps_once(tmp_path) -> None:
    import hrmdoc

    for name, text in {
        "rows.jsonl": "".join(f'{{"step": {n}, "loss": {1 + 1 / (n + 1)}, "lr": 0.1}}\n' for n in range(50)),
        "rows.csv": "step,loss,lr\n" + "".join(f"{n},{1 + 1 / (n + 1)},0.1\n" for n in range(50)),
    }.items():
        (tmp_path / name).write_text(text)
        loss, lr = hrmdoc.analyze(tmp_path / name).run.series.values()
        assert np.shares_memory(loss.steps, lr.steps), name
