"""hrmdoc.readers.flight_recorder: dumps are read without trusting them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.readers import flight_recorder
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Fact, Record
from tests.readers.feeding import fed

REAL = Path(__file__).parents[1] / "artefacts/torchrun/flight-recorder/nccl_trace_rank_0"


def read(blob: bytes, rank: int | None = 0) -> list[Record]:
    session = flight_recorder.open_session(Context("trace", rank=rank))
    return fed(session, blob)


def facts(records: list[Record]) -> dict[str, object]:
    return {record.key: record.value for record in records if isinstance(record, Fact)}


def test_a_real_dump_tells_what_the_rank_waits_for() -> None:
    found = facts(read(REAL.read_bytes()))
    assert (found["fr.0.0.waiting"], found["fr.0.0.completed"], found["fr.0.0.operation"]) == (
        6,
        5,
        "gloo:all_reduce",
    )
    assert found["fr.members.0"] == "0,1"


def test_an_old_dump_is_a_bare_list() -> None:
    old = [
        {"seq_id": 3, "pg_id": 0, "state": "completed"},
        {"seq_id": 4, "pg_id": 0, "state": "started", "profiling_name": "x"},
    ]
    assert facts(read(pickle.dumps(old, protocol=2)))["fr.0.0.waiting"] == 4


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("pwned",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_dump_that_calls_a_function_is_refused(
    protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = read(pickle.dumps({"entries": [Evil()]}, protocol=protocol))
    assert [type(record) for record in records] == [Damage]
    assert not (tmp_path / "pwned").exists()


def test_another_pickle_is_no_dump() -> None:
    assert flight_recorder.sniff(Path("a.bin"), pickle.dumps({"a": 1})) == 0.0
    assert isinstance(read(pickle.dumps({"a": 1}))[0], Damage)


def test_a_dump_cut_at_any_byte_is_damaged_and_one_changed_never_raises() -> None:
    blob = REAL.read_bytes()
    for at in range(3, len(blob), 3):
        assert [type(one) for one in read(blob[:at])] == [Damage]
        read(blob[:at] + bytes([blob[at] ^ 0x41]) + blob[at + 1 :])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_an_entry_is_read_whatever_stands_beside_and_in_it(content: object) -> None:
    keyed = {
        "entries": [content, {"collective_seq_id": 1, "frames": content, "input_sizes": content}],
        "pg_config": {"0": content},
    }
    told = {one.key: one.value for one in read(pickle.dumps(keyed)) if isinstance(one, Fact)}
    assert told["fr.0.0.waiting"] == 1


@given(st.none() | st.booleans() | st.integers() | st.text())
def test_a_plain_value_is_no_dump(content: object) -> None:
    assert [type(one) for one in read(pickle.dumps(content))] == [Damage]
