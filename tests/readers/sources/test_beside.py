"""Which runs lie beside a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc import readers
from hrmdoc.readers.sources.beside import beside

LOG = "".join(f"epoch {i} train_loss: {1 / i:.4f} val_acc: {1 - 1 / i:.4f}\n" for i in range(1, 9))


def write(path: Path, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOG)
    os.utime(path, (1.8e9 - age, 1.8e9 - age))
    return path


def names(path: Path) -> list[str]:
    """The runs beside the one at a path, relative to the folder of all, nearest in time first."""
    (group,) = readers.runs_below(path)
    top = os.path.realpath(path.parents[2])
    return [os.path.relpath(one, top) for one in beside(group)]


def test_folders_beside_it_that_hold_a_file_of_its_name(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"runs/r{number}/train.log", age=100.0 * number)
    write(tmp_path / "runs/notes/other.log")
    assert names(tmp_path / "runs/r1/train.log") == [
        "runs/r0/train.log",
        "runs/r2/train.log",
        "runs/r3/train.log",
    ]
    assert names(tmp_path / "runs/r1") == [
        os.path.join(tmp_path.name, f"runs/r{number}") for number in (0, 2, 3)
    ]


def test_a_file_deeper_in_the_folder_of_its_run(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"exp{number}/logs/train.log", age=number)
    assert names(tmp_path / "exp0/logs/train.log") == [f"exp{number}/logs/train.log" for number in (1, 2, 3)]


def test_files_of_one_folder_that_differ_in_their_numbers(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"a/logs/seed{number}.log", age=number)
    write(tmp_path / "a/logs/eval.log")
    assert names(tmp_path / "a/logs/seed0.log") == [f"a/logs/seed{number}.log" for number in (1, 2, 3)]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_links_and_pipes_are_passed_by(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"runs/r{number}/train.log", age=number)
    (tmp_path / "runs/latest").symlink_to(tmp_path / "runs/r3")
    (tmp_path / "runs/pipe").mkdir()
    os.mkfifo(tmp_path / "runs/pipe/train.log")
    (tmp_path / "runs/empty").mkdir()
    (tmp_path / "runs/empty/train.log").touch()
    assert names(tmp_path / "runs/r0/train.log") == [f"runs/r{number}/train.log" for number in (1, 2, 3)]


def test_ranks_are_no_runs_beside_each_other(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"a/run/rank_{number}.log")
    assert names(tmp_path / "a/run/rank_0.log") == []


def test_two_are_too_few_to_be_looked_at(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"runs/r{number}/train.log")
    assert names(tmp_path / "runs/r0/train.log") == []
