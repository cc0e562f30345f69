"""hrmdoc.readers.csv"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers import csv, discover, read_into
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Fact, Points, Record
from hrmdoc.record.run import Run
from tests.readers.feeding import curves, fed


def read(text: str | bytes, cuts: tuple[int, ...] = (), path: str = "metrics.csv") -> list[Record]:
    blob = text.encode() if isinstance(text, str) else text
    session = csv.open_session(Context(path))
    return fed(session, blob, cuts)


def test_lightning_leaves_cells_empty_where_a_metric_was_not_logged() -> None:
    found = curves(read("epoch,lr,step,train_loss_step,val_loss\n0,0.01,2,0.5,\n0,,7,,0.25\n1,0.01,9,0.4,\n"))
    assert found["train_loss_step"] == [(2, "0.5"), (9, "0.4")]
    assert found["val_loss"] == [(7, "0.25")]


def test_keras_writes_na_for_missing_and_nan_for_nan() -> None:
    found = curves(read("epoch,loss,val_loss\n0,0.8,NA\n1,nan,1.5\n2,inf,NA\n"))
    assert found["loss"] == [(0, "0.8"), (1, "nan"), (2, "inf")]
    assert found["val_loss"] == [(1, "1.5")]


def test_padded_names_are_trimmed() -> None:
    found = curves(read("                  epoch,         train/box_loss\n   1,   0.5\n   2,   0.4\n"))
    assert found["train/box_loss"] == [(1, "0.5"), (2, "0.4")]


def test_an_export_names_the_run_in_front_and_spreads_behind() -> None:
    text = '"Step","my-run - 2 - loss","my-run - 2 - loss__MIN","my-run - 2 - loss__MAX"\n'
    text += '"4","12.1","12.0","12.2"\n"8","11","11","11"\n'
    points = [r for r in read(text) if isinstance(r, Points)]
    assert [(p.metric.rpartition(" - ")[2], p.steps.tolist(), p.values.tolist()) for p in points] == [
        ("loss", [4, 8], [12.1, 11.0])
    ]


def test_two_runs_in_one_export_are_two_sources() -> None:
    points = [
        r for r in read('"Step","a - loss","b - loss"\n1,2.0,3.0\n2,1.0,2.5\n') if isinstance(r, Points)
    ]
    assert sorted((p.metric, p.source, p.values.tolist()) for p in points) == [
        ("loss", "metrics.csv#a", [2.0, 1.0]),
        ("loss", "metrics.csv#b", [3.0, 2.5]),
    ]


def test_tabs_semicolons_and_decimal_commas_are_understood() -> None:
    assert curves(read("step\tloss\n1\t0.5\n"))["loss"] == [(1, "0.5")]
    assert curves(read("step;loss\n1;0,5\n"))["loss"] == [(1, "0.5")]
    assert curves(read("step;loss\n1;1,234\n"))["loss"] == [(1, "1.234")], (
        "beside semicolons a comma is a decimal sign"
    )


def test_decimal_commas_are_read_in_cells_of_any_kind_once_a_number_can_be_no_other() -> None:
    rows = ("1;0,9;1.000", "2;1,234;2.000", "3;0,5;12.000")
    text = "step;loss;tokens\n" + "\n".join(rows) + "\n"
    for found in (curves(read(text)), curves(read(text.replace(";", "\t")))):
        assert found["loss"] == [(1, "0.9"), (2, "1.234"), (3, "0.5")]
        assert found["tokens"] == [(1, "1000.0"), (2, "2000.0"), (3, "12000.0")]
    quoted = curves(read('step,loss\n1,"0,9"\n2,"1,234"\n'))
    assert quoted["loss"] == [(1, "0.9"), (2, "1.234")]


def test_where_points_stand_before_decimals_commas_part_thousands() -> None:
    found = curves(read("step;loss;tokens\n1;0.5;1,024\n2;0.25;2,048\n"))
    assert found["tokens"] == [(1, "1024.0"), (2, "2048.0")]
    found = curves(read('step,loss,tokens\n1,0.5,3\n2,0.25,"0,5"\n'))
    assert found["loss"] == [(1, "0.5"), (2, "0.25")]
    assert found["tokens"] == [(1, "3.0")], "what fits neither is no number"


def test_a_column_of_yes_and_no_is_a_curve_of_ones_and_zeros() -> None:
    rows = "1,0.5,Yes\n2,0.7,No (timeout)\n3,0.9,True\n4,0.9,maybe\n"
    found = curves(read("episode,reward,success\n" + rows))
    assert found["success"] == [(1, "1.0"), (2, "0.0"), (3, "1.0")]
    assert len(found["reward"]) == 4


def test_columns_without_names_are_numbered_and_have_no_role() -> None:
    records = read("1,2.5,0.5\n2,2.25,0.25\n3,2.0,0.125\n", path="curve.csv")
    assert curves(records)["col2"] == [(0, "2.5"), (1, "2.25"), (2, "2.0")]
    [note] = [record for record in records if isinstance(record, Damage)]
    assert (note.line, "--role train.loss=col2" in note.what) == (1, True)


def test_names_in_a_comment_above_the_numbers_are_taken() -> None:
    records = read("# made by hand\n# step,loss\n1,2.5\n2,2.25\n", path="curve.csv")
    assert curves(records)["loss"] == [(1, "2.5"), (2, "2.25")]
    assert not [record for record in records if isinstance(record, Damage)]
    commas = curves(read("# step;loss\n1;0,5\n2;0,25\n", path="curve.csv"))
    assert commas["loss"] == [(1, "0.5"), (2, "0.25")]
    other = read("# three, words, here\n1,2.5\n2,2.25\n", path="curve.csv")
    assert set(curves(other)) == {"col1", "col2"}


def test_a_header_that_widens_later_is_taken_anew() -> None:
    found = curves(read("step,loss\n1,0.5\nstep,loss,lr\n2,0.4,0.01\n"))
    assert found == {"loss": [(1, "0.5"), (2, "0.4")], "lr": [(2, "0.01")]}


def test_a_row_of_another_width_is_reported_and_the_rest_kept() -> None:
    records = read("step,loss\n1,0.5\n2\n3,0.3\n")
    assert curves(records)["loss"] == [(1, "0.5"), (3, "0.3")]
    assert [r.line for r in records if isinstance(r, Damage)] == [3]


def test_seconds_of_the_run_are_a_metric_wherever_the_bytes_are_cut() -> None:
    text = "step,time,loss\n1,3.5,2.5\n2,1767300000.0,2.25\n3,4.5,2.0\n"
    for cut in range(len(text)):
        assert curves(read(text, (cut,)))["time"] == [(1, "3.5"), (3, "4.5")]


def test_lines_and_times_are_told() -> None:
    (points,) = [
        r
        for r in read(
            "timestamp,step,loss\n2026-01-02T03:04:05+00:00,1,0.5\n2026-01-02T03:04:06+00:00,2,0.4\n"
        )
        if isinstance(r, Points)
    ]
    assert points.lines is not None
    assert points.lines.tolist() == [2, 3]
    assert (points.times[1] - points.times[0]) == 1.0


def test_an_unnamed_first_column_counts() -> None:
    assert curves(read(",loss\n0,0.5\n5,0.4\n"))["loss"] == [(0, "0.5"), (5, "0.4")]


def test_units_in_cells_are_dropped() -> None:
    text = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
    text += "2026/01/02 03:04:05.678, 0, 97 %, 40536 MiB\n2026/01/02 03:04:06.678, 0, [N/A], 1 MiB\n"
    found = curves(read(text))
    assert [value for _, value in found["utilization.gpu [%]"]] == ["97.0"]
    assert [value for _, value in found["memory.used [MiB]"]] == ["40536.0", "1.0"]


CELL = st.sampled_from(["", "nan", "NA", "1", "0.25", "-3e-5", "inf", "x", "7 %", '"8"'])


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 40), CELL, CELL), max_size=15),
    ends=st.sampled_from(["\n", "\r\n"]),
    data=st.data(),
)
def test_the_records_do_not_depend_on_how_the_bytes_are_cut(
    rows: list[tuple[int, str, str]], ends: str, data: st.DataObject
) -> None:
    blob = ends.join(["step,loss,lr", *(f"{a},{b},{c}" for a, b, c in rows), ""]).encode()
    cuts = tuple(sorted(data.draw(st.lists(st.integers(0, len(blob)), max_size=6))))
    assert curves(read(blob, cuts)) == curves(read(blob))


@pytest.mark.parametrize(
    ("blob", "values", "damaged"),
    [
        (b"", [], []),
        (b"\0" * 100, [], [1]),
        (b"a,b\n" + b"\0,\0\n", [], [2]),
        (b"step,loss\n\xff\xfe,1\n", [1.0], []),
        (b'step,loss\n"1,2\n3,4\n', [4.0], [2]),
        (b"," * 100_000, [], []),
        (b"step,loss\n" + b"1," * 70000 + b"\n", [1.0], [2]),
    ],
)
def test_of_hostile_input_the_readable_values_are_kept(
    blob: bytes, values: list[float], damaged: list[int]
) -> None:
    records = read(blob)
    assert [v for one in records if isinstance(one, Points) for v in one.values] == values
    assert [one.line for one in records if isinstance(one, Damage)] == damaged


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("notes.txt", "Hello, this is, a text\nwith, some, commas\n", False),
        ("data.csv", "source,question,answer\na,53..7,534\nb,6..1,672\n", False),
        ("features.csv", "x0,x1,label\n1,2,0\n3,4,1\n", False),
        ("train.log", "step 1, loss 0.5\nstep 2, loss 0.4\n", False),
        ("metrics.csv", "step,loss\n1,0.5\n2,0.4\n", True),
        ("results.txt", "epoch\tloss\n1\t0.5\n2\t0.4\n", True),
    ],
)
def test_sniff_takes_tables_of_numbers_only(name: str, text: str, taken: bool) -> None:
    assert (csv.sniff(Path(name), text.encode()) > 0.5) is taken


def test_what_a_cell_is_does_not_depend_on_the_cells_that_come_with_it(tmp_path: Path) -> None:
    long = "0.5" + "8" * 70
    alone, beside = tmp_path / "alone.csv", tmp_path / "beside.csv"
    alone.write_text(f"step,loss\n0,{long}\n1,1_000\n")
    beside.write_text(f"step,loss\n0,{long}\n1,1_000\n2,what?\n")
    for path in (alone, beside):
        session = csv.open_session(Context(str(path)))
        found = [*session.feed(path.read_bytes()), *session.close()]
        assert [record.values.tolist() for record in found if isinstance(record, Points)] == [[float(long)]]


def test_a_carriage_return_inside_a_row_is_no_part_of_a_number() -> None:
    def values(*blocks: bytes) -> list[float]:
        session = csv.open_session(Context("metrics.csv"))
        found = [record for block in blocks for record in session.feed(block)] + list(session.close())
        return [value for record in found if isinstance(record, Points) for value in record.values.tolist()]

    blob = b"step,loss\r\n0,1.5\r4592\r\n1,0.5\r\n"
    assert values(blob) == values(blob + b"2,x\r\n") == values(blob[:24], blob[24:])


def test_a_column_of_words_that_name_no_part_of_the_data_changes_nothing() -> None:
    found = curves(read("epoch,phase,loss\n1,warmup,2.0\n2,full,1.0\n"))
    assert found == {"epoch": [(1, "1.0"), (2, "2.0")], "loss": [(1, "2.0"), (2, "1.0")]}


def test_a_table_says_that_it_counts_episodes() -> None:
    counted = [one for one in read("Episode,score\n1,0.5\n2,0.75\n") if isinstance(one, Fact)]
    assert [(one.key, one.value) for one in counted] == [("run.counts", "episodes")]
    assert not [one for one in read("step,score\n1,0.5\n2,0.75\n") if isinstance(one, Fact)]


@pytest.mark.parametrize("hole", ["\0" * 700, "\0\0\0\n"])
def test_a_hole_that_a_loss_of_power_left_is_passed_over(hole: str) -> None:
    text = f"epoch,loss\n1,2.0\n{hole}2,1.5\n3,1.25\n"
    assert csv.sniff(Path("log.csv"), text.encode()) > 0.5
    for cuts in ((), (20,), (21, 22)):
        records = read(text, cuts)
        assert curves(records)["loss"] == [(1, "2.0"), (2, "1.5"), (3, "1.25")]
        assert [one.line for one in records if isinstance(one, Damage)] == [3]


_IN_TURN = "step,loss,eval_loss,lr\n" + "".join(
    f"{at},nan,{2 - at / 100},nan\n" if at % 4 == 0 else f"{at},{3 - at / 100},nan,0.1\n"
    for at in range(1, 13)
)


def test_nan_in_the_columns_of_rows_of_another_kind_is_no_value() -> None:
    found = curves(read(_IN_TURN))
    assert [step for step, _ in found["loss"]] == [at for at in range(1, 13) if at % 4]
    assert found["eval_loss"] == [(4, "1.96"), (8, "1.92"), (12, "1.88")]
    assert all("nan" not in value for points in found.values() for _, value in points)


@pytest.mark.parametrize(
    ("rows", "lost"),
    [
        ("1,3.0,nan,0.1\n2,2.9,nan,0.1\n3,2.8,nan,0.1\n", {"eval_loss": [1, 2, 3]}),
        ("1,nan,2.0,0.1\n2,nan,1.9,0.1\n3,2.8,1.8,0.1\n", {"loss": [1, 2]}),
        ("1,3.0,2.0,0.1\n2,nan,2.0,0.1\n3,2.8,nan,0.1\n", {"loss": [2], "eval_loss": [3]}),
        ("1,3.0,,0.1\n2,nan,2.0,0.1\n3,2.8,nan,0.1\n", {"loss": [2], "eval_loss": [3]}),
        (_IN_TURN.partition("\n")[2] + "13,nan,nan,0.1\n14,nan,nan,0.1\n", {"loss": [13, 14]}),
    ],
)
def test_nan_in_a_row_that_is_the_metrics_own_is_a_value(rows: str, lost: dict[str, list[int]]) -> None:
    found = curves(read("step,loss,eval_loss,lr\n" + rows))
    for metric, steps in lost.items():
        assert [step for step, value in found[metric] if value == "nan"] == steps


def test_a_column_that_was_never_filled_is_waited_for_no_longer_than_a_while() -> None:
    session = csv.open_session(Context("metrics.csv"))
    rows = "".join(f"{at},{3 - at / 100},nan\n" for at in range(1, 61))
    found = curves([*session.feed(b"step,loss,eval_loss\n"), *session.feed(rows.encode())])
    assert len(found["eval_loss"]) == 60


@given(cuts=st.lists(st.integers(0, len(_IN_TURN)), max_size=6), kept=st.integers(30, len(_IN_TURN)))
def test_blank_cells_are_told_the_same_in_any_cut(cuts: list[int], kept: int) -> None:
    text = _IN_TURN[:kept]
    whole = curves(read(text))
    assert curves(read(text, tuple(sorted(min(cut, kept) for cut in cuts)))) == whole


def test_what_waits_is_told_where_another_header_follows() -> None:
    found = curves(read("step,loss,eval_loss\n1,2.0,nan\n2,1.9,nan\nstep,loss,eval_loss,lr\n3,1.8,1.7,0.1\n"))
    assert [step for step, value in found["eval_loss"] if value == "nan"] == [1, 2]


def test_a_column_whose_name_stands_again_is_read_under_a_number(tmp_path: Path) -> None:
    table = "step,loss,loss,acc,step\n" + "".join(
        f"{i},{3 - i / 9},{2 - i / 9},0.{i},{i}\n" for i in range(1, 9)
    )
    (tmp_path / "m.csv").write_text(table)
    run = Run()
    read_into(run, discover(tmp_path / "m.csv"))
    first = {series.key.metric: series.values[0] for series in run.series.values()}
    assert first == {"loss": 3 - 1 / 9, "loss.1": 2 - 1 / 9, "acc": 0.1}
