"""Of few runs that are examined together each is judged by those beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.fleet.examine import summaries
from hrmdoc.fleet.store import Store
from hrmdoc.fleet.work import Request
from hrmdoc.settings import Settings


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Seven runs whose score comes to nine tenths, and one that comes to half."""
    for number in range(8):
        level = 0.5 if number == 3 else 0.9 + 0.003 * number
        lines = [
            f"epoch {i} train_loss: {2 * 0.8**i:.4f} val_acc: {level * (1 - 0.7**i):.4f}\n"
            for i in range(1, 21)
        ]
        folder = tmp_path / f"run_{number}"
        folder.mkdir()
        (folder / "train.log").write_text("".join(lines))
    return tmp_path


def verdicts(runs: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> dict[str, str]:
    monkeypatch.setattr("hrmdoc.fleet.work.MOST_COMPARED", most)
    found, _ = summaries(
        readers.runs_below(runs), Request(Settings()), Store(kept=False), lambda _: lambda _: None, jobs=1
    )
    return {Path(one.path).name: one.verdict for one in found}


def test_the_one_that_is_behind_is_sick(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(runs, monkeypatch, 8)
    assert found.pop("run_3") == "warning"
    assert {*found.values()} <= {"healthy", "info"}


def test_of_many_each_is_judged_by_itself(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*verdicts(runs, monkeypatch, 7).values()} <= {"healthy", "info"}
