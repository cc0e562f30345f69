"""Which files are the user's own config, and which only remember what a run had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hrmdoc.examination.examine import Situation
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.remedies.targets import Targets, is_record, is_state, targets
from hrmdoc.rulebook import Framework, Rulebook

OWN = Framework("own", "Own", config_files=("own.yaml", "other.json"))
BOOK = Rulebook(frameworks={"own": OWN})


def wrote(path: Path, text: str = "lr: 0.1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(run: Run, framework: str = "own", **more: Any) -> Targets:
    return targets(run, Situation(framework=framework), BOOK, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    return tmp_path / "runs" / "a"


def read_from(run: Run, *paths: Path) -> Run:
    run.extend(Fact(f"k{at}", 1, "config", str(path)) for at, path in enumerate(paths))
    return run


def started_from(folder: Path, value: str, by: str = "run.json") -> Run:
    run = Run(str(folder))
    run.add(Fact("run.config_source", value, "run", str(folder / by)))
    return run


def test_the_file_that_the_user_names_is_the_only_one(folder: Path) -> None:
    wrote(folder / "own.yaml")
    assert found(Run(str(folder)), config=Path("mine.yaml")) == Targets((Path("mine.yaml"),))


def test_the_usual_names_are_looked_for_in_the_folder_of_the_run(folder: Path) -> None:
    own = wrote(folder / "own.yaml")
    assert found(Run(str(folder))) == Targets((own,))
    assert found(Run(str(folder / "train.log"))) == Targets((own,))
    assert found(Run(str(folder)), "another").files == ()
    assert found(Run("-")) == Targets(())
    assert found(Run(str(folder)), within=lambda path: path.name != "own.yaml").files == ()


def test_what_the_run_was_started_with_comes_before_what_was_read_and_that_before_usual_names(
    folder: Path,
) -> None:
    mine, read, own = (
        wrote(folder.parent / "mine.yaml"),
        wrote(folder / "read.yaml"),
        wrote(folder / "own.yaml"),
    )
    far = wrote(folder.parent / "far.yaml")
    run = read_from(started_from(folder, str(mine)), far, read)
    assert found(run) == Targets((mine, read, far, own), (), frozenset({mine}))
    inside = started_from(folder, str(own))
    assert found(inside) == Targets((own,))


def test_a_config_that_a_log_names_counts_below_this_folder_or_that_of_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    below, beside = wrote(folder.parent / "mine.yaml"), wrote(folder / "mine.yaml")
    assert found(started_from(folder, "mine.yaml", "train.log")).files == (Path("mine.yaml"), beside)
    assert found(started_from(folder, str(below), "train.log")).files == ()
    assert found(started_from(folder, "../mine.yaml", "train.log")).files == ()
    assert found(started_from(folder, "", "train.log")).files == ()
    assert found(started_from(folder, "mine.yaml", "run.json")).files == (Path("mine.yaml"),)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("hparams.yaml", True),
        ("hparams.yml", True),
        ("checkpoint-20/a.yaml", True),
        ("checkpoints/deep/a.yaml", True),
        ("step_100/a.yaml", True),
        (".hydra/config.yaml", True),
        ("version_3/a.yaml", True),
        ("wandb/a.yaml", True),
        ("run-20260102_030405-abc/a.yaml", True),
        ("my_checkpoints/a.yaml", False),
        ("version_x/a.yaml", False),
        ("wandb", False),
        ("a.yaml", False),
    ],
)
def test_folders_in_which_programs_keep_settings_hold_records(folder: Path, name: str, record: bool) -> None:
    assert is_record(wrote(folder / name)) is record


@pytest.mark.parametrize(
    ("record", "config", "dumped"),
    [
        ('{"command": "train"}', "lr: 1\n", True),
        ('{"config_source": "x"}', "lr: 1\n", True),
        ('{"command": "train"}', "lr: 1  # mine\n", False),
        ('{"state": "running"}', "lr: 1\n", False),
        (None, "lr: 1\n", False),
    ],
)
def test_a_config_that_the_trainer_resolved_is_a_record(
    folder: Path, record: str | None, config: str, dumped: bool
) -> None:
    path = wrote(folder / "config.yaml", config)
    if record is not None:
        wrote(folder / "run.json", record)
    assert is_record(path) is dumped
    assert not is_record(wrote(folder / "conf.yaml", config))


@pytest.mark.parametrize(
    ("name", "text", "state"),
    [
        ("run.json", "{}", True),
        ("trainer_state.json", "{}", True),
        ("adapter_config.json", "{}", True),
        ("wandb-summary.json", "{}", True),
        ("a.json", '{"log_history": []}', True),
        ("a.json", '{"lr": 1}', False),
        ("config.json", '{"architectures": ["X"]}', True),
        ("config.json", '{"model_type" : "x"}', True),
        ("config.json", '{"lr": 1}', False),
        ("own.json", '{"model_type": "x"}', False),
        ("a.yaml", '{"log_history": []}', False),
    ],
)
def test_the_state_of_a_training_and_the_description_of_a_model_hold_no_settings(
    folder: Path, name: str, text: str, state: bool
) -> None:
    path = wrote(folder / name, text)
    assert is_state(path) is state
    assert (path in found(read_from(Run(str(folder)), path)).files) is not state


@pytest.mark.parametrize(
    ("name", "holds"), [("a.YML", True), ("a.sh", True), ("a.txt", True), ("a.py", True), ("a.toml", False)]
)
def test_settings_stand_in_files_of_known_formats(folder: Path, name: str, holds: bool) -> None:
    path = wrote(folder / name)
    assert (path in found(read_from(Run(str(folder)), path)).files) is holds
    gone = folder / "gone.yaml"
    assert gone not in found(read_from(Run(str(folder)), gone)).files


def test_where_there_are_records_alone_it_is_said_that_the_run_is_not_started_from_them(folder: Path) -> None:
    record = wrote(folder / "hparams.yaml")
    told = found(read_from(Run(str(folder)), record))
    assert (told.files, told.records) == ((), (record,))
    assert told.why_none == f"{record} only records what the run had; the run is not started from it"
    assert Targets(()).why_none == "no config file found"
