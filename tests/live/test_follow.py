"""`hrmdoc.live.follow`: what wakes a watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.live.follow import Follower, Waker
from hrmdoc.record.run import Run


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
