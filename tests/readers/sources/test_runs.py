"""hrmdoc.readers.sources.runs: several paths are several runs, and what belongs to one run stays together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hrmdoc.errors import InputError
from hrmdoc.readers import runs_below
from tests.readers.feeding import database
from tests.readers.test_tfevents import scalar, write

ROWS = "step,loss\n" + "".join(f"{step},{2.0 / (step + 1)}\n" for step in range(8))
LOG = "".join(f"step {step} loss {2.0 / (step + 1):.4f}\n" for step in range(8))
CONFIG = "learning_rate: 1.0e-4\nmax_steps: 100\nbatch_size: 8\n"


def lay(root: Path, *names: str) -> None:
    """Files with a small log, table or config each, the later ones newer."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROWS if name.endswith(".csv") else CONFIG if name.endswith(".yaml") else LOG)
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))


def runs(root: Path, *named: str) -> list[list[str]]:
    """The files of each run below the named paths, relative to `root`."""
    groups = runs_below([str(root / name) for name in named] or str(root))
    return [
        sorted(Path(source.path).relative_to(root).as_posix() for source in group.sources) for group in groups
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("rank0.log", "rank1.log"),
        ("job.out", "job.err"),
        ("train.csv", "val.csv"),
        ("train.log", "metrics.csv"),
        ("train_loss.csv", "val_accuracy.csv"),
        ("train.log", "train.log.1"),
        ("logs/train.log", "tensorboard/metrics.csv"),
        ("rank_0/train.log", "rank_1/train.log"),
        ("log_process_0.txt", "log_process_1.txt"),
    ],
)
def test_named_files_that_are_parts_of_one_run_are_one_run(tmp_path: Path, names: tuple[str, ...]) -> None:
    lay(tmp_path, *names)
    assert runs(tmp_path, *names) == [sorted(names)]


@pytest.mark.parametrize(
    "names",
    [
        ("first.log", "second.log"),
        ("a/train.log", "b/train.log"),
        ("slurm-101.out", "slurm-102.out"),
        ("seed_1.log", "seed_2.csv"),
    ],
)
def test_named_files_of_other_names_are_runs_each(tmp_path: Path, names: tuple[str, ...]) -> None:
    lay(tmp_path, *names)
    assert runs(tmp_path, *names) == [[name] for name in names]


def test_an_event_file_beside_a_log_belongs_to_its_run(tmp_path: Path) -> None:
    name = "events.out.tfevents.1700000000.node"
    lay(tmp_path, "train.log")
    write(tmp_path / name, [scalar("loss", step, 1.0) for step in range(3)])
    assert runs(tmp_path, "train.log", name) == [sorted([name, "train.log"])]


def test_a_folder_of_runs_lists_them_all_and_the_records_beside_them(tmp_path: Path) -> None:
    lay(tmp_path, "old.log", "base.yaml", "runs/a/m.csv", "runs/b/m.csv")
    found = runs(tmp_path)
    assert found == [
        ["base.yaml", "old.log"],
        ["base.yaml", "runs/a/m.csv"],
        ["base.yaml", "runs/b/m.csv"],
    ]


def test_files_of_one_folder_are_runs_only_where_they_are_named_as_such(tmp_path: Path) -> None:
    lay(tmp_path / "one", "first.csv", "second.csv")
    lay(tmp_path / "several", "seed_1.csv", "seed_2.csv")
    assert len(runs_below(str(tmp_path / "one"))) == 1
    assert len(runs_below(str(tmp_path / "several"))) == 2


def test_the_newest_link_and_what_is_no_run_are_not_counted(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "runs/a/m.csv",
        "runs/b/m.csv",
        "runs/demo-output.log",
        "runs/config.yaml",
        "runs/report.html",
    )
    (tmp_path / "runs/latest").symlink_to(tmp_path / "runs/b")
    named = [f"runs/{name}" for name in ("a", "b", "latest", "demo-output.log", "config.yaml", "report.html")]
    assert runs(tmp_path, *named) == [
        ["runs/a/m.csv", "runs/config.yaml"],
        ["runs/b/m.csv", "runs/config.yaml"],
    ]
    assert runs(tmp_path, "runs/*") == runs(tmp_path, *named)
    assert runs(tmp_path, "runs/latest") == [["runs/latest/m.csv"]]


def test_state_caches_environments_tests_and_rules_are_no_runs(tmp_path: Path) -> None:
    lay(
        tmp_path,
        *("run/train.log", ".hrmdoc/train.log", ".git/train.log", "node_modules/x/train.log"),
        *("env/train.log", "tests/train.log", "my_rules/tests/train.log", "__pycache__/train.log"),
        *("hrmdoc_rules/cases/train.log", "my_rules/symptoms/x.yaml", "env/pyvenv.cfg"),
    )
    (tmp_path / "my_rules/symptoms/x.yaml").write_text("id: x\ntitle: X\nwhen: {detector: level}\n")
    assert runs(tmp_path) == [["run/train.log"]]


def test_one_run_joins_everything(tmp_path: Path) -> None:
    lay(tmp_path, "first.log", "second.log")
    (whole,) = runs_below([str(tmp_path / "first.log"), str(tmp_path / "second.log")], one_run=True)
    assert len(whole.sources) == 2


def test_runs_in_a_database_are_listed_each(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    assert [group.folder for group in runs_below(str(path))] == [f"{path}#old", f"{path}#new"]


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, "a.log")
    with pytest.raises(InputError, match="no such file"):
        runs_below([str(tmp_path / "a.log"), str(tmp_path / "gone")])


def test_rotated_logs_that_a_shell_lists_newest_first_are_read_from_the_oldest(tmp_path: Path) -> None:
    lay(tmp_path, "train.log.2", "train.log.1", "train.log")
    named = [str(tmp_path / name) for name in ("train.log", "train.log.1", "train.log.2")]
    for one_run in (False, True):
        (run,) = runs_below(named, one_run=one_run)
        assert [Path(source.path).name for source in run.sources] == [
            "train.log.2",
            "train.log.1",
            "train.log",
        ]


def test_two_stars_are_any_folders_below(tmp_path: Path) -> None:
    lay(tmp_path, "top.log", "a/one.log", "a/b/two.log", "a/b/c/three.log")
    found = runs(tmp_path, "**/*.log")
    assert found == [["top.log"], ["a/one.log"], ["a/b/two.log"], ["a/b/c/three.log"]]
