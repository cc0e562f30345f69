"""A file that is followed on a network file system, or that is replaced at the wrong moment."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from hrmdoc.live import growing
from hrmdoc.live.growing import Growing
from hrmdoc.readers import Source
from hrmdoc.record.run import Run


def lines(first: int, last: int) -> str:
    return "".join(f"step {step} | loss {3 - step / 100:.2f}\n" for step in range(first, last))


def followed(path: Path) -> tuple[Growing, Run]:
    run = Run()
    return Growing(Source(str(path), "text", str(path)), run, lambda _: ()), run


def steps(run: Run) -> list[int]:
    (series,) = run.series.values()
    return [int(step) for step in series.steps]


def test_a_stale_handle_costs_nothing_though_the_file_changes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, really, stale = tmp_path / "train.log", growing.open_regular, [True]

    def opened(path: str) -> BinaryIO:
        if stale:
            stale.pop()
            raise OSError(errno.ESTALE, "Stale file handle")
        return really(path)

    monkeypatch.setattr(growing, "open_regular", opened)
    log.write_text(lines(0, 20))
    one, run = followed(log)
    one.read()
    assert not run.series
    one.read()
    assert steps(run) == list(range(20))
    log.rename(tmp_path / "train.log.1")
    with (tmp_path / "train.log.1").open("a") as file:
        file.write(lines(20, 30))
    log.write_text(lines(30, 40))
    stale.append(True)
    for _ in range(3):
        one.read()
    one.close()
    assert steps(run) == list(range(40))
    assert not run.damages


def test_a_log_that_is_rotated_between_the_look_at_it_and_its_opening_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, stat, rotates = tmp_path / "train.log", os.stat, [False]

    def before_it_is_rotated(path: Any, **options: Any) -> os.stat_result:
        found = stat(path, **options)
        if rotates == [True] and str(path) == str(log):
            rotates.clear()
            log.rename(tmp_path / "train.log.1")
            log.write_text(lines(30, 40))
        return found

    monkeypatch.setattr(growing.os, "stat", before_it_is_rotated)
    log.write_text(lines(0, 20))
    one, run = followed(log)
    one.read()
    with log.open("a") as file:
        file.write(lines(20, 30))
    rotates[0] = True
    one.read()
    one.read()
    one.close()
    assert steps(run) == list(range(40))
