"""A fleet at a glance: what stands first, what is folded, what changed, and what a second pass costs."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hrmdoc import readers
from hrmdoc.cli.main import main
from hrmdoc.fleet import examine, store
from hrmdoc.fleet.triage import Asked, Fleet, Triage
from hrmdoc.fleet.work import Request
from hrmdoc.readers.sources import beginning
from hrmdoc.settings import Settings
from tests.fleet.runs_of import write_run
from tests.reports.runs_of import write_run as diverging

Shown = Callable[..., str]


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(store, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "200")
    return folder


@pytest.fixture
def fleet(apart: Path) -> Path:
    for number in range(8):
        write_run(apart / "runs" / f"run_{number}", lr=0.5 if number > 3 else 3e-4, sick=number > 3)
    write_run(apart / "runs" / "run_8", oom=True)
    return apart / "runs"


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    def run(*words: str) -> str:
        capsys.readouterr()
        main(["triage", *words])
        return capsys.readouterr().out

    return run


def triage(*paths: Path, asked: Asked | None = None) -> Fleet:
    kept = store.Store()
    try:
        work = Triage([str(path) for path in paths], Request(Settings(), {}), kept)
        return work.run(asked or Asked(), lambda _: lambda _: None)
    finally:
        kept.close()


def test_the_worst_stand_first_and_the_alike_are_folded(fleet: Path, shown: Shown) -> None:
    text = shown("runs")
    lines = text.splitlines()
    assert lines[0].startswith("✗ CRITICAL  9 runs: 5 critical, 4 healthy")
    listed = [
        line.split()[3] for line in lines if line.startswith("✗ CRITICAL  ") is False and line[:1] == "✗"
    ]
    assert len([line for line in lines if "runs/run_" in line and line[:1] == "✗"]) == 4, listed
    assert "4 alike: " in text
    assert "4 without a fault are not listed" in text
    assert "run_0" in shown("runs", "--verbose")


def test_json_and_csv_hold_every_run(fleet: Path, shown: Shown) -> None:
    found = json.loads(shown("--json", "runs"))
    assert found["schema"] == "hrmdoc.triage/1"
    assert [one["verdict"] for one in found["runs"]] == ["critical"] * 5 + ["healthy"] * 4
    rows = list(csv.DictReader(io.StringIO(shown("--csv", "runs"))))
    assert [row["run"] for row in rows] == [one["path"] for one in found["runs"]]
    oom = next(row for row in rows if row["run"].endswith("run_8"))
    assert (oom["lost_steps"], oom["state"], oom["last_step"]) == ("400", "crashed", "400")


def test_a_setting_that_separates_is_named_and_chance_is_not(fleet: Path, shown: Shown) -> None:
    for number in range(9, 30):
        write_run(fleet / f"run_{number}", lr=0.5 if number % 3 else 3e-4, sick=number % 3 > 0)
    text = shown("runs")
    assert (
        "optimizer.lr = 0.5 (or learning_rate: the runs do not say which): 18 of 18 sick, else 1 of 12"
        in text
    )
    assert "batch" not in text


def test_the_remedy_is_one_for_the_framework_of_the_run(apart: Path, shown: Shown) -> None:
    diverging(apart / "runs" / "one", lr=0.8, sick_from=200)
    (run,) = json.loads(shown("runs", "--json"))["runs"]
    assert run["causes"][0]["cause"] == "learning-rate-too-high"
    assert run["remedy"] == "Lower the learning rate to a fifth, and into the usual range"


def test_groups_are_by_cause_host_or_any_setting(fleet: Path, shown: Shown) -> None:
    rows = [line.split() for line in shown("runs", "--group-by", "learning_rate").splitlines()[1:]]
    assert [row[:4] for row in rows] == [["0.5", "4", "4", "100%"], ["0.0003", "5", "1", "20%"]]
    assert "no run has the setting 'learning_rat'" not in shown("runs", "--group-by", "cause")


def test_an_unknown_setting_names_the_nearest(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["triage", "runs", "--group-by", "learning_rat"]) == 2
    assert "did you mean 'learning_rate'?" in capsys.readouterr().err


def test_filters_show_what_was_asked_for(fleet: Path, shown: Shown) -> None:
    os.utime(fleet / "run_8" / "train.log", (1.7e9, 1.7e9))
    os.utime(fleet / "run_8" / "config.yaml", (1.7e9, 1.7e9))
    assert len(shown("--csv", "--verdict", "healthy", "runs").splitlines()) == 5
    assert "run_8" not in shown("--csv", "--since", "1d", "runs")
    causes = {
        row["cause"] for row in csv.DictReader(io.StringIO(shown("--csv", "--verdict", "critical", "runs")))
    }
    chosen = sorted(causes)[0]
    only = {row["cause"] for row in csv.DictReader(io.StringIO(shown("--csv", "--cause", chosen, "runs")))}
    assert only == {chosen}


def test_a_second_look_opens_no_file_and_examines_nothing(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = triage(fleet)
    assert first.known == 0

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is to be read")

    monkeypatch.setattr(beginning, "read_head", refuse)
    monkeypatch.setattr(examine, "examine", refuse)
    monkeypatch.setattr(examine, "engine", refuse)
    second = triage(fleet)
    assert second.known == 9
    assert second.runs == first.runs


def test_a_changed_file_is_examined_again_and_the_change_is_told(fleet: Path) -> None:
    assert triage(fleet).changes is None
    write_run(fleet / "run_0", sick=True)
    write_run(fleet / "run_4", lr=0.5)
    write_run(fleet / "run_9")
    for file in (fleet / "run_5").iterdir():
        file.unlink()
    found = triage(fleet)
    assert found.known == 6
    assert found.changes is not None
    named = {
        name: [Path(path).name for path in getattr(found.changes, name)]
        for name in ("sick", "recovered", "new", "gone")
    }
    assert named == {"sick": ["run_0"], "recovered": ["run_4"], "new": ["run_9"], "gone": ["run_5"]}


def test_other_settings_ask_anew(fleet: Path) -> None:
    triage(fleet)
    kept = store.Store()
    groups = readers.runs_below(fleet)
    plain, other = (
        store.keys(groups, Request(Settings(fail_on=level), {}, compare=True))
        for level in ("warning", "critical")
    )
    assert len(kept.results(plain)) == 9
    assert kept.results(other) == {}


def test_a_cache_that_is_damaged_or_cannot_be_written_costs_time_alone(fleet: Path, tmp_path: Path) -> None:
    triage(fleet)
    (tmp_path / "cache" / "fleet.sqlite").write_bytes(b"no database" * 999)
    assert len(triage(fleet).runs) == 9
    assert triage(fleet).known == 9


def test_a_run_that_vanishes_while_it_is_listed_is_a_row_and_no_error(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = readers.runs_below

    def listed(*words: Any, **more: Any) -> Any:
        groups = below(*words, **more)
        (fleet / "run_2" / "train.log").unlink()
        write_run(fleet / "run_10")
        return groups

    monkeypatch.setattr("hrmdoc.fleet.triage.runs_below", listed)
    found = {Path(run.path).name: run for run in triage(fleet).runs}
    assert len(found) == 9
    assert found["run_2"].verdict == "no_data"
    assert found["run_3"].verdict == "healthy"


def test_what_was_done_before_an_interrupt_is_not_done_again(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examined = examine.examined

    def interrupted(*words: Any, **more: Any) -> Any:
        for number, done in enumerate(examined(*words, **more)):
            if number == 5:
                raise KeyboardInterrupt
            yield done

    with monkeypatch.context() as once:
        once.setattr("hrmdoc.fleet.examine.examined", interrupted)
        with pytest.raises(KeyboardInterrupt):
            triage(fleet)
    assert triage(fleet).known == 5


def test_the_trials_of_a_hydra_sweep_and_of_an_optuna_study_are_told_apart_by_their_settings(
    apart: Path, shown: Shown
) -> None:
    study = ["[I 2026-11-01 10:00:00,000] A new study created in memory with name: no-name"]
    for number in range(12):
        sick = number % 3 == 0
        rate = 3e-3 if sick else 1e-4
        jobs = apart / "multirun" / "2026-11-01" / "10-00-00"
        job = write_run(jobs / str(number), sick=sick, steps=24)
        (job / "config.yaml").unlink()
        (job / ".hydra").mkdir()
        (job / ".hydra" / "config.yaml").write_text(f"lr: {rate}\nwidth: {64 + number % 2}\n")
        losses = ["nan" if sick and step > 8 else f"{9 / step:.4f}" for step in range(1, 20)]
        study += [f"step={step} loss={loss}" for step, loss in enumerate(losses, 1)]
        chosen = f"parameters: {{'lr': {rate}, 'width': {number}}}."
        study.append(f"[I 2026-11-01 10:{number}:00,000] Trial {number} finished with value: 1 and {chosen}")
    (apart / "optuna.log").write_text("\n".join(study) + "\n")
    for path in ("multirun", "optuna.log"):
        text = " ".join(shown(path).split())
        assert "12 runs: 4 critical" in text
        assert "optimizer.lr = 0.003: 4 of 4 sick, else 0 of 8" in text


@pytest.mark.slow
def test_three_hundred_runs(apart: Path, shown: Shown) -> None:
    for number in range(300):
        write_run(apart / "many" / f"run_{number}", sick=number % 10 == 0, steps=12)
    found = json.loads(shown("--json", "many"))
    assert len(found["runs"]) == 300
    assert sum(run["verdict"] == "critical" for run in found["runs"]) == 30
    assert found["failure_modes"][0]["sick"] == 30


def test_where_none_is_shown_it_says_of_how_many(fleet: Path, shown: Shown) -> None:
    assert shown("runs", "--verdict", "warning") == "None of 9 runs is one of those asked for\n"
    assert main(["triage", "runs", "--verdict", "warning"]) == 0


def test_groups_are_rows_of_the_csv_and_refused_where_there_is_no_place_for_them(
    fleet: Path, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rows = csv.reader(io.StringIO(shown("runs", "--group-by", "learning_rate", "--csv")))
    assert first[:3] == ["learning_rate", "runs", "sick"]
    assert sorted(row[:3] for row in rows) == [["0.0003", "5", "1"], ["0.5", "4", "4"]]
    assert main(["triage", "runs", "--group-by", "cause", "--format", "sarif"]) == 2
    assert "--group-by goes with" in capsys.readouterr().err


def test_a_log_that_cannot_be_decoded_has_a_row_with_its_reason_each_time(fleet: Path, shown: Shown) -> None:
    shown("runs")
    log = fleet / "run_0" / "train.log"
    for one in (fleet / "run_0").iterdir():
        one.unlink()
    log.with_suffix(".log.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 900)
    before = shown("runs")
    for _ in range(2):
        found = json.loads(shown("--json", "runs"))
        rows = {Path(run["path"]).name: run for run in found["runs"]}
        assert rows["run_0"]["verdict"] == "no_data"
        assert "train.log.gz cannot be read: the gzip data is damaged" in rows["run_0"]["headline"]
        assert found["changes"]["gone"] == []
        assert len(rows) == 9
    assert "1 can no longer be read" in before
    (fleet / "run_1" / "rank1.log.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 900)
    found = json.loads(shown("--json", "runs"))
    assert len(found["runs"]) == 9, "a run beside it is read"
    assert [Path(one["file"]).name for one in found["passed_over"]] == ["rank1.log.gz"]


def test_a_run_that_holds_nothing_any_more_is_not_gone(fleet: Path, shown: Shown) -> None:
    shown("runs")
    for one in (fleet / "run_0").iterdir():
        one.unlink()
    (fleet / "run_1").rename(fleet / "other")
    (fleet / "run_0" / "train.log").touch()
    found = json.loads(shown("--json", "runs"))
    rows = {Path(run["path"]).name: run["headline"] for run in found["runs"]}
    assert rows["run_0"] == "holds nothing any more that can be read"
    assert [Path(path).name for path in found["changes"]["gone"]] == ["run_1"]


def test_gpu_hours_of_a_group_are_not_nought_where_nothing_is_known_of_them(
    fleet: Path, shown: Shown
) -> None:
    rows = list(csv.DictReader(io.StringIO(shown("runs", "--group-by", "cause", "--csv"))))
    assert rows
    assert {row["lost_gpu_hours"] for row in rows} == {""}


@pytest.mark.parametrize("place", ["run_9/train.log.gz", "run_0/rank1.log.gz"])
def test_what_cannot_be_read_is_missing_among_healthy_runs(
    apart: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    for number in range(2):
        write_run(apart / "runs" / f"run_{number}")
    assert main(["triage", "runs"]) == main(["analyze", "runs"]) == 0
    damaged = apart / "runs" / place
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_bytes(b"\x1f\x8b\x08" + b"\xff" * 900)
    capsys.readouterr()
    for command in ("triage", "analyze"):
        assert main([command, "runs"]) == 2
        assert capsys.readouterr().out.startswith("? INCOMPLETE")
    write_run(apart / "runs" / "run_2", oom=True)
    assert main(["triage", "runs"]) == main(["analyze", "runs"]) == 1
