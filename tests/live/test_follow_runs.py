"""hrmdoc.live.follow: of several runs in one folder one is followed; stores that are rewritten are read
again, not twice."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from hrmdoc.live.follow import LOOK_FOR_NEW_EVERY, Follower
from hrmdoc.live.watch import Watch
from hrmdoc.readers.support.base import nothing_wanted
from hrmdoc.record.run import Run


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrmdoc.live.follow.LOOK_FOR_NEW_EVERY", 0.0 * LOOK_FOR_NEW_EVERY)


def log(path: Path, age: int, first: float = 2.0) -> None:
    """A log of ten steps that was changed `age` seconds after the first one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"step {step} | loss {first - step / 100:.2f} | lr 1e-3\n" for step in range(1, 11))
    )
    os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))


def losses(run: Run) -> list[list[float]]:
    return [series.values.tolist()[:1] for key, series in run.series.items() if key.metric == "loss"]


def follow(path: Path) -> tuple[Follower, Run]:
    run = Run()
    follower = Follower([str(path)], run, nothing_wanted)
    follower.poll()
    return follower, run


def test_of_two_runs_the_newest_is_followed_and_the_other_named(tmp_path: Path) -> None:
    log(tmp_path / "exp1/train.log", 9, 5.0)
    log(tmp_path / "exp2/train.log", 4, 7.0)
    follower, run = follow(tmp_path)
    assert losses(run) == [[4.99]]
    assert follower.folder.endswith("exp1")
    assert follower.other_runs.endswith("exp2")
    log(tmp_path / "exp2/train.log", 20, 7.0)
    follower.poll()
    assert not follower.outrun, "it was there before: both are written at the same time"
    assert losses(run) == [[4.99]]


def test_a_run_that_begins_later_outruns_the_one_that_is_followed(tmp_path: Path) -> None:
    log(tmp_path / "exp1/train.log", 0, 5.0)
    follower, run = follow(tmp_path)
    log(tmp_path / "exp1/other.log", 1, 6.0)
    follower.poll()
    assert not follower.outrun
    log(tmp_path / "exp2/train.log", 9, 7.0)
    follower.poll()
    assert follower.outrun
    assert sorted(losses(run)) == [[4.99], [5.99]], "no point of the new run is mixed in"


def test_a_watch_goes_over_to_the_run_that_begins_later(tmp_path: Path) -> None:
    log(tmp_path / "all/exp1/train.log", 0, 5.0)
    watch = Watch(str(tmp_path / "all"), interval=0.1, remember=False)
    updates = watch.updates()
    assert not next(iter(updates)).moved
    log(tmp_path / "all/exp2/train.log", 9, 7.0)
    moved = next(update for update in updates if update.moved)
    assert losses(moved.analysis.run) == [[6.99]]
    assert watch.following.endswith("exp2")
    watch.stop()
    assert len(list(updates)) == 1


def test_a_new_event_file_of_a_restart_belongs_to_the_same_run(tmp_path: Path) -> None:
    log(tmp_path / "exp/train.log", 0)
    log(tmp_path / "exp/train.restarted.log", 5)
    follower, run = follow(tmp_path)
    assert (follower.folder, len(losses(run))) == ("", 2)


def test_a_file_store_of_mlflow_that_grows_is_read_again_and_counted_once(tmp_path: Path) -> None:
    run_folder = tmp_path / "mlruns/0/abc"
    (run_folder / "metrics").mkdir(parents=True)
    (run_folder / "meta.yaml").write_text("run_id: abc\nstart_time: 1700000000000\nstatus: 1\n")
    (run_folder / "metrics/loss").write_text("1795233159174 2.5 0\n")
    follower, run = follow(tmp_path)
    for step in (1, 2):
        with (run_folder / "metrics/loss").open("a") as file:
            file.write(f"1795233159174 {2.5 - step} {step}\n")
        follower.poll()
    (series,) = run.series.values()
    assert series.values.tolist() == [2.5, 1.5, 0.5]
    (run_folder / "meta.yaml").write_text(
        "run_id: abc\nstart_time: 1700000000000\nend_time: 1700000009000\nstatus: 3\n"
    )
    follower.poll()
    assert [event.kind for event in run.events] == ["start", "end"]


def test_a_database_whose_news_are_in_its_journal_is_read_again(tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "tiny.db")
    writer.execute("PRAGMA journal_mode=wal")
    writer.execute(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, "
        "metrics TEXT)"
    )
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add(step: int) -> None:
        row = ("2026-01-01T00:00:00+00:00", "first", step, json.dumps({"loss": 1.0 + step}))
        writer.execute("INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)", row)
        writer.commit()

    add(0)
    follower, run = follow(tmp_path)
    add(1)
    follower.poll()
    (series,) = run.series.values()
    assert series.values.tolist() == [1.0, 2.0]
    writer.close()


def test_a_newer_state_of_a_trainer_takes_the_place_of_the_older(tmp_path: Path) -> None:
    def save(steps: int) -> None:
        folder = tmp_path / f"checkpoint-{steps}"
        folder.mkdir()
        history = [{"loss": 3.0 - step, "step": step} for step in range(1, steps + 1)]
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": steps, "log_history": history}))

    save(2)
    follower, run = follow(tmp_path)
    save(3)
    follower.poll()
    (series,) = run.series.values()
    assert series.steps.tolist() == [1, 2, 3]


def test_a_training_that_was_resumed_into_the_next_version_is_followed_as_one(tmp_path: Path) -> None:
    for number, steps in enumerate((range(4, 100, 5), range(104, 200, 5))):
        path = tmp_path / f"lightning_logs/version_{number}/metrics.csv"
        path.parent.mkdir(parents=True)
        path.write_text("step,train_loss\n" + "".join(f"{step},{2.0 / step}\n" for step in steps))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    follower, run = follow(tmp_path)
    follower.poll()
    assert [len(series) for key, series in run.series.items() if key.metric == "train_loss"] == [40]
    assert [event.step for event in run.events if event.kind == "resume"] == [104]
