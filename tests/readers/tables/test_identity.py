"""Rows that say which of several trainings they are of."""

from __future__ import annotations

import json

import pytest

from hrmdoc.readers import jsonl
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Event, Record
from tests.readers.feeding import fed


def read(rows: list[dict[str, object]], cuts: tuple[int, ...] = ()) -> list[Record]:
    blob = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return fed(jsonl.open_session(Context("curves.jsonl")), blob, cuts)


def launches(records: list[Record]) -> list[int | None]:
    return [record.line for record in records if isinstance(record, Event) and record.kind == "launch"]


def rows_of(key: str, values: tuple[object, ...], epochs: int = 6) -> list[dict[str, object]]:
    return [{key: value, "epoch": n, "loss": 1 / (n + 1)} for value in values for n in range(epochs)]


@pytest.mark.parametrize(("key", "values"), [("seed", (1, 2, 3)), ("model", ("a", "b", "c"))])
@pytest.mark.parametrize("cuts", [(), (40, 41, 200, 333), tuple(range(10, 700, 10))])
def test_another_training_begins_where_its_name_changes_and_its_counter_falls(
    key: str, values: tuple[object, ...], cuts: tuple[int, ...]
) -> None:
    assert launches(read(rows_of(key, values), cuts)) == [6, 12]


def test_trainings_that_are_written_in_turn_are_not_told_apart() -> None:
    rows = rows_of("seed", (1, 2))
    assert launches(read([row for pair in zip(rows[:6], rows[6:], strict=True) for row in pair])) == []


def test_a_counter_that_falls_back_under_one_name_is_none_of_another_training() -> None:
    assert launches(read(rows_of("seed", (1, 1)))) == []


def test_rows_of_another_form_do_not_tell() -> None:
    rows = [{**row, "val_loss": 0.5} if n % 3 == 2 else row for n, row in enumerate(rows_of("seed", (1, 2)))]
    assert launches(read(rows)) == [6]
