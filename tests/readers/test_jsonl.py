"""hrmdoc.readers.jsonl"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers import jsonl
from hrmdoc.readers.sources.feed import nothing_wanted
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Line, Points, Record
from tests.readers.feeding import curves, fed


def read(
    text: str | bytes, cuts: tuple[int, ...] = (), path: str = "log.jsonl", wanted: bytes = b""
) -> list[Record]:
    blob = text.encode() if isinstance(text, str) else text
    search = (lambda block: [block.find(wanted)] if wanted in block else []) if wanted else nothing_wanted
    session = jsonl.open_session(Context(path, wanted=search))
    return fed(session, blob, cuts)


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_row_becomes_one_point_of_each_metric() -> None:
    (points,) = [
        r for r in read('{"step": 3, "loss": 2.5, "timestamp": 1700000000.5}\n') if isinstance(r, Points)
    ]
    assert (points.metric, points.steps.tolist(), points.values.tolist(), points.times.tolist()) == (
        "loss",
        [3],
        [2.5],
        [1700000000.5],
    )
    assert points.lines is not None
    assert points.lines.tolist() == [1]
    assert (points.axis, points.precision) == ("step", 3)


KEYS = ("loss", "eval_loss", "lr", "accuracy")


@settings(deadline=None)
@given(
    st.lists(st.sets(st.sampled_from(KEYS)), min_size=6, max_size=30),
    st.lists(st.integers(0, 2000), max_size=4),
)
def test_evaluations_among_the_rows_are_read_the_same_in_any_cut(
    rows: list[set[str]], cuts: list[int]
) -> None:
    text = lines(
        *({"step": step, **dict.fromkeys(sorted(keys), 0.5 * step)} for step, keys in enumerate(rows))
    )
    ends = [at + 1 for at, sign in enumerate(text) if sign == "\n"]
    one_by_one = read(text, tuple(ends))
    whole = read(text, tuple(sorted(cut for cut in cuts if cut < len(text))))
    assert curves(whole) == curves(one_by_one)
    assert curves(whole).keys() == set().union(*rows)
    places = [sorted(zip(_metrics(found), _lines(found), strict=True)) for found in (whole, one_by_one)]
    assert places[0] == places[1]


def _metrics(found: list[Record]) -> list[str]:
    return [one.metric for one in found if isinstance(one, Points) for _ in one.values]


def _lines(found: list[Record]) -> list[int]:
    return [
        line
        for one in found
        if isinstance(one, Points) and one.lines is not None
        for line in one.lines.tolist()
    ]


def test_bare_nan_and_infinity_are_read_as_such() -> None:
    found = curves(read('{"step": 1, "loss": NaN, "grad_norm": Infinity, "note": "NaN: it is text"}\n'))
    assert found == {"loss": [(1, "nan")], "grad_norm": [(1, "inf")]}


def test_numbers_in_quotes_and_progress_as_a_fraction_are_read() -> None:
    found = curves(
        read(
            '{"loss": "0.31", "global_step/max_steps": "8270/11043", "memory(GiB)": 61.2, '
            '"elapsed_time": "1h 2m"}\n'
        )
    )
    assert found == {"loss": [(8270, "0.31")], "memory(GiB)": [(8270, "61.2")]}


def test_nested_names_are_joined_by_dots() -> None:
    assert curves(read('{"_step": 7, "all": {"accuracy": 0.5, "deep": {"er": 1}}}\n')) == {
        "all.accuracy": [(7, "0.5")],
        "all.deep.er": [(7, "1.0")],
    }


def test_a_missing_null_is_no_point() -> None:
    found = curves(
        read(lines({"step": 1, "loss": 2.0, "eval_loss": None}, {"step": 2, "loss": 1.0, "eval_loss": 3.0}))
    )
    assert found["eval_loss"] == [(2, "3.0")]


def test_a_null_in_a_column_that_always_had_a_number_is_a_nan() -> None:
    rows = [{"step": step, "loss": 1.0 if step < 5 else None} for step in range(8)]
    assert [value for _, value in curves(read(lines(*rows)))["loss"]] == ["1.0"] * 5 + ["nan"] * 3


def test_steps_that_start_over_in_each_epoch_are_counted_through() -> None:
    rows = [{"epoch": epoch, "step": step, "loss": 1.0} for epoch in range(3) for step in range(4)]
    assert [step for step, _ in curves(read(lines(*rows)))["loss"]] == list(range(12))


def test_a_step_that_falls_back_within_an_epoch_stays_as_written() -> None:
    rows = [{"epoch": 0, "step": step, "loss": 1.0} for step in (10, 20, 30, 20, 30, 40)]
    assert [step for step, _ in curves(read(lines(*rows)))["loss"]] == [10, 20, 30, 20, 30, 40]


def test_without_a_step_whole_epochs_count_and_fractions_do_not() -> None:
    whole = [
        r
        for r in read(lines({"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0}))
        if isinstance(r, Points) and r.metric == "loss"
    ]
    parts = [
        r
        for r in read(lines({"epoch": 0.3, "loss": 2.0}, {"epoch": 0.6, "loss": 1.0}))
        if isinstance(r, Points) and r.metric == "loss"
    ]
    assert (whole[0].axis, whole[0].steps.tolist()) == ("epoch", [1, 2])
    assert (parts[0].axis, parts[0].steps.tolist()) == ("index", [0, 1])


def test_the_part_of_the_data_is_told_by_a_cell_or_by_the_name_of_the_file() -> None:
    assert set(
        curves(
            read(lines({"step": 1, "split": "val", "loss": 1.0}, {"step": 1, "split": "train", "loss": 2.0}))
        )
    ) == {
        "eval/loss",
        "loss",
    }
    assert set(curves(read('{"step": 1, "loss": 1.0, "val_acc": 0.5}\n', path="run/val_log.jsonl"))) == {
        "eval/loss",
        "val_acc",
    }


def test_events_of_a_run_directory() -> None:
    text = lines(
        {"time": 1.7e9, "event": "started", "step": 0},
        {"time": 1.7e9, "event": "checkpoint", "step": 50, "path": "step_50"},
        {
            "time": 1.7e9,
            "event": "exception",
            "step": 51,
            "message": "ValueError: bad",
            "traceback": "Traceback:\n  x\nValueError: bad",
        },
        {"time": 1.7e9, "event": "ended", "step": 51, "state": "crashed"},
    )
    records = read(text)
    events = [r for r in records if isinstance(r, Event)]
    assert [(event.kind, event.step) for event in events] == [
        ("start", 0),
        ("checkpoint", 50),
        ("exception", 51),
        ("end", 51),
    ]
    assert "crashed" in events[-1].detail
    assert "  x" in [r.text for r in records if isinstance(r, Line)]
    assert curves(records) == {}


def test_what_a_runner_records_of_a_failure_is_an_exception_with_its_reason() -> None:
    records = read(
        lines(
            {"type": "training_launched", "epochs": 10},
            {"type": "train_error", "iteration": 3, "error": "TIMEOUT: after 2700s\nmore"},
            {"type": "job-preempted", "status": "timeout", "reason": " ", "step": 7},
            {"event": "run_failed"},
            {"event": "upload_failed", "error": "no route"},
        )
    )
    assert [(r.text, r.line) for r in records if isinstance(r, Line) and r.text.startswith("event")] == [
        ('event "train_error": TIMEOUT: after 2700s', 2),
        ('event "job_preempted": timeout', 3),
        ('event "run_failed": no reason is given', 4),
    ]
    assert [(r.kind, r.step) for r in records if isinstance(r, Event)] == [
        ("exception", None),
        ("exception", 7),
        ("exception", None),
    ]


def test_a_wanted_message_is_kept_as_a_line() -> None:
    text = lines(
        {"step": 1, "loss": 1.0},
        {"level": "ERROR", "message": "CUDA out of memory. Tried"},
        {"step": 2, "loss": 1.0},
    )
    kept = [r for r in read(text, wanted=b"out of memory") if isinstance(r, Line)]
    assert [(line.text, line.line) for line in kept] == [("CUDA out of memory. Tried", 2)]


def test_a_broken_line_is_reported_and_the_others_are_kept() -> None:
    records = read('{"step": 1, "loss": 1}\n{"step": 2, "lo\n{"step": 3, "loss": 3}\n')
    assert curves(records)["loss"] == [(1, "1.0"), (3, "3.0")]
    assert [r.line for r in records if isinstance(r, Damage)] == [2]


def test_a_torn_last_line_is_waited_for_and_noted_at_the_end() -> None:
    session = jsonl.open_session(Context("x.jsonl"))
    assert len(curves(list(session.feed(b'{"step": 1, "loss": 1}\n{"step": 2, "loss"')))["loss"]) == 1
    assert curves(list(session.feed(b": 2}\n"))) == {"loss": [(2, "2.0")]}
    assert [r.line for r in read('{"step": 1, "loss": 1}\n{"step": 2, "loss"') if isinstance(r, Damage)] == [
        2
    ]


def test_a_whole_last_line_without_a_line_end_counts() -> None:
    assert curves(read('{"step": 1, "loss": 1}'))["loss"] == [(1, "1.0")]


CELLS = st.one_of(
    st.floats(width=32), st.integers(-5, 5), st.none(), st.sampled_from(["nan", "x", "1e3", "12/20"])
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"loss": CELLS},
        optional={
            "step": st.integers(0, 30),
            "epoch": st.integers(0, 3),
            "eval": st.fixed_dictionaries({"acc": CELLS}),
        },
    ),
    max_size=20,
)


@settings(max_examples=120, deadline=None)
@given(rows=ROWS, data=st.data())
def test_the_records_do_not_depend_on_how_the_bytes_are_cut(rows: list[object], data: st.DataObject) -> None:
    blob = lines(*rows).encode()
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(blob)), max_size=6))))
    assert curves(read(blob, cuts)) == curves(read(blob))


def everything(records: list[Record]) -> list[object]:
    """All that records tell, however points were cut into arrays."""
    points: dict[str, list[object]] = {}
    for r in records:
        if isinstance(r, Points):
            assert r.lines is not None
            columns = (
                r.steps.tolist(),
                map(repr, r.values.tolist()),
                map(repr, r.times.tolist()),
                r.lines.tolist(),
            )
            points.setdefault(f"{r.metric} {r.axis}", []).extend(zip(*columns, strict=True))
    return [points, [r for r in records if not isinstance(r, Points)]]


ALIKE = st.sampled_from(
    [
        *[
            '{"step": 4, "loss": 2.5, "ts": 1700000000.5, "eta": "0:01"}',
            '{"step": 5, "loss": 2, "ts": 1700000001, "eta": "1h"}',
        ]
        * 4,
        '{"step": 6, "loss": null, "ts": 1700000001, "eta": "1h"}',
        '{"step": 6, "loss": NaN, "ts": 1700000001, "eta": "1h"}',
        '{"step": 6, "loss": "2.5", "ts": "2026-05-04 10:00:00", "eta": null}',
        '{"step": 6, "loss": {"a": 1, "b": 2}, "ts": 1700000001, "eta": "1h"}',
        '{"step": 6, "loss": 1, "ts": 1700000001, "eta": {"a": 3}}',
        '{"step": 6, "loss": 1}',
        '{"step": 6, "loss": 1, "ts": 1, "eta": "0", "lr": 3}',
        '{"step": 7, "loss": 1, "ts": 1, "eta": "0"}{"step": 8, "loss": 1, "ts": 1, "eta": "0"}',
        '{"step": 9,\n"loss": 1, "ts": 1, "eta": "0"}',
        '{"step": 9, "loss": 1, "ts": 1',
        '{"event": "ended", "step": 9}',
        "",
    ]
)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(ALIKE, max_size=16), data=st.data())
def test_like_rows_are_read_the_same_in_one_block_and_in_many(rows: list[str], data: st.DataObject) -> None:
    blob = "".join(row + "\n" for row in rows).encode()
    ends = [at + 1 for at, byte in enumerate(blob) if byte == 10]
    cuts = tuple(sorted(data.draw(st.lists(st.sampled_from(ends), max_size=12)))) if ends else ()
    assert everything(read(blob, cuts)) == everything(read(blob))


@pytest.mark.parametrize(
    ("blob", "values", "left_out"),
    [
        (b"", [], 0),
        (b"\0" * 300, [], 0),
        (b'{"loss": 1}\n' + b"\0" * 300 + b'{"loss": 2}\n', [1.0, 2.0], 0),
        (b"{" * 5000, [], 1),
        (b"[" * 200_000, [], 1),
        (b"<html><body>\n" * 50, [], 50),
        (b"\xff\xfe\x00{", [], 1),
        (b'{"a": ' + b"9" * 400 + b"}\n", [], 0),
        (b'{"step": 1e999, "loss": 1}\n', [1.0], 0),
    ],
)
def test_of_hostile_input_what_can_be_read_is_and_the_rest_is_counted(
    blob: bytes, values: list[float], left_out: int
) -> None:
    records = read(blob)
    assert [v for one in records if isinstance(one, Points) for v in one.values] == values
    assert sum(one.left_out for one in records if isinstance(one, Damage)) == left_out


def test_a_line_of_many_megabytes_is_left_out_and_reported() -> None:
    records = read(b'{"step": 1, "loss": 1}\n' + b"x" * (17 << 20) + b'\n{"step": 3, "loss": 3}\n')
    assert curves(records)["loss"] == [(1, "1.0"), (3, "3.0")]
    assert [r.line for r in records if isinstance(r, Damage)] == [2]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ('{"prompt": "hi", "completion": "ho"}\n' * 9, False),
        ('{"text": "a", "label": 3}\n' * 9, False),
        ("step 1 loss 2\n" * 9, False),
        ('{"step": 1, "loss": 2.0}\n' * 9, True),
        ('{"current_steps": 5, "total_steps": 9, "lr": 1e-5, "epoch": 0.1}\n' * 9, True),
        ('{"event": "started", "time": 1}\n', True),
    ],
)
def test_sniff_takes_training_records_and_no_data_sets(text: str, taken: bool) -> None:
    assert (jsonl.sniff(Path("x.jsonl"), text.encode()) > 0.5) is taken


def test_values_keep_their_full_precision() -> None:
    value = math.pi
    (points,) = [r for r in read(json.dumps({"step": 1, "loss": value}) + "\n") if isinstance(r, Points)]
    assert points.values[0] == value


def test_a_key_that_holds_a_mapping_in_one_row_and_a_number_in_the_next_is_read() -> None:
    session = jsonl.open_session(Context("log.jsonl"))
    rows = b'{"step": 1, "loss": {"ce": 2.0}}\n{"step": 2, "loss": 1.5}\n{"step": 3, "loss": {"ce": 1.0}}\n'
    points = [record for record in [*session.feed(rows), *session.close()] if isinstance(record, Points)]
    found = {record.metric: (record.steps.tolist(), record.values.tolist()) for record in points}
    assert found == {"loss.ce": ([1, 3], [2.0, 1.0]), "loss": ([2], [1.5])}


def test_seconds_of_the_run_are_a_metric_wherever_the_bytes_are_cut() -> None:
    rows = [
        {"step": 1, "time": 3.5, "loss": 2.5},
        {"step": 2, "time": 1767300000.0, "loss": 2.25},
        {"step": 3, "time": 4.5, "loss": 2},
    ]
    text = lines(*rows)
    for cut in range(len(text)):
        assert curves(read(text, (cut,)))["time"] == [(1, "3.5"), (3, "4.5")]


def test_a_config_that_every_row_repeats_is_settings_and_no_metric() -> None:
    rows = "".join(
        json.dumps({"training_iteration": n, "loss": 2.0 / n, "config": {"lr": 0.1, "model": {"depth": 2}}})
        + "\n"
        for n in range(1, 5)
    )
    found = read(rows)
    assert list(curves(found)) == ["loss"]
    assert {one.key: one.value for one in found if isinstance(one, Fact)} == {"lr": 0.1, "model.depth": 2}
