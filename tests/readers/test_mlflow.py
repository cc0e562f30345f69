"""hrmdoc.readers.mlflow"""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

from hrmdoc.readers import discover, mlflow, read_into
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Points
from hrmdoc.record.run import Run
from tests.readers.feeding import database

META = "artifact_uri: x\nend_time: 1700000100000\nrun_id: abc\nstart_time: 1700000000000\nstatus: 4\n"


def file_store(root: Path) -> Path:
    run = root / "mlruns" / "0" / "abc"
    (run / "metrics" / "train").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text(META)
    (run / "metrics" / "train" / "loss").write_text(
        "1795233159173 2.5 0\n1795233159174 nan 10\n1795233159175 inf 20\nrubbish\n"
    )
    (run / "params" / "learning_rate").write_text("0.001")
    return root


def test_the_file_store_gives_metrics_parameters_and_the_end(tmp_path: Path) -> None:
    run = Run()
    read_into(run, discover(file_store(tmp_path)))
    (series,) = run.series.values()
    assert series.key.metric == "train/loss"
    assert series.steps.tolist() == [0, 10, 20]
    assert [repr(value) for value in series.values.tolist()] == ["2.5", "nan", "inf"]
    assert [fact.value for fact in run.facts.values()] == ["0.001"]
    assert [(event.kind, "crashed" in event.detail) for event in run.events] == [
        ("start", False),
        ("end", True),
    ]
    assert [damage.line for damage in run.damages] == [4]


def test_a_file_of_a_metric_is_read_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "val_loss"
    path.write_text("1668826338667 1.5 864\n1668826445698 1.25 1729\n1668826445699 nan 2000\n")
    assert mlflow.sniff(path, path.read_bytes()) > 0.5
    run = Run()
    read_into(run, discover(path))
    (series,) = run.series.values()
    assert series.key.metric == "val_loss"
    assert series.steps.tolist() == [864, 1729, 2000]
    table = tmp_path / "table"
    table.write_text("1668826338667 12 3\nnames and more\n")
    assert mlflow.sniff(table, table.read_bytes()) == 0


def test_the_database_gives_the_newest_run_with_its_nan_encoding(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    before = path.read_bytes()
    run = Run()
    read_into(run, discover(path))
    (series,) = run.series.values()
    assert series.steps.tolist() == [1, 2, 3]
    assert [repr(value) for value in series.values.tolist()] == ["2.0", "nan", "inf"]
    assert [event.kind for event in run.events] == ["start"]
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mlflow.db"]


def test_the_database_tells_its_runs_and_gives_the_one_that_is_named(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    assert mlflow.runs(str(path)) == ["old", "new"], "runs without names are called by their ids"
    run = Run()
    read_into(run, discover(f"{path}#old"))
    assert [series.values.tolist() for series in run.series.values()] == [[9.0]]
    assert [(event.kind, event.detail) for event in run.events] == [("start", ""), ("end", "finished")]
    assert mlflow.runs(str(tmp_path / "nothing.db")) == []


def test_a_database_with_a_journal_is_read_from_a_copy(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("INSERT INTO metrics VALUES ('loss', 5.0, 4, 'new', 4, 0)")
    writer.commit()
    run = Run()
    read_into(run, discover(path))
    writer.close()
    assert next(iter(run.series.values())).steps.tolist() == [1, 2, 3, 4]


def test_a_broken_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    path.write_bytes(b"SQLite format 3\0" + b"\x07" * 500)
    (tmp_path / "x.jsonl").write_text('{"step": 1, "loss": 1.0}\n')
    run = Run()
    read_into(run, discover(tmp_path))
    assert [damage.file for damage in run.damages] == [str(path)]
    assert not any(math.isnan(value) for series in run.series.values() for value in series.values)


def test_a_step_or_a_time_beyond_all_numbers_costs_its_line_only(tmp_path: Path) -> None:
    path = tmp_path / "metrics" / "loss"
    path.parent.mkdir()
    path.write_text(
        f"1795233159174 2.0 1\n1795233159174 2.0 {'9' * 40}\n{'9' * 400} 1.0 2\n1795233159174 1.0 3\n"
    )
    session = mlflow.open_session(Context(str(path)))
    found = [*session.feed(path.read_bytes()), *session.close()]
    assert [record.steps.tolist() for record in found if isinstance(record, Points)] == [[1, 3]]
    assert sum(isinstance(record, Damage) for record in found) == 2
