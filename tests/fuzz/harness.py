"""Feeds a reader with damaged, mixed and cut bytes, and checks what must hold whatever the bytes are.

`python -m tests.fuzz.harness --minutes 10 [READER...]` is the long pass (`make fuzz`); the suite runs a short
one.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from hrmdoc import readers
from hrmdoc.readers import Source
from hrmdoc.record.records import Damage, Event, Fact, Line, Points, Record, Tick
from tests.readers import trackers

ARTEFACTS = Path(__file__).parents[1] / "artefacts"
_TOKENS = [
    *(
        b"nan",
        b"NaN",
        b"inf",
        b"-Infinity",
        b"null",
        b"1e999",
        b"-0",
        b"\0",
        b"\r",
        b"\n",
        b"\r\n",
        b"\x1b[31m",
        b"\x08",
    ),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"{'loss': ",
        b'{"step": ',
        b"}",
        b"[",
        b"]" * 40,
        b"[" * 2000,
        b"{" * 2000,
        b'"',
        b"'",
        b",",
    ),
    *(
        b"%|",
        b"|",
        b"=" * 40,
        b"step",
        b"epoch 1/2",
        b"Traceback (most recent call last):\n",
        b"[rank1]: ",
        b"9" * 400,
        b"\x80\x05",
    ),
    *(
        b":W&B",
        b"SQLite format 3\0",
        b"\x1f\x8b",
        b"\xff" * 12,
        b"1,2,3\n",
        b"# gpu sm\n",
        b"\xf0\x9f\x94\xa5",
        b"<html>",
    ),
]
_MUCH_DAMAGE = 16
"""Beyond so many damaged places the search for whole records is cut short block by block, which bounds its
time."""
NAMES = {
    "configs": "config.yaml",
    "counted_rows": "values.txt",
    "csv": "metrics.csv",
    "trials": "console.log",
    "envelopes": "pod.json",
    "exposition": "node.prom",
    "flight_recorder": "nccl_trace_rank_0",
    "hf_state": "trainer_state.json",
    "json_history": "history.json",
    "jsonl": "log.jsonl",
    "mlflow": "metrics/loss",
    "notebook": "train.ipynb",
    "nvidia_smi": "gpu.csv",
    "powermetrics": "gpu.txt",
    "slurm": "sacct.txt",
    "run_json": "run.json",
    "text": "train.log",
    "tfevents": "events.out.tfevents.1.host",
    "trackio": "tiny.db",
    "torchrun": "error.json",
    "wandb": "run-a.wandb",
    "clearml": "metrics.jsonl",
    "comet": "messages.json",
    "neptune": "data-1.log",
    "optuna": "study.db",
    "otlp": "metrics.json",
    "prometheus": "range.json",
    "swanlab": "run-a.swanlab",
}


def _mlflow() -> bytes:
    """A store of MLflow with two runs."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE runs (run_uuid, status, start_time INTEGER, end_time INTEGER)")
        db.execute("CREATE TABLE params (key, value, run_uuid)")
        db.execute(
            "CREATE TABLE metrics (key, value REAL, timestamp INTEGER, run_uuid, step INTEGER, is_nan "
            "INTEGER)"
        )
        db.execute("CREATE TABLE latest_metrics (key)")
        db.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?)",
            [("old", "FINISHED", 1, 2), ("new", "RUNNING", 1700000000000, None)],
        )
        db.execute("INSERT INTO params VALUES ('lr', '0.1', 'new')")
        rows = [("loss", 9.0 - step, 1700000000000 + step, "new", step, step == 7) for step in range(12)]
        db.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
        return db.serialize()


def _trackio() -> bytes:
    """A project of Trackio with two runs."""
    with closing(sqlite3.connect(":memory:")) as db:
        for table, more in (("metrics", "step INTEGER, "), ("system_metrics", "")):
            db.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name "
                f"TEXT, {more}metrics TEXT)"
            )
        for step in range(20):
            row = (
                f"id-{step // 15}",
                f"2026-01-02T03:04:{step:02d}+00:00",
                f"run {step // 15}",
                step,
                f'{{"loss": {9 - step}.5}}',
            )
            db.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", row
            )
        return db.serialize()


