"""Incidents that a watch kept, in the review of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.fleet.summary import Incident, Summary
from hrmdoc.fleet.watched import as_watched

AT = 1_700_000_000.0


def line(symptom: str, change: str, at: float, **more: Any) -> str:
    row = {
        "symptom": symptom,
        "change": change,
        "severity": "critical",
        "title": symptom,
        "at": at,
        "step": 7,
    }
    return json.dumps({**row, **more}) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    return tmp_path / "run"


def of(folder: Path, *incidents: Incident) -> Summary:
    return Summary(str(folder), "critical", "", incidents=incidents)


def test_times_that_the_records_lack_are_those_of_the_watch(folder: Path) -> None:
    kept = folder / "incidents.jsonl"
    kept.write_text(line("train-hung", "opened", AT) + line("train-hung", "resolved", AT + 60))
    undated = Incident("train-hung", "Hung", "critical", "", 7, over=True, closed_step=9)
    (found,) = as_watched(of(folder, undated)).incidents
    assert (found.opened, found.closed, found.closed_step) == (AT, AT + 60, 9)


def test_a_time_of_the_records_stands_unless_the_watch_saw_it_earlier(folder: Path) -> None:
    (folder / "incidents.jsonl").write_text(line("a", "opened", AT) + line("b", "opened", AT))
    early = Incident("a", "A", "critical", "", opened=AT - 5)
    late = Incident("b", "B", "critical", "", opened=AT + 3600)
    assert [one.opened for one in as_watched(of(folder, early, late)).incidents] == [AT - 5, AT]


def test_what_came_and_went_is_added_and_foreign_lines_are_passed_over(folder: Path) -> None:
    rows = [
        "[1, 2]\n", "{torn\n", line("x", "opened", float("inf")), line("x", "exploded", AT),
        line("gpu-throttled", "opened", AT, severity="warning", evidence="\x1b[31m90 C"),
        line("gpu-throttled", "resolved", AT + 90, severity="warning"),
    ]  # fmt: skip
    (folder / "incidents.jsonl").write_text("".join(rows))
    (found,) = as_watched(of(folder)).incidents
    assert (found.symptom, found.severity, found.over) == ("gpu-throttled", "warning", True)
    assert (found.opened, found.closed) == (AT, AT + 90)
    assert found.evidence == "90 C"


def test_a_watch_of_the_log_counts_for_its_run(folder: Path) -> None:
    log = folder / "train.log"
    (folder / "run.json").unlink()
    (folder / "train.log.hrmdoc").mkdir()
    (folder / "train.log.hrmdoc" / "incidents.jsonl").write_text(line("a", "opened", AT))
    assert as_watched(of(folder)).incidents == ()
    assert [one.symptom for one in as_watched(of(folder), [str(log)]).incidents] == ["a"]


def test_nothing_kept_changes_nothing(folder: Path) -> None:
    run = of(folder, Incident("a", "A", "critical", ""))
    assert as_watched(run) is run
    assert as_watched(Summary("s3://bucket/run", "healthy", "")).incidents == ()
