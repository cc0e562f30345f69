"""The lab as a whole: three runs, their verdicts, the report; and the tables that name faults and healthy
shapes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.lab import execute, judge, report, spec
from benchmarks.lab.faults import CAUSES, FAULTS, NEW_FAULTS, ONSETS, onset_of
from benchmarks.lab.healthy import HEALTHY
from benchmarks.lab.launch import start_process
from benchmarks.lab.matrix import specs, twin_of
from benchmarks.lab.spec import BLIND, HELD_OUT, LIBRARIES, TRAINING, Spec
from hrmdoc import rulebook

SHORT: dict[str, spec.Value] = {"steps": 400, "eval_every": 40}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab keeps its runs in a folder of the test."""
    for module in (spec, execute):
        monkeypatch.setattr(module, "RUNS", tmp_path)
    monkeypatch.setattr(judge, "TABLE", tmp_path / "verdicts.parquet")
    return tmp_path


@pytest.mark.slow
def test_the_lab_runs_and_judges_a_healthy_run_and_two_faulty_ones(runs: Path) -> None:
    wanted = [
        Spec("classifier", seed=100, settings=SHORT),
        Spec("classifier", "label-out-of-range", ("label-out-of-range",), settings=SHORT),
        Spec("process", "disk-full", ("disk-exhausted",)),
    ]
    execute.execute(wanted)
    assert all(execute.finished(one) for one in wanted)
    examined = [judge.examine(one)[0] for one in wanted]
    healthy, label, disk = (
        judge.verdict_of(one, found, rulebook.load()) for one, found in zip(wanted, examined, strict=True)
    )
    assert not healthy.detected
    assert healthy.points > 30
    assert label.detected
    assert disk.verdict == "critical"
    assert disk.rank == 1
    judge.save([healthy, label, disk])
    assert judge.TABLE.is_file()
    report.write([healthy, label, disk], runs / "accuracy.md", "ci")
    text = (runs / "accuracy.md").read_text()
    for heading in (
        "Summary",
        "By program",
        "Missed",
        "By fault",
        "False alarms",
        "Delay",
        "Confusion",
        "Calibration",
    ):
        assert f"## {heading}\n" in text
    assert "3 runs: 2" in text
    ElementTree.parse(runs / "accuracy.svg")
    before = (wanted[0].folder() / execute.DONE).stat().st_mtime_ns
    execute.execute(wanted)
    assert (wanted[0].folder() / execute.DONE).stat().st_mtime_ns == before


def test_a_process_that_has_ended_is_still_there_to_be_asked_after_another_was_started(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    ended = start_process(["false"], first)
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
    other = start_process(["true"], second)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (ended, other)]
    assert statuses == [1, 0]


def test_every_cause_of_the_lab_is_one_that_a_rule_names() -> None:
    known = rulebook.load().causes
    named = {cases.causes[0] for program in FAULTS.values() for cases in program}
    assert sorted(named - known.keys()) == []


def test_there_are_at_least_forty_faults_and_two_hundred_healthy_runs() -> None:
    wanted = specs("small")
    assert len({one.fault for one in wanted if not one.healthy}) >= 40
    assert sum(one.healthy for one in wanted) >= 200


def test_every_faulty_run_has_a_healthy_twin_in_the_matrix() -> None:
    wanted = specs("small")
    healthy = {one.key() for one in wanted if one.healthy}
    faulty = [one for one in wanted if not one.healthy]
    assert faulty
    assert all(twin_of(one).key() in healthy for one in faulty)
    assert twin_of(Spec("process", "ranks-hung", settings={"limit_s": 20})).settings == {"ranks": True}


def test_new_kinds_of_faults_and_real_libraries_stay_out_of_what_is_learnt_on() -> None:
    learnt = {case.fault for program in TRAINING for case in FAULTS[program]}
    assert not learnt & set(NEW_FAULTS)
    assert not {*LIBRARIES, *BLIND} & set(TRAINING)


def test_no_program_is_both_learnt_on_and_held_out() -> None:
    assert not set(TRAINING) & set(HELD_OUT)
    assert {*FAULTS, *HEALTHY} <= {*TRAINING, *HELD_OUT}


def test_every_run_of_a_matrix_has_a_place_of_its_own() -> None:
    wanted = specs("full")
    assert len({one.folder() for one in wanted}) == len(wanted)


def test_the_key_changes_with_what_determines_a_run() -> None:
    plain = Spec("gpt")
    assert plain.key() == Spec("gpt", note="a name changes nothing").key()
    others = [
        Spec("gpt", seed=1),
        Spec("gpt", settings={"lr": 1.0}),
        Spec("gpt", "lr-zero"),
        Spec("classifier"),
    ]
    assert len({one.key() for one in (plain, *others)}) == 5


def test_the_onsets_of_the_table_are_those_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(spec.PROGRAMS))
    import toy_faults

    defaults = {name: fault().onset for name, fault in toy_faults.FAULTS.items()}
    assert {name: onset for name, onset in defaults.items() if onset > 1} == ONSETS
    assert set(CAUSES) == set(toy_faults.FAULTS)
    assert onset_of(Spec("gpt", "lr-zero", onset=7)) == 7
    assert onset_of(Spec("grpo", "lr-too-high")) is None
    for name in ("toy_faults", "toy_base", "toy_data", "toy_model", "toy_process"):
        sys.modules.pop(name, None)
