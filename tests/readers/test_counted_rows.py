"""hrmdoc.readers.counted_rows: rows that begin with a counter and have no header."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers import counted_rows
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Points
from tests.readers.feeding import run_of

VALUES = [2.31, 1.92, 1.71, 1.64, 1.52, 1.47]


@pytest.mark.parametrize(
    "row", ["{}: {}", "{} : {}", "{} {}", "[{}] {}", "{}, {}", "{};{}", "{} -> {}", "{}\t{}"]
)
def test_pairs_are_one_curve(tmp_path: Path, row: str) -> None:
    run = run_of(
        tmp_path, "out.log", "".join(row.format(at, value) + "\n" for at, value in enumerate(VALUES))
    )
    ((key, series),) = run.series.items()
    assert key.metric == "value"
    assert series.values.tolist() == VALUES
    assert series.steps.tolist() == list(range(len(VALUES)))


def test_the_name_of_the_file_names_the_only_column(tmp_path: Path) -> None:
    run = run_of(tmp_path, "val_loss.log", "".join(f"{at} : {value}\n" for at, value in enumerate(VALUES)))
    assert [key.metric for key in run.series] == ["val_loss"]


def test_words_are_no_values_and_name_the_part_of_the_data(tmp_path: Path) -> None:
    rows = [f"{at}\t{'val' if at % 2 else 'train'}\t{value}\t0.{at}5" for at, value in enumerate(VALUES)]
    run = run_of(tmp_path, "out.txt", "\n".join(rows) + "\n")
    assert {key.metric: series.values.tolist() for key, series in run.series.items()} == {
        "col3": VALUES[::2],
        "eval/col3": VALUES[1::2],
        "col4": [0.05, 0.25, 0.45],
        "eval/col4": [0.15, 0.35, 0.55],
    }


def test_that_columns_have_no_names_is_said_once(tmp_path: Path) -> None:
    run = run_of(tmp_path, "out.log", "".join(f"{at}, {value}, 4.{at}\n" for at, value in enumerate(VALUES)))
    assert [damage.what for damage in run.damages if "--role" in damage.what] == [counted_rows._NAMELESS]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{value} {at}\n" for at, value in enumerate(VALUES)),
        "".join(f"{at}: epoch of words and 1.{at}\n" for at in range(9)),
        "".join(f"{9 - at}: 1.{at}\n" for at in range(9)),
        "".join(f"{at}: {at}\n" for at in range(9)),
        "0: 1.5\n1: 1.4\n",
        "",
    ],
)
def test_other_texts_are_left_to_other_readers(text: str) -> None:
    assert counted_rows.sniff(Path("out.log"), text.encode()) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=4), min_size=1, max_size=30),
    st.integers(1, 50),
    st.sampled_from([", ", "\t", " ", "; "]),
)
def test_points_in_are_points_out_however_the_bytes_are_cut(
    rows: list[list[float]], size: int, mark: str
) -> None:
    blob = "".join(mark.join(map(str, [at, *row])) + "\n" for at, row in enumerate(rows)).encode()
    session = counted_rows.open_session(Context("out.log"))
    records = [one for at in range(0, len(blob), size) for one in session.feed(blob[at : at + size])]
    records += session.close()
    points = sorted(value for one in records if isinstance(one, Points) for value in one.values.tolist())
    assert points == sorted(value for row in rows for value in row)


def test_lines_that_are_no_rows_are_counted() -> None:
    session = counted_rows.open_session(Context("out.log"))
    records = [*session.feed(b"0: 1.5\n1: 1.4\nsome words\n2: 1.3\n"), *session.close()]
    assert sum(one.left_out for one in records if isinstance(one, Damage)) == 1


def test_a_word_that_names_its_number_makes_a_line_of_a_log() -> None:
    lines = ["0 val 11.0864", "0 hella 0.2498", *(f"{i} train {11 - 0.1 * i:.4f}" for i in range(9))]
    head = "".join(f"{line}\n" for line in lines).encode()
    assert counted_rows.sniff(Path("log.txt"), head) == 0.0
    assert counted_rows.sniff(Path("log.txt"), head.replace(b" ", b"\t")) > 0.0
