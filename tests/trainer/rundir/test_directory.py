from __future__ import annotations

import json
from pathlib import Path

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.config.schema import TrainConfig
from hrmdoc.trainer.rundir.directory import RunDir, choose
from hrmdoc.trainer.setup import make


def silent(line: str) -> None:
    del line


def test_scalars_that_cannot_be_written_are_reported_once_and_training_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    run = RunDir(tmp_path / "run", said.append)
    run.heartbeat(1, force=True)
    assert said == []
    run.scalars.error = OSError(28, "No space left on device")  # type: ignore[misc]
    run.heartbeat(2, force=True)
    run.heartbeat(3, force=True)
    assert said == [
        f"warning: cannot write {run.path / 'events.out.tfevents.*'}: "
        "No space left on device; training goes on"
    ]
    run.close(3, "finished")


def test_a_run_is_described_by_run_json_and_its_state_follows(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run", silent)
    run.describe("lr: 1e-4\n", {"seed": 3})
    before = json.loads((run.path / "run.json").read_text())
    run.close(7, "stopped")
    after = json.loads((run.path / "run.json").read_text())
    assert (before["schema"], before["state"], before["seed"]) == ("hrmdoc.run/1", "running", 3)
    assert after == {**before, "state": "stopped"}
    assert (run.path / "config.yaml").read_text() == "lr: 1e-4\n"


def test_the_latest_link_points_to_the_newest_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        RunDir(tmp_path / "runs" / name, silent).close(0, "finished")
    assert (tmp_path / "runs" / "latest").resolve() == tmp_path / "runs" / "b"


def test_no_link_is_made_outside_a_runs_folder(tmp_path: Path) -> None:
    RunDir(tmp_path / "elsewhere" / "a", silent).close(0, "finished")
    assert not (tmp_path / "elsewhere" / "latest").exists()


def test_events_are_one_strict_json_object_a_line(tmp_path: Path) -> None:
    run = RunDir(tmp_path, silent)
    run.event("evaluated", 3, metrics={"all.accuracy": float("nan")}, note="two\nlines")
    run.event("ended", 4, values=[1.0, float("inf")])
    run.close(4, "finished")
    first, second = (json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines())
    assert (first["event"], first["step"], first["metrics"], first["note"]) == (
        "evaluated",
        3,
        {"all.accuracy": None},
        "two\nlines",
    )
    assert second["values"] == [1.0, None]


def test_the_heartbeat_is_replaced_at_most_once_a_second(tmp_path: Path) -> None:
    run = RunDir(tmp_path, silent)
    run.heartbeat(1)
    run.heartbeat(2)
    assert json.loads((tmp_path / "heartbeat.json").read_text())["step"] == 1
    run.heartbeat(3, force=True)
    assert json.loads((tmp_path / "heartbeat.json").read_text())["step"] == 3
    run.close(3, "finished")


def test_a_folder_that_cannot_be_written_to_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write the run"):
        RunDir(tmp_path / "file" / "run", silent)


def test_a_log_that_cannot_be_written_is_reported_once_and_training_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    run = RunDir(tmp_path, said.append)
    (tmp_path / "events.jsonl").mkdir()
    run.event("started", 0)
    run.event("ended", 1)
    run.close(1, "finished")
    assert len([line for line in said if "cannot write" in line and "events.jsonl" in line]) == 1


def test_a_new_run_is_named_after_its_data_and_never_lands_in_an_old_one(tmp_path: Path) -> None:
    first = choose(None, None, "builtin:sudoku-4x4", tmp_path)
    assert first.name.startswith("sudoku-4x4-")
    first.mkdir(parents=True)
    assert choose(None, None, "builtin:sudoku-4x4", tmp_path) != first
    assert choose(None, "mine", "data/x", tmp_path) == tmp_path / "mine"
    assert choose("/there", None, "data/x", tmp_path) == Path("/there")


def test_signs_of_life_go_to_a_second_place_too_and_end_there(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run", silent)
    run.beat_to(str(tmp_path / "elsewhere"))
    run.heartbeat(3, force=True)
    run.close(4, "stopped")
    told = json.loads((tmp_path / "elsewhere" / "heartbeat.json").read_text())
    assert (told["step"], told["state"]) == (4, "stopped")


def test_a_password_of_a_heartbeat_stays_out_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HRMDOC_HEARTBEAT", "redis://u:pw@host/0")
    assert make._heartbeat(TrainConfig()) == "redis://u:pw@host/0"
    with pytest.raises(ConfigError, match="would hold its password") as caught:
        make._heartbeat(TrainConfig(heartbeat="redis://u:pw@host/0"))
    assert "u:pw" not in str(caught.value)