_TRIALS = b"""Trial status: 2 RUNNING
+------------+---------+--------+------+
| Trial name | status  |   iter | loss |
|------------+---------+--------+------|
| fn_00000   | RUNNING |      1 |  2.0 |
| fn_00001   | RUNNING |      1 |  nan |
+------------+---------+--------+------+
(fn pid=11) epoch 1 loss 2.0
(fn pid=12) epoch 1 loss nan
Result for fn_00000:
  training_iteration: 2
  loss: 1.5

[I 2026-01-02 03:04:05,123] A new study created in memory with name: x
step 1 loss 3.0
[I 2026-01-02 03:04:06,123] Trial 0 finished with value: 0.8 and parameters: {'lr': 0.01}.
step 1 loss 4.0
"""
_PLAIN: dict[str, bytes] = {
    "trials": _TRIALS,
    "configs": b"lr: 1e-3\nmodel:\n  width: 8\n  layers: [1, 2]\nseed: 0\n",
    "envelopes": b'{"log": "step 1 | loss 2.0\\n", "time": "2026-11-20T03:00:01Z"}\n{"log": "step 2 loss '
    b'nan\\n", "time": ""}\n',
    "exposition": b"# TYPE node_memory_MemTotal_bytes gauge\nnode_memory_MemTotal_bytes 1e+11 1767322000000\n"
    b'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97\nnode_filesystem_avail_bytes{mountpoint="/"} 9e+09\n'
    b'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 96\nnode_memory_MemAvailable_bytes 5e+10\n',
    "json_history": b'{"loss": [2.0, 1.5, 1.2], "val_loss": [2.1, NaN, 1.3]}',
    "jsonl": b'{"step": 1, "loss": 2.0}\n{"step": 2, "loss": null, "eval": {"loss": 1.5}}\n{"step": 3, '
    b'"loss": "nan"}\n',
    "mlflow": b"1795233159174 2.0 1\n1795233159175 nan 2\n1795233159176 inf 3\n",
    "notebook": b'{"cells": [{"cell_type": "code", "source": "lr = 1", "outputs": [{"output_type": '
    b'"stream", "text": "a 1"}]}]}',
    "nvidia_smi": b"timestamp, index, utilization.gpu [%]\n2026/01/02 03:04:05.678, 0, 97 %\n# gpu sm\n0 "
    b"97\n",
    "counted_rows": b"0: 2.31\n1: 1.92\n2: nan\n3: 1.5\n4\tval\t1.25\n5, 1.1, 0.5\n",
    "powermetrics": b"*** Sampled system activity (Sat Nov 21 10:00:01 2026 +0100) (5007.29ms elapsed) ***\n"
    b"GPU HW active residency:  48.35% (389 MHz:  12%)\nGPU Power: 3421 mW\n"
    b"*** Sampled system activity (Sat Nov 21 10:00:06 2026 +0100) (5007.29ms elapsed) ***\n"
    b"GPU active residency:   3%\n",
    "slurm": b"JobID|State|ExitCode|NodeList\n7|FAILED|1:0|n1\n7.0|OUT_OF_MEMORY|0:125|n1\n8|PENDING|0:0|\n",
    "trackio": _trackio(),
    **trackers.SEEDS,
    "run_json": b'{"schema": "hrmdoc.run/1", "status": "running", "step": 3, "config": {"lr": 0.001}}',
}


def seeds(reader: str) -> list[bytes]:
    """Whole files of the reader's format, recorded ones where there are any."""
    found = [_PLAIN[reader]] if reader in _PLAIN else []
    found += [_mlflow()] if reader == "mlflow" else []
    for path in sorted(ARTEFACTS.rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".md", ".gz"):
            data = path.read_bytes()
            chosen = readers.choose(path, data[: 1 << 16])
            if chosen is not None and reader == chosen.NAME:
                found.append(data)
    return found


