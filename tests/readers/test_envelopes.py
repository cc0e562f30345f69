"""hrmdoc.readers.envelopes: lines of text inside the JSON of log collectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hrmdoc
from hrmdoc import readers
from hrmdoc.readers import envelopes
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Line, Points
from tests.readers.feeding import curves, fed

TEXT = [f"step {step} | loss {2.5 - step / 100:.4f} | lr 3e-4" for step in range(0, 50, 10)] + [
    "Traceback (most recent call last):",
    '  File "train.py", line 88, in <module>',
    "    loss.backward()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
]
Wrap = Callable[[int, str], dict[str, Any]]
WRAPS: dict[str, Wrap] = {
    "docker": lambda i, line: {
        "log": line + "\n",
        "stream": "stderr",
        "time": f"2026-11-20T03:00:{i:02d}.1Z",
    },
    "google": lambda i, line: {
        "insertId": str(i),
        "textPayload": line,
        "timestamp": f"2026-11-20T03:00:{i:02d}.1Z",
    },
    "google structured": lambda i, line: {
        "jsonPayload": {"message": line},
        "timestamp": f"2026-11-20T03:00:{i:02d}.1Z",
    },
    "journald": lambda i, line: {
        "__REALTIME_TIMESTAMP": str(1_763_600_000_000_000 + i * 1_000_000),
        "MESSAGE": line,
        "_PID": "12",
    },
    "loki": lambda i, line: {
        "line": line,
        "labels": {"pod": "train-0"},
        "ts": f"2026-11-20T03:00:{i:02d}.1Z",
    },
    "python": lambda i, line: {
        "asctime": f"2026-11-20 03:00:{i:02d},100",
        "levelname": "INFO",
        "message": line,
    },
}


def lines_of(wrap: Wrap) -> str:
    return "".join(json.dumps(wrap(i, line)) + "\n" for i, line in enumerate(TEXT))


def read(text: str, cuts: tuple[int, ...] = ()) -> list[Any]:
    return fed(envelopes.open_session(Context("log.json")), text.encode(), cuts)


@pytest.mark.parametrize("name", WRAPS)
def test_the_lines_of_every_collector_are_read_with_their_times(name: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(lines_of(WRAPS[name]))
    found = readers.choose(path, path.read_bytes())
    assert found is not None
    assert found.NAME == "envelopes"
    analysis = hrmdoc.analyze(path)
    loss = analysis.run.best("train.loss")
    assert loss is not None
    assert loss.steps.tolist() == [0, 10, 20, 30, 40]
    assert (loss.times[1:] - loss.times[:-1]).tolist() == pytest.approx([1.0] * 4)
    (oom,) = (one for one in analysis.present if one.id == "oom-cuda")
    assert (oom.line, oom.first_step) == (9, 40)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_lists_them_newest_first_is_read_from_the_oldest(
    tmp_path: Path, indent: int | None
) -> None:
    events = json.loads(document(None))["events"]
    path = tmp_path / "cloudwatch.json"
    path.write_text(json.dumps({"events": events[::-1]}, indent=indent))
    analysis = hrmdoc.analyze(path)
    loss = analysis.run.best("train.loss")
    assert loss is not None
    assert loss.steps.tolist() == [0, 10, 20, 30, 40]
    assert "oom-cuda" in [one.id for one in analysis.present]


def test_a_message_of_several_lines_keeps_the_place_of_its_envelope() -> None:
    found = {"log": "\n".join(TEXT[5:]), "time": "2026-11-20T03:00:00Z"}
    text = (
        json.dumps({"log": TEXT[0] + "\n", "time": "2026-11-20T03:00:00Z"}) + "\n" + json.dumps(found) + "\n"
    )
    wanted = envelopes.open_session(
        Context("log.json", wanted=lambda block: [block.find(b"OutOfMemoryError")])
    )
    assert {record.line for record in fed(wanted, text.encode()) if isinstance(record, Line)} == {2}


@pytest.mark.parametrize(
    "row",
    [
        {"message": "step", "step": 5, "loss": 2.5, "time": 1_763_600_000},  # a record of its own kind
        {"text": "a sample", "label": 1},  # a data set
        {"log": [2.5, 2.4], "time": 1},
        {"event": "started", "message": "hello", "time": 1_763_600_000},
    ],
)
def test_other_objects_are_none_of_its_business(row: dict[str, Any], tmp_path: Path) -> None:
    assert envelopes.sniff(tmp_path / "a.jsonl", (json.dumps(row) + "\n").encode() * 3) == 0.0


def test_torn_and_strange_lines_cost_nothing_but_themselves() -> None:
    good = lines_of(WRAPS["docker"]).splitlines(keepends=True)
    text = "".join([*good[:2], "{torn\n", "[]\n", '"word"\n', '{"log": 5}\n', *good[2:5], good[5][:-9]])
    assert curves(read(text))["loss"] == curves(read("".join(good[:5])))["loss"]


def test_a_document_that_is_torn_is_reported_at_its_line() -> None:
    (damage,) = read('{"events": [\n{"message": "step 1 loss 2", "timestamp": 1763600000000},\n')
    assert isinstance(damage, Damage)
    assert (damage.line, damage.what) == (3, "is no valid JSON: Expecting value")


def document(indent: int | None) -> str:
    events = [{"timestamp": 1_763_600_000_000 + 1000 * i, "message": line} for i, line in enumerate(TEXT)]
    return json.dumps({"events": events}, indent=indent)


def test_a_line_that_is_too_long_is_told_and_costs_nothing_else() -> None:
    good = lines_of(WRAPS["docker"]).splitlines(keepends=True)
    found = read("".join([*good[:3], '{"log": "' + "x" * (17 << 20) + '"}\n', *good[3:]]))
    assert [record.line for record in found if isinstance(record, Damage)] == [4]
    assert len(curves(found)["loss"]) == 5
    assert any(
        isinstance(record, Damage) for record in read('{"events": [{"message": "' + "x" * (17 << 20) + '"}]}')
    )


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*map(lines_of, WRAPS.values()), document(None), document(1)]), st.data())
def test_cuts_change_nothing(text: str, data: st.DataObject) -> None:
    cuts = tuple(sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6))))
    whole, cut = read(text), read(text, cuts)
    assert curves(cut) == curves(whole)
    assert sorted(places_of(cut)) == sorted(places_of(whole))


def places_of(records: list[Any]) -> list[int]:
    points = (record for record in records if isinstance(record, Points) and record.lines is not None)
    return [place for one in points for place in one.lines.tolist()]
