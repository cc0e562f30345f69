"""Every reader gives as many points as were written, or says how many it left out: whatever the order of
keys, however many are optional, nested or side by side."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.readers import csv, discover, jsonl, nvidia_smi, read_into
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Points, Record
from hrmdoc.record.run import Run
from tests.readers import test_tfevents, test_trackio, test_wandb
from tests.readers.feeding import database, fed

Row = dict[str, Any]
KEYS = [f"part_{number}/loss" for number in range(12)]


def shuffled(rng: random.Random) -> list[Row]:
    """The same keys in every order there is."""
    return [{"step": n, **{key: rng.random() for key in rng.sample(KEYS, 12)}} for n in range(3000)]


def optional(rng: random.Random) -> list[Row]:
    """More sets of keys than any reader keeps shapes."""
    return [
        {"step": n, **{key: rng.random() for key in rng.sample(KEYS, rng.randint(1, 12))}}
        for n in range(3000)
    ]


def nested(rng: random.Random) -> list[Row]:
    """A metric that is a number in some rows and a mapping in others."""
    rows: list[Row] = [{"step": n, "train": rng.random(), "val": None} for n in range(5)]
    return rows + [
        {"step": n, "train": {"loss": rng.random(), "deep": {"acc": rng.random()}}, "val": rng.random()}
        for n in range(5, 400)
    ]


def wide(rng: random.Random) -> list[Row]:
    """Thousands of columns."""
    return [{"step": n, **{f"layer_{at}/loss": rng.random() for at in range(3000)}} for n in range(12)]


def numbers(rows: Iterable[Row]) -> int:
    """How many metrics the rows hold."""

    def inside(cell: Any) -> int:
        return sum(map(inside, cell.values())) if isinstance(cell, dict) else isinstance(cell, float)

    return sum(inside(row) for row in rows)


def counted(records: Iterable[Record]) -> tuple[int, int]:
    """Points that were read, and records that were said to be left out."""
    points = left_out = 0
    for record in records:
        points += len(record.values) if isinstance(record, Points) else 0
        left_out += record.left_out if isinstance(record, Damage) else 0
    return points, left_out


def from_disk(path: Path) -> tuple[int, int]:
    run = Run()
    read_into(run, discover(path))
    return run.points, sum(damage.left_out for damage in run.damages)


def as_lines(rows: list[Row], folder: Path) -> tuple[int, int]:
    blob = "".join(json.dumps(row) + "\n" for row in rows).encode()
    cuts = range(50_000, len(blob), 50_000)
    return counted(fed(jsonl.open_session(Context("metrics.jsonl")), blob, cuts))


def as_records_of_events(rows: list[Row], folder: Path) -> tuple[int, int]:
    blob = "".join(json.dumps({"message": "x", **row}) + "\n" for row in rows).encode()
    return counted(fed(jsonl.open_session(Context("events.jsonl")), blob))


def as_wandb(rows: list[Row], folder: Path) -> tuple[int, int]:
    records = []
    for row in rows:
        items = [test_wandb.item(key, json.dumps(cell)) for key, cell in row.items() if key != "step"]
        body = b"".join(test_wandb.field(1, item) for item in items)
        step = test_wandb.field(2, test_wandb.field(1, row["step"]))
        records.append(test_wandb.field(2, body + step))
    return counted(test_wandb.read(test_wandb.log(records)))


def as_trainer_state(rows: list[Row], folder: Path) -> tuple[int, int]:
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 1, "log_history": rows}))
    return from_disk(folder)


def as_history(rows: list[Row], folder: Path) -> tuple[int, int]:
    (folder / "history.json").write_text(json.dumps({"history": rows, "loss_of_test": 1}))
    points, left_out = from_disk(folder)
    return points - 1, left_out  # the final value beside the history


def as_trackio(rows: list[Row], folder: Path) -> tuple[int, int]:
    texts = [("one", row["step"], json.dumps({k: v for k, v in row.items() if k != "step"})) for row in rows]
    return from_disk(test_trackio.store(folder / "trackio" / "p.db", texts))


WRITERS = [as_lines, as_records_of_events, as_wandb, as_trainer_state, as_history, as_trackio]


@pytest.mark.parametrize("kind", [shuffled, optional, nested, wide])
@pytest.mark.parametrize("written", WRITERS)
def test_as_many_points_come_out_as_went_in(
    written: Callable[[list[Row], Path], tuple[int, int]],
    kind: Callable[[random.Random], list[Row]],
    tmp_path: Path,
) -> None:
    rows = kind(random.Random(7))
    assert written(rows, tmp_path) == (numbers(rows), 0)


def test_the_end_of_a_long_log_with_optional_keys_is_read_as_written() -> None:
    rows = optional(random.Random(3))
    rows[-1] = {"step": 2999, "part_0/loss": float("nan")}
    blob = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = fed(jsonl.open_session(Context("m.jsonl")), blob)
    last = [one for one in found if isinstance(one, Points) and one.metric == "part_0/loss"][-1]
    assert int(last.steps[-1]) == 2999
    assert last.values[-1] != last.values[-1]


@pytest.mark.parametrize("kind", [optional, wide])
def test_tables_keep_every_filled_cell(kind: Callable[[random.Random], list[Row]]) -> None:
    rows = kind(random.Random(7))
    names = sorted({key for row in rows for key in row if key != "step"})
    lines = [",".join(["step", *names])]
    lines += [",".join([str(row["step"]), *(str(row.get(name, "")) for name in names)]) for row in rows]
    found = fed(csv.open_session(Context("metrics.csv")), ("\n".join(lines) + "\n").encode())
    assert counted(found) == (numbers(rows), 0)


def test_event_files_keep_every_value(tmp_path: Path) -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2

    rng = random.Random(7)
    rows = optional(rng)
    events = [
        event_pb2.Event(
            wall_time=1.7e9,
            step=row["step"],
            summary=summary_pb2.Summary(
                value=[
                    summary_pb2.Summary.Value(tag=k, simple_value=v) for k, v in row.items() if k != "step"
                ]
            ),
        )
        for row in rows
    ]
    found = test_tfevents.read(test_tfevents.write(tmp_path / "events.out.tfevents.1.h", events))
    assert counted(found) == (numbers(rows), 0)


def test_every_gpu_of_a_large_cluster_is_kept() -> None:
    rows = [f"{gpu}, {look} %\n" for look in range(3) for gpu in range(5000)]
    blob = ("index, utilization.gpu [%]\n" + "".join(rows)).encode()
    assert counted(fed(nvidia_smi.open_session(Context("gpu.csv")), blob)) == (15_000, 0)


def test_stores_of_mlflow_keep_every_row(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    with sqlite3.connect(path) as db:
        rows = [(f"m{n % 700}", float(n), n, "new", n, 0) for n in range(4000)]
        db.executemany("INSERT INTO metrics VALUES (?,?,?,?,?,?)", rows)
    db.close()
    assert from_disk(path) == (4003, 0)


@pytest.mark.parametrize(
    ("open_session", "name", "good", "bad"),
    [
        (jsonl.open_session, "m.jsonl", b'{"step": 1, "loss": 1.0}\n', b"torn {\n"),
        (jsonl.open_session, "m.jsonl", b'{"step": 1, "loss": 1.0}\n', b"[1, 2]\n"),
        (csv.open_session, "m.csv", b"step,loss\n1,1.0\n", b"2\n"),
        (
            nvidia_smi.open_session,
            "m.csv",
            b"index, utilization.gpu [%]\n0, 3 %\n",
            b"no reading, of, a GPU\n",
        ),
    ],
)
def test_whatever_is_left_out_is_counted(
    open_session: Callable[[Context], Any], name: str, good: bytes, bad: bytes
) -> None:
    found = fed(open_session(Context(name)), good + 70 * bad)
    assert counted(found) == (1, 70)
    assert len([one for one in found if isinstance(one, Damage)]) < 30