def mutated(blob: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """`blob` after one to eight damages: bits turned, bytes cut, moved, doubled, tokens put in, another file
    spliced."""
    data = bytearray(blob)
    for _ in range(rng.randint(1, 8)):
        at, size = rng.randint(0, len(data)), rng.choice((1, 2, 4, 8, 64, 1000))
        match rng.randint(0, 6):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randint(0, 7)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = rng.choice(_TOKENS)
            case 3:
                data[at:at] = data[max(0, at - size) : at] * rng.choice((1, 2, 50))
            case 4:
                data[at : at + size] = rng.randbytes(min(size, 64))
            case 5:
                other = rng.choice(others)
                start = rng.randint(0, len(other))
                data[at:at] = other[start : start + size]
            case _:
                del data[at:]
    return bytes(data[: 1 << 18])


def records(reader: str, path: str, blob: bytes, cuts: Iterable[int]) -> list[Record]:
    """What the bare reader yields: no boundary catches its exceptions."""
    from hrmdoc.readers.support.base import Context

    session = readers.reader(reader).open_session(Context(path, source=path))
    found: list[Record] = []
    start = 0
    for end in (*sorted(set(cuts)), len(blob)):
        found += session.feed(blob[start:end])
        start = end
    return [*found, *session.close()]


def check(reader: str, blob: bytes, folder: Path, rng: random.Random) -> None:
    """Raises AssertionError, or whatever the reader raises, when something is wrong with it.

    Errors that a user is told of (`InputError`) are no fault; every other exception is.
    """
    from hrmdoc.errors import InputError

    path = folder / NAMES[reader]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(blob)
    module = readers.reader(reader)
    certainty = module.sniff(path, blob[: 1 << 16])
    assert 0.0 <= certainty <= 1.0
    began = time.process_time()
    try:
        whole = records(reader, str(path), blob, ())
        again = records(reader, str(path), blob, (rng.randint(0, len(blob)) for _ in range(4)))
    except InputError:
        return
    assert time.process_time() - began < 20.0, "too slow for a quarter of a MiB"
    for record in whole:
        assert isinstance(record, Points | Line | Fact | Event | Tick | Damage)
        if isinstance(record, Points):
            assert len(record.steps) == len(record.values) == len(record.times)
    if sum(isinstance(record, Damage) for record in whole) <= _MUCH_DAMAGE:
        assert _points(whole) == _points(again), "the points depend on how the bytes were cut"
    for record in readers.open_source(Source(str(path), reader, str(path))).feed(blob):
        assert not (isinstance(record, Damage) and "gave up" in record.what)


def _points(found: list[Record]) -> dict[tuple[str, int | None, str, int], list[tuple[int, str]]]:
    merged: dict[tuple[str, int | None, str, int], list[tuple[int, str]]] = {}
    for record in found:
        if isinstance(record, Points):
            key = record.metric, record.rank, record.source, record.precision
            merged.setdefault(key, []).extend(
                zip(record.steps.tolist(), map(repr, (record.values + 0.0).tolist()), strict=True)
            )
    return merged


def fuzz(reader: str, seconds: float, seed: int) -> int:
    """Runs for `seconds`; returns how many inputs were tried.

    Raises:
        Exception: the first fault; the input that showed it is named and kept.
    """
    rng = random.Random(seed)
    whole = seeds(reader)
    end, tried = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            blob = mutated(rng.choice(whole), whole, rng)
            try:
                check(reader, blob, Path(folder), rng)
            except BaseException:
                kept = Path(tempfile.gettempdir()) / f"fuzz-{reader}-{seed}-{tried}"
                kept.write_bytes(blob)
                print(f"{reader}: input kept in {kept}", file=sys.stderr)
                raise
            tried += 1
    return tried


def main() -> None:
    """The long pass over some readers, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", default=list(readers.names()))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    for reader in options.readers:
        tried = fuzz(reader, options.minutes * 60, options.seed)
        print(f"{reader}: {tried:,} inputs, no fault (seed {options.seed})", flush=True)


if __name__ == "__main__":
    main()
