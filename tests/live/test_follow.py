"""`hrmdoc.live.follow`: what wakes a watch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.live.follow import Follower
from hrmdoc.live.waker import BUSY, BUSY_S, Waker
from hrmdoc.live.watch import Watch
from hrmdoc.record.run import Run
from hrmdoc.settings import Settings


@pytest.fixture
def waker() -> Iterator[Waker]:
    waker = Waker()
    yield waker
    waker.close()


def waited(waker: Waker, seconds: float) -> float:
    began = time.monotonic()
    waker.wait(seconds)
    return time.monotonic() - began


def test_one_wakes_for_the_folder_of_a_followed_file_and_not_for_folders_below(
    waker: Waker, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.0\n")
    follower = Follower([str(log)], Run(), lambda _: ())
    follower.poll()
    waker.listen(follower.folders)
    (tmp_path / "data" / "shard.bin").write_text("")
    assert waited(waker, 0.5) >= 0.5
    log.write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert waited(waker, 60) < 60


def test_a_folder_that_cannot_be_listened_to_costs_only_the_interval(waker: Waker, tmp_path: Path) -> None:
    waker.listen([str(tmp_path / "gone")])
    assert waited(waker, 0.3) >= 0.3


def test_files_found_later_are_listened_to(tmp_path: Path) -> None:
    follower = Follower([str(tmp_path)], Run(), lambda _: ())
    follower.poll()
    assert follower.folders == {str(tmp_path)}
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.log").write_text("step 1 loss 2.0\n")
    follower.find()
    assert follower.folders == {str(tmp_path), str(tmp_path / "logs")}


@pytest.mark.parametrize("kind", ["pipe", "endless device"])
def test_a_log_replaced_by_what_is_no_file_is_noted_and_not_read(tmp_path: Path, kind: str) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    run = Run()
    follower = Follower([str(log)], run, lambda _: ())
    follower.poll()
    log.unlink()
    if kind == "pipe":
        os.mkfifo(log)
    else:
        log.symlink_to("/dev/zero")
    follower.poll()
    assert [damage.what for damage in run.damages] == ["is no regular file any more and is not read"]
    log.unlink()
    log.write_text("step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n")
    before = run.points
    follower.poll()
    assert run.points > before


@pytest.mark.parametrize("where", ["Observer", "api.BaseObserver.start", "api.EventEmitter.start"])
def test_where_file_events_are_exhausted_one_waits_the_interval_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise OSError(24, "inotify instance limit reached")

    monkeypatch.setattr(f"watchdog.observers.{where}", exhausted)
    waker = Waker()
    waker.listen([str(tmp_path)])
    assert waited(waker, 0.3) >= 0.3
    waker.close()


@pytest.mark.parametrize("named", ["the log", "its folder"])
def test_a_renamed_log_is_read_once_and_to_its_end_before_the_new_one(tmp_path: Path, named: str) -> None:
    def points(first: int, last: int) -> str:
        return "".join(f"step {i} | loss {2 - i / 200} | lr 5e-05\n" for i in range(first, last))

    log = tmp_path / "train.log"
    log.write_text(points(0, 30))
    run = Run()
    follower = Follower([str(log if named == "the log" else tmp_path)], run, lambda _: ())
    follower.poll()
    with log.open("a") as file:
        file.write(points(30, 40))
    log.rename(tmp_path / "train.log.1")
    follower.poll()
    with (tmp_path / "train.log.1").open("a") as file:
        file.write(points(40, 45))
    follower.poll()
    log.write_text(points(45, 50))
    for _ in range(2):
        follower.find()
        follower.poll()
    follower.close()
    loss = next(series for series in run.series.values() if series.key.metric == "loss")
    assert [int(step) for step in loss.steps] == list(range(50))


def test_a_log_that_is_emptied_in_place_goes_on_and_keeps_its_points(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {i} | loss {3 - i / 100}\n" for i in range(50)))
    watch = Watch(str(log), settings=Settings(), remember=False)
    watch._follower.poll()
    log.write_text("".join(f"step {i} | loss {3 - i / 100}\n" for i in range(50, 60)))
    watch._follower.poll()
    series = watch.session.run.best("train.loss")
    assert series is not None
    assert list(series.steps) == list(range(60))


def test_nobody_listens_to_a_run_that_writes_all_the_time(waker: Waker, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    for _ in range(BUSY):
        waker.listen([str(tmp_path)], grew=True)
    log.write_text("step 1 loss 2.0\n")
    assert BUSY_S <= waited(waker, 60) < 30
    waker.listen([str(tmp_path)], grew=False)
    assert waited(waker, 0.5) >= 0.5
    log.write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert waited(waker, 60) < 60
