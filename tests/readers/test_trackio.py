"""hrmdoc.readers.trackio"""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from hrmdoc.errors import InputError
from hrmdoc.readers import choose, discover, read_into, trackio
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run


def store(path: Path, rows: list[tuple[str, int, str]], *, named: bool = False) -> Path:
    """A project with rows of run, step, JSON; `named`: as older versions wrote it, without an id of the
    run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = "" if named else "run_id TEXT NOT NULL, "
    with sqlite3.connect(path) as db:
        for table, more in (("metrics", "step INTEGER, "), ("system_metrics", "")):
            db.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {identity}timestamp TEXT, run_name TEXT, "
                f"{more}metrics TEXT)"
            )
        for number, (run, step, text) in enumerate(rows):
            time = f"2026-01-02T03:04:{number:02d}+00:00"
            known = (time, run, step, text) if named else (f"id-{run}", time, run, step, text)
            columns = (
                "timestamp, run_name, step, metrics"
                if named
                else "run_id, timestamp, run_name, step, metrics"
            )
            db.execute(f"INSERT INTO metrics ({columns}) VALUES ({', '.join('?' * len(known))})", known)
    db.close()
    return path


def read(path: Path) -> Run:
    run = Run()
    read_into(run, discover(path))
    return run


ROWS = [
    ("old", 1, '{"loss": 9.0}'),
    ("new", 1, '{"loss": 2.0, "val": {"loss": 2.5}}'),
    ("new", 2, '{"loss": "NaN"}'),
]


@pytest.mark.parametrize("named", [False, True])
def test_the_newest_run_is_read_and_the_others_are_told(tmp_path: Path, named: bool) -> None:
    run = read(store(tmp_path / "tiny.db", ROWS, named=named))
    found = {
        key.metric: (series.steps.tolist(), series.values.tolist()) for key, series in run.series.items()
    }
    assert found["loss"][0] == [1, 2]
    assert math.isnan(found["loss"][1][1])
    assert found["val.loss"] == ([1], [2.5])
    assert not run.damages
    assert trackio.runs(str(tmp_path / "tiny.db")) == ["old", "new"]


@pytest.mark.parametrize("part", ["old", "id-old", "id-o"])
def test_a_run_that_is_named_is_read_in_place_of_the_newest(tmp_path: Path, part: str) -> None:
    run = Run()
    read_into(run, discover(f"{store(tmp_path / 'tiny.db', ROWS)}#{part}"))
    [series] = run.series.values()
    assert series.values.tolist() == [9.0]


@pytest.mark.parametrize(
    ("part", "why"), [("none", "no run in it is called 'none'"), ("id-", "several runs in it have an id")]
)
def test_a_name_that_is_no_runs_or_several_is_an_error_that_names_them(
    tmp_path: Path, part: str, why: str
) -> None:
    with pytest.raises(InputError, match=why) as refused:
        read_into(Run(), discover(f"{store(tmp_path / 'tiny.db', ROWS)}#{part}"))
    assert "it holds new, old" in refused.value.what


def test_runs_that_share_a_name_are_called_by_their_ids(tmp_path: Path) -> None:
    path = store(tmp_path / "tiny.db", ROWS)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE metrics SET run_name = 'again'")
    db.close()
    assert trackio.runs(str(path)) == ["id-old", "id-new"]


def test_use_of_the_machine_stands_at_the_step_that_was_reached(tmp_path: Path) -> None:
    path = store(tmp_path / "tiny.db", ROWS)
    with sqlite3.connect(path) as db:
        for second, share in ((0, 1.0), (1, 50.0), (59, 90.0)):
            row = (
                "id-new",
                f"2026-01-02T03:04:{second:02d}+00:00",
                "new",
                json.dumps({"gpu/0/utilization": share}),
            )
            db.execute(
                "INSERT INTO system_metrics (run_id, timestamp, run_name, metrics) VALUES (?, ?, ?, ?)", row
            )
    db.close()
    (series,) = [
        series for key, series in read(path).series.items() if key.metric == "system/gpu/0/utilization"
    ]
    assert (series.steps.tolist(), series.values.tolist()) == ([0, 1, 2], [1.0, 50.0, 90.0])


def test_a_row_that_is_no_object_is_told_and_the_others_kept(tmp_path: Path) -> None:
    run = read(store(tmp_path / "tiny.db", [("a", 1, "[1]"), ("a", 2, "{torn"), ("a", 3, '{"loss": 1.0}')]))
    assert [series.steps.tolist() for series in run.series.values()] == [[3]]
    assert [damage.line for damage in run.damages] == [1, 2]


def test_other_databases_are_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE metrics (name TEXT, value REAL)")
    db.close()
    assert choose(path, path.read_bytes()) is None


def test_a_damaged_database_is_told_without_a_traceback(tmp_path: Path) -> None:
    path = store(tmp_path / "trackio" / "tiny.db", ROWS)
    whole = path.read_bytes()
    for cut in (100, 4096, len(whole) // 2):
        path.write_bytes(whole[:cut])
        problems: list[Damage] = []
        run = Run()
        with suppress(InputError):
            read_into(run, discover(path, problems))
        assert run.damages or problems, cut
