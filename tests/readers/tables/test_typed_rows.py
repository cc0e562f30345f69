"""hrmdoc.readers.tables.typed_rows"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrmdoc.readers.tables.typed_rows import Part, TypedRows, may_be_partial

ROW = {"step": 1, "loss": 2.5}


def cells(found: list[Part] | None) -> list[list[object]] | None:
    """The columns of rows that are all of one part."""
    if found is None:
        return None
    (part,) = found
    assert part.order.tolist() == list(range(len(part.order)))
    return [list(column) for column in part.columns.values()]


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


def test_rows_that_lack_keys_are_parted_by_those_they_have_in_the_order_in_which_they_came() -> None:
    typed = TypedRows({"step": 1, "loss": 1.0, "eval": 1.0}, partial=True)
    block = (
        b'{"step":1,"loss":2}\n{"eval":9,"step":1}\n{"loss":3,"step":2}\n{}\n{"step":3,"loss":1,"eval":8}\n'
    )
    found = typed.columns(block)
    assert found is not None
    told = [
        ({name: list(column) for name, column in part.columns.items()}, part.order.tolist()) for part in found
    ]
    assert told == [
        ({"step": [1, 2], "loss": [2, 3]}, [0, 2]),
        ({"step": [1], "eval": [9]}, [1]),
        ({}, [3]),
        ({"step": [3], "loss": [1], "eval": [8]}, [4]),
    ]  # fmt: skip


def test_rows_of_many_sets_of_keys_are_left_to_others() -> None:
    names = [f"k{at}" for at in range(17)]
    typed = TypedRows(dict.fromkeys(names, 0.0), partial=True)
    assert typed.columns("".join(f'{{"{name}":1}}\n' for name in names[:16]).encode()) is not None
    assert typed.columns("".join(f'{{"{name}":1}}\n' for name in names).encode()) is None


def test_keys_may_be_lacking_where_all_cells_are_numbers() -> None:
    assert may_be_partial({"a": 1, "b": 2.5})
    assert not may_be_partial({"a": 1, "b": "x"})
    assert not may_be_partial({"a": True})
    assert not may_be_partial({f"k{at}": 1 for at in range(61)})


def test_a_mapping_where_a_text_was_is_refused() -> None:
    assert TypedRows({"a": "x"}).columns(b'{"a":{"b":1}}\n') is None


def test_after_a_refusal_some_blocks_are_left_to_others() -> None:
    typed, good = TypedRows({"a": 1}), b'{"a":1}\n'
    assert typed.columns(good) is not None
    assert typed.columns(b"{}\n") is None
    assert [typed.columns(good) is None for _ in range(6)] == [True] * 4 + [False] * 2
