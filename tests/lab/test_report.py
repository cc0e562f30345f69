"""The report of the lab: groups, misses with their reason, other doctors, earlier commits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.lab import history, launch, peers, spec, tables
from benchmarks.lab.judge import Verdict
from benchmarks.lab.misses import reason
from benchmarks.lab.spec import Spec
from hrmdoc import rulebook
from hrmdoc.examination.symptom import Symptom


def verdict(
    program: str, fault: str = "", found: str = "healthy", effect: str | None = None, rank: int | None = None
) -> Verdict:
    cause = ("learning-rate-too-high",) if fault else ()
    serious = ("loss-plateau",) if found == "warning" else ()
    named = (("learning-rate-too-high", 0.6),) if rank else ()
    spec = Spec(program, fault, cause)
    return Verdict(
        spec,
        spec.key(),
        found,
        "ended",
        "sft",
        "",
        named,
        named,
        serious,
        serious,
        rank,
        None,
        500,
        40,
        effect,
    )


RUNS = [
    verdict("gpt"),
    verdict("regression", found="warning"),
    verdict("gpt", "lr-too-high", "warning", "training loss ends at 3 instead of 2", 1),
    verdict("regression", "lr-too-high", "info", ""),
    verdict("regression", "unshuffled", "info", "training loss ends at 3 instead of 2"),
]


def test_faults_without_visible_effect_are_counted_apart() -> None:
    rows = {str(row[0]): row for row in tables.groups(RUNS)}
    header = ("programs", *tables.COLUMNS)
    held_out = dict(zip(header, rows["held out"], strict=True))
    assert (held_out["faulty"], held_out["did harm"], held_out["healthy"]) == (2, 1, 1)
    assert str(held_out["false alarms"]).startswith("1/1")
    assert str(dict(zip(header, rows["learnt on"], strict=True))["found of these"]).startswith("1/1")
    assert (
        dict(zip(header, rows["of these, kinds of faults that came after the rules"], strict=True))["faulty"]
        == 1
    )


def test_a_group_without_runs_has_a_row_all_the_same() -> None:
    row = next(row for row in tables.groups(RUNS[:1]) if row[0] == "held out")
    assert row[1] == 0
    assert str(row[2]) == "no runs"


def test_misses_tell_those_without_effect_in_a_line_of_their_own() -> None:
    text = tables.misses(RUNS[2:])
    assert "| regression | unshuffled | info |" in text
    assert text.endswith("without visible effect: regression lr-too-high.")
    assert "gpt" not in text


def test_a_reason_tells_what_stayed_away_and_what_these_logs_do_not_hold() -> None:
    book = rulebook.load()
    cause = book.causes["learning-rate-too-high"]
    strong = sorted(
        name for name, w in cause.produces.items() if w >= 0.3 and book.symptoms[name].when.form() != "lines"
    )
    symptoms = [Symptom(strong[0]), Symptom(strong[1], state="not_evaluated", missing=("grad_norm",))]
    text = reason([cause.id], {cause.id: 0.2}, symptoms, book)
    assert f"{cause.id} named at 0.20" in text
    assert f"below its threshold: {strong[0]}" in text
    assert f"not in these logs: {strong[1]} (needs grad_norm)" in text


def test_a_fault_that_no_rule_looks_for_says_so() -> None:
    assert reason(["unknown"], {}, [], rulebook.load()) == "no rule looks for it in such logs"


def test_figures_are_compared_on_the_same_runs_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history.record("aaaaaaa", RUNS, [("all", 3)], path)
    history.record("bbbbbbb", RUNS[:2], [("all", 0)], path)
    history.record("ccccccc", RUNS, [("all", 4)], path)
    history.record("aaaaaaa", RUNS, [("all", 5)], path)
    assert history.comparable(RUNS, path) == [("ccccccc", "all", "4"), ("aaaaaaa", "all", "5")]
    assert history.comparable(RUNS[:1], path) == []


def test_another_doctor_is_judged_on_what_it_can_read() -> None:
    said = {"read": True, "findings": [["warning", "spike"]]}
    by_run = {
        RUNS[0].key: {"runmedic": said},
        RUNS[2].key: {"runmedic": {"read": True, "findings": [["info", "note"]]}},
    }
    rows = peers.table(RUNS, peers.Answers({"runmedic": "9.9"}, by_run))
    ours, theirs, missing = rows[0], rows[1], rows[2]
    assert ours[1] == "5/5"
    assert theirs[:2] == ("runmedic 9.9", "2/5")
    assert [str(cell).split(" =")[0] for cell in theirs[2:5]] == ["0/2", "0/1", "1/1"]
    assert str(theirs[5]).startswith("1/1")
    assert missing[1] == "not installed in the environment that was asked"


def test_without_peers_the_kept_answers_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(peers.PEERS_PYTHON, raising=False)
    assert peers.ask([Spec("gpt")], tmp_path / "none.json") == peers.Answers({}, {})
    (tmp_path / "kept.json").write_text(json.dumps({"versions": {"runmedic": "1"}, "by_run": {}}))
    assert peers.ask([Spec("gpt")], tmp_path / "kept.json").versions == {"runmedic": "1"}


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(launch.LAB_PYTHON, raising=False)
    monkeypatch.setitem(spec.LIBRARIES, "keras", "a_library_that_is_not_there.core")
    assert launch.missing_library("gpt") == ""
    assert launch.missing_library("keras") == "a_library_that_is_not_there"
    monkeypatch.setenv(launch.LAB_PYTHON, sys.executable)
    assert launch.missing_library("keras") == "a_library_that_is_not_there"
    assert launch.command_of(Spec("keras"))[0] == sys.executable  # type: ignore[index]
