"""`hrmdoc.live.watch` on files that grow, shrink, rotate and move."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.live.incidents import Incident
from hrmdoc.live.watch import Update, Watch
from hrmdoc.settings import Policy, Settings

pytestmark = pytest.mark.usefixtures("apart")


def points(first: int, last: int, value: str = "") -> str:
    return "".join(
        f"step {i} | loss {value or 2 - i / 200} | lr 5e-05 | epoch {i / 100}\n" for i in range(first, last)
    )


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


class Followed:
    """A watch that is asked for one update at a time."""

    def __init__(self, path: Path, **options: object) -> None:
        self.clock = Clock()
        self.watch = Watch(str(path), interval=0.1, now=self.clock, **options)  # type: ignore[arg-type]
        self._updates: Iterator[Update] = iter(self.watch.updates())

    def until(self, symptom: str, change: str = "opened") -> Incident:
        """Looks until that incident is told."""
        for update in self._updates:
            for incident in update.changes:
                if (incident.symptom, incident.change) == (symptom, change):
                    return incident
            self.clock.time += 2
        raise AssertionError(f"{symptom} was not {change}")

    def next(self) -> Update:
        return next(self._updates)

    def end(self) -> list[Update]:
        self.watch.stop()
        return list(self._updates)


def test_a_finding_is_told_once_it_is_written(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 50))
    followed = Followed(log)
    assert followed.next().changes == []
    with log.open("a") as file:
        file.write(points(50, 54, "nan"))
    incident = followed.until("loss-nonfinite")
    assert (incident.severity, incident.step, incident.line) == ("critical", 50, 51)
    last = followed.end()[-1]
    assert last.analysis.verdict == "critical"


def test_a_restarted_watch_repeats_nothing(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 50) + points(50, 54, "nan"))
    first = Followed(log)
    first.until("loss-nonfinite")
    first.end()
    second = Followed(log)
    assert [one.symptom for one in second.watch.incidents.open] == ["loss-nonfinite"]
    updates = [second.next(), *second.end()]
    assert [incident.symptom for update in updates for incident in update.changes] == []


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 50))
    followed = Followed(log)
    followed.next()
    log.write_text(points(0, 20))
    assert followed.next().analysis.run.points == 2 * 70
    followed.end()


def test_a_rotated_file_goes_on_in_the_new_one(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 50))
    followed = Followed(log)
    followed.next()
    log.rename(tmp_path / "a.log.1")
    log.write_text(points(50, 60, "nan"))
    assert followed.until("loss-nonfinite").step == 50
    followed.end()


def test_a_new_file_in_the_folder_is_found(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    followed = Followed(run)
    assert followed.next().analysis.verdict == "no_data"
    (run / "late.log").write_text(points(0, 30) + points(30, 33, "nan"))
    assert followed.until("loss-nonfinite").step == 30
    followed.end()


def test_a_link_that_moves_leads_to_the_other_run(tmp_path: Path) -> None:
    for name, value in (("one", ""), ("two", "nan")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(points(0, 30) + points(30, 33, value))
    latest = tmp_path / "latest"
    latest.symlink_to("one")
    followed = Followed(latest)
    assert followed.next().changes == []
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(latest)
    update = followed.next()
    assert update.moved
    assert [incident.symptom for incident in update.changes] == ["loss-nonfinite"]
    followed.end()


def test_a_file_that_vanishes_is_told_and_the_rest_kept(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "a.log").write_text(points(0, 30))
    followed = Followed(run)
    followed.next()
    (run / "a.log").unlink()
    last = followed.end()[-1]
    assert last.analysis.run.points == 60
    assert "has vanished" in last.analysis.run.damages[0].what


def test_a_log_that_is_deleted_and_written_again_is_not_said_to_have_vanished(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "a.log").write_text(points(0, 30))
    followed = Followed(run)
    followed.next()
    (run / "a.log").unlink()
    followed.watch.poll()
    assert [damage.what[:12] for damage in followed.watch.session.run.damages] == ["has vanished"]
    (run / "a.log").write_text(points(30, 50))
    last = followed.end()[-1]
    assert last.analysis.run.points == 100
    assert last.analysis.run.damages == []


def test_the_watch_ends_with_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"schema": "hrmdoc.run/1", "id": "x"}')
    (run / "train.log").write_text(points(0, 30))
    (run / "events.jsonl").write_text(
        '{"event": "ended", "state": "finished", "step": 30, "time": 1700000000.0}\n'
    )
    followed = Followed(run)
    assert [update.analysis.state for update in followed._updates][-1] == "finished"


def test_a_run_that_cannot_be_written_to_keeps_its_state_with_the_user(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 30) + points(30, 33, "nan"))
    followed = Followed(log)
    followed.until("loss-nonfinite")
    followed.end()
    assert followed.watch.folder is not None
    assert followed.watch.folder.is_relative_to(tmp_path / "state")
    assert {path.name for path in followed.watch.folder.iterdir()} == {"diagnosis.json", "incidents.jsonl"}
    assert sorted(os.listdir(tmp_path)) == ["a.log", "state"]


def test_without_state_nothing_is_written(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 30) + points(30, 33, "nan"))
    followed = Followed(log, remember=False)
    followed.until("loss-nonfinite")
    followed.end()
    assert os.listdir(tmp_path) == ["a.log"]


def test_a_state_folder_that_cannot_be_made_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.log"
    log.write_text(points(0, 30) + points(30, 33, "nan"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    followed = Followed(log)
    assert followed.until("loss-nonfinite").step == 30
    followed.end()


@pytest.mark.parametrize(
    ("last_words", "patched"), [("", False), ("Traceback (most recent call last):\n", True)]
)
def test_only_the_config_of_a_run_that_has_ended_is_patched(
    tmp_path: Path, last_words: str, patched: bool
) -> None:
    """A watch can end before its run does, and a config that changes under a live run would mislead its next
    start."""
    said = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 23.65 GiB\n"
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").write_text(
        points(0, 20) + (last_words + said if last_words else said + points(20, 40))
    )
    config = tmp_path / "run" / "training_args.yaml"
    config.write_text(
        "learning_rate: 2e-5\nper_device_train_batch_size: 64\ngradient_accumulation_steps: 1\n"
    )
    before = config.read_bytes()
    settings = Settings(policy=Policy(auto=("safe", "guarded"), min_probability=0.01))
    followed = Followed(tmp_path / "run", settings=settings, act=True)
    actions = [action for update in (followed.next(), *followed.end()) for action in update.actions]
    assert [action.status for action in actions] == (["written"] if patched else [])
    assert (config.read_bytes() != before) is patched


def test_a_file_whose_name_is_no_utf8_is_watched_and_its_diagnosis_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "running"}')
    (folder / os.fsdecode(b"train\xff.log")).write_text(points(0, 50) + points(50, 60, "nan"))
    followed = Followed(folder)
    followed.until("loss-nonfinite")
    followed.end()
    assert json.loads((folder / "diagnosis.json").read_text())["verdict"] == "critical"


def test_two_watches_of_one_run_record_an_incident_once(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(points(0, 50) + points(50, 60, "nan"))
    first, second = Followed(log), Followed(log)
    first.until("loss-nonfinite")
    second.until("loss-nonfinite")
    (kept,) = (tmp_path / "state").rglob("incidents.jsonl")
    opened = list(map(json.loads, kept.read_text().splitlines()))
    assert [entry["symptom"] for entry in opened].count("loss-nonfinite") == 1
    first.end()
    second.end()
