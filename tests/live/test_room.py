"""The free space of the disk that holds a run's checkpoints."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hrmdoc.live import room
from hrmdoc.live.room import KEY, free_space
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run

GIB = 2**30


def told(monkeypatch: pytest.MonkeyPatch, folder: Path, gib: float, known: object = None) -> list[float]:
    asked: list[Path] = []

    def usage(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(free=gib * GIB)

    monkeypatch.setattr(room.shutil, "disk_usage", usage)
    run = Run("run")
    if known is not None:
        run.add(Fact(KEY, known, "run"))
    facts = list(free_space(run, folder))
    assert asked == [folder / "checkpoints" if (folder / "checkpoints").is_dir() else folder]
    assert {(fact.key, fact.scope) for fact in facts} <= {(KEY, "run")}
    return [float(str(fact.value)) for fact in facts]


def test_it_is_told_in_gib_at_first_and_again_where_it_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert told(monkeypatch, tmp_path, 10.0) == [10.0]
    assert told(monkeypatch, tmp_path, 10.0, known=10.1) == []
    assert told(monkeypatch, tmp_path, 10.0, known=9.9) == []
    assert told(monkeypatch, tmp_path, 10.0, known=10.3) == [10.0]
    assert told(monkeypatch, tmp_path, 10.0, known=9.7) == [10.0]
    assert told(monkeypatch, tmp_path, 10.0, known="much") == [10.0]


def test_the_folder_of_the_checkpoints_is_asked_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "checkpoints").mkdir()
    assert told(monkeypatch, tmp_path, 3.0) == [3.0]


def test_a_disk_that_cannot_be_asked_says_nothing(tmp_path: Path) -> None:
    assert list(free_space(Run("run"), tmp_path / "gone")) == []
