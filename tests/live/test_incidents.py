"""Incidents over time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from hrmdoc.examination.symptom import State, Symptom
from hrmdoc.live.incidents import IncidentLog
from hrmdoc.rulebook import SymptomRule, When, load
from hrmdoc.rulebook.schema.when import SilenceWhen

RULE = SimpleNamespace(
    when=When(detector="level", role="train.loss", patience=4), needs=SimpleNamespace(facts=(), roles=())
)


def analysis(state: State, severity: str = "warning", step: int = 5, points: int = 0) -> Any:
    """As much of an analysis as the log updates at."""
    symptom = Symptom("loss-plateau", severity=severity, state=state, first_step=step, last_step=9)  # type: ignore[arg-type]
    return SimpleNamespace(
        symptoms=[symptom],
        severity=lambda one: one.severity,
        diagnosis=SimpleNamespace(hypotheses=()),
        run=SimpleNamespace(path="", progress=SimpleNamespace(came=points), is_measured=lambda _: False),
        book=SimpleNamespace(symptoms={"loss-plateau": RULE}),
    )


def changes(log: IncidentLog, state: State, now: float, **more: Any) -> list[str]:
    return [incident.change for incident in log.update(analysis(state, **more), now)]


def test_a_warning_that_is_gone_before_it_settled_is_never_told() -> None:
    log = IncidentLog(None, settle=1.0)
    assert changes(log, "present", 0.0) == []
    assert changes(log, "resolved", 0.5) == []
    assert not log.due(9.0)
    assert changes(log, "present", 10.0, step=20) == []


def test_a_warning_that_lasts_is_told_once() -> None:
    log = IncidentLog(None, settle=1.0)
    assert changes(log, "present", 0.0) == []
    assert log.due(1.0)
    assert changes(log, "present", 1.0) == ["opened"]
    assert changes(log, "present", 2.0) == []


def test_the_end_of_a_run_does_not_wait() -> None:
    log = IncidentLog(None, settle=1.0)
    found = log.update(analysis("present"), 0.0, closed=True)
    assert [incident.change for incident in found] == ["opened"]


def test_critical_is_told_at_once() -> None:
    assert changes(IncidentLog(None, settle=1.0), "present", 0.0, severity="critical") == ["opened"]


def test_information_opens_nothing() -> None:
    assert changes(IncidentLog(None), "present", 0.0, severity="info") == []


def test_it_changes_and_resolves_and_what_cannot_be_judged_is_not_over() -> None:
    log = IncidentLog(None)
    assert changes(log, "present", 0.0) == ["opened"]
    assert changes(log, "not_evaluated", 1.0) == []
    assert changes(log, "present", 2.0, severity="critical") == ["changed"]
    assert changes(log, "absent", 3.0, points=9) == []
    assert changes(log, "absent", 4.0, points=17) == ["resolved"]


def test_it_is_over_only_after_twice_the_points_that_open_it() -> None:
    log = IncidentLog(None)
    assert changes(log, "present", 0.0, points=10) == ["opened"]
    assert changes(log, "absent", 1.0, points=12) == []
    assert changes(log, "absent", 2.0, points=19) == []
    assert changes(log, "present", 3.0, points=20) == []
    assert changes(log, "absent", 4.0, points=21) == []
    assert changes(log, "absent", 5.0, points=28) == []
    assert changes(log, "absent", 6.0, points=29) == ["resolved"]


def test_each_return_doubles_the_points_that_it_must_be_gone() -> None:
    log = IncidentLog(None)
    needed = []
    for _ in range(3):
        assert changes(log, "present", 0.0) in (["opened"], ["reopened"])
        assert changes(log, "absent", 0.0) == []
        needed.append(next(n for n in range(99) if changes(log, "absent", 0.0, points=n) == ["resolved"]))
    assert needed == [8, 16, 32]


def test_in_a_long_run_it_must_be_gone_for_a_third_of_its_points() -> None:
    log = IncidentLog(None)
    assert changes(log, "present", 0.0, points=900) == ["opened"]
    assert changes(log, "absent", 1.0, points=900) == []
    assert changes(log, "absent", 2.0, points=1199) == []
    assert changes(log, "absent", 3.0, points=1200) == ["resolved"]


def test_the_end_of_a_run_closes_what_is_gone() -> None:
    log = IncidentLog(None)
    changes(log, "present", 0.0)
    assert [one.change for one in log.update(analysis("absent"), 1.0, closed=True)] == ["resolved"]


def test_a_critical_judgement_that_wavers_waits_and_one_with_a_new_beginning_does_not() -> None:
    log = IncidentLog(None, settle=1.0)
    assert changes(log, "present", 0.0, severity="critical") == ["opened"]
    assert changes(log, "absent", 0.5) == []
    assert changes(log, "absent", 1.0, points=8) == ["resolved"]
    assert changes(log, "present", 2.0, severity="critical") == []
    assert changes(log, "absent", 2.5) == []
    assert changes(log, "present", 3.0, severity="critical", step=50) == ["reopened"]


def test_the_history_survives_torn_and_foreign_lines(tmp_path: Path) -> None:
    path = tmp_path / "incidents.jsonl"
    assert changes(IncidentLog(path), "present", 0.0) == ["opened"]
    with path.open("a") as file:
        file.write('{"other": 1}\n[]\n\0\n{"symptom": "loss-pl')
    assert [one.symptom for one in IncidentLog(path).open] == ["loss-plateau"]


@pytest.mark.parametrize("place", ["gone/incidents.jsonl", "."])
def test_a_history_that_cannot_be_written_stays_in_memory(tmp_path: Path, place: str) -> None:
    log = IncidentLog(tmp_path / place)
    assert changes(log, "present", 0.0) == ["opened"]
    assert [one.symptom for one in log.open] == ["loss-plateau"]


@pytest.mark.parametrize("rule", load().symptoms.values(), ids=lambda rule: rule.id)
def test_no_rule_is_open_and_closed_by_the_noise_of_one_point(rule: SymptomRule) -> None:
    """Checks have no threshold to leave: whatever opens an incident, it is over only after several points."""
    log, told = IncidentLog(None), []
    for points, state in enumerate(["present", "absent"] * 20):
        found = analysis(state, points=points)  # type: ignore[arg-type]
        found.symptoms = [replace(one, id=rule.id) for one in found.symptoms]
        found.book = SimpleNamespace(symptoms={rule.id: rule})
        told += [incident.change for incident in log.update(found, float(points))]
    assert told == ["opened"]


def test_what_the_clock_shows_is_over_after_ten_seconds_and_twice_as_many_each_time_it_came_back() -> None:
    rule = SimpleNamespace(
        when=When(silence=SilenceWhen(factor=1, floor=1)), needs=SimpleNamespace(facts=(), roles=())
    )
    log = IncidentLog(None)

    def told(state: State, now: float) -> list[str]:
        seen = analysis(state, severity="critical")
        seen.book.symptoms["loss-plateau"] = rule
        return [incident.change for incident in log.update(seen, now)]

    assert told("present", 0.0) == ["opened"]
    assert [told("absent", second) for second in (10.0, 19.0, 20.0)] == [[], [], ["resolved"]]
    assert told("present", 30.0) == ["reopened"]
    assert [told("absent", second) for second in (40.0, 50.0, 60.0)] == [[], [], ["resolved"]]
