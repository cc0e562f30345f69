"""hrmdoc.readers.tables.typed_rows"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers.tables.typed_rows import Column, TypedRows

ROW = {"step": 1, "loss": 2.5}


def cells(found: list[Column] | None) -> list[list[object]] | None:
    return None if found is None else [list(column) for column in found]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(), min_size=1))
def test_numbers_are_those_that_json_reads(numbers: list[float]) -> None:
    block = "".join(json.dumps({"a": number}) + "\n" for number in numbers).encode()
    try:
        expected = [float(number) for number in numbers]
    except OverflowError:
        return
    assert cells(TypedRows({"a": 0.0}).columns(block)) == [expected]


def test_keys_may_come_in_another_order() -> None:
    assert cells(TypedRows(ROW).columns(b'{"loss":2,"step":1}\n{"step":2,"loss":1e-3}\n')) == [
        [1.0, 2.0],
        [2.0, 0.001],
    ]


def test_texts_and_nulls_stay_beside_the_numbers() -> None:
    typed = TypedRows({"loss": 1.0, "time": "0:01", "note": None})
    assert cells(typed.columns(b'{"loss":2,"time":"0:02 }","note":[3]}\n')) == [[2.0], ["0:02 }"], [[3]]]


@pytest.mark.parametrize(
    "block",
    [
        b'{"step":1}\n',
        b'{"step":1,"loss":2,"lr":3}\n',
        b'{"step":1,"loss":null}\n',
        b'{"step":1,"loss":NaN}\n',
        b'{"step":1,"loss":"2"}\n',
        b'{"step":1,"loss":true}\n',
        b'{"step":1,"loss":{"a":1}}\n',
        b'{"step":1,"loss":1e999}\n',
        b'{"step":1,"loss":2\n',
        b'\n{"step":1,"loss":2}\n',
        b'{"step":1,"loss":2} x\n',
        b'{"step":1,"loss":2}{"step":2,"loss":2}\n{"step":3,\n"loss":2}\n',
        b'{"step":1,"loss":2}{"step":2,"loss":2}\n',
        b"\xff\n",
        b"\n",
    ],
)
def test_a_block_with_a_line_of_another_form_is_refused(block: bytes) -> None:
    assert TypedRows(ROW).columns(block) is None


def test_a_mapping_where_a_text_was_is_refused() -> None:
    assert TypedRows({"a": "x"}).columns(b'{"a":{"b":1}}\n') is None


def test_after_a_refusal_some_blocks_are_left_to_others() -> None:
    typed, good = TypedRows({"a": 1}), b'{"a":1}\n'
    assert typed.columns(good) is not None
    assert typed.columns(b"{}\n") is None
    assert [typed.columns(good) is None for _ in range(6)] == [True] * 4 + [False] * 2
