"""Which actions a live run is offered, and in what words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hrmdoc.diagnosis.hypotheses import Evidence
from hrmdoc.live.offers import live_actions, worded
from hrmdoc.rulebook import Remedy, Verify
from tests.diagnosis.small_book import present


def remedy(name: str, kind: str = "action", gone: tuple[str, ...] = (), **more: Any) -> Remedy:
    return Remedy(id=name, title=name, kind=kind, risk="safe", why="so", verify=Verify(gone=gone), **more)


STOP, PATCH = remedy("stop"), remedy("patch", "patch")
AID = remedy("aid", gone=("other", "spike"))
FIRST = remedy("first", gone=("spike",), first_aid=True)


def offered(*symptoms: Any, probability: float = 0.5, benign: bool = False, least: float = 0.0) -> list[Any]:
    cause = SimpleNamespace(
        cause="rate",
        benign=benign,
        probability=probability,
        for_=(Evidence("spike", 1.0, ""),),
        remedies=("patch", "stop"),
    )
    analysis: Any = SimpleNamespace(
        book=SimpleNamespace(remedies={one.id: one for one in (STOP, PATCH, AID, FIRST)}),
        diagnosis=SimpleNamespace(hypotheses=[cause]),
        symptoms=symptoms,
        severity=lambda one: one.severity,
    )
    return [(one.id, reason) for one, reason in live_actions(analysis, least)]


def test_actions_against_likely_causes_come_before_first_aid() -> None:
    assert offered(present("spike", severity="critical")) == [
        ("stop", "rate"),
        ("aid", "spike"),
        ("first", "spike"),
    ]


def test_a_warning_has_first_aid_only_where_the_remedy_says_so_and_information_none() -> None:
    assert offered(present("spike")) == [("stop", "rate"), ("first", "spike")]
    assert offered(present("spike", severity="info")) == [("stop", "rate")]


def test_causes_that_are_benign_or_less_probable_than_asked_for_bring_none() -> None:
    mild = present("spike", severity="info")
    assert offered(mild, benign=True) == []
    assert offered(mild, least=0.5) == [("stop", "rate")]
    assert offered(mild, least=0.51) == []


def test_what_a_line_said_or_what_is_over_brings_no_action_about() -> None:
    assert offered(present("spike", severity="critical", values={"role": "root"})) == []
    assert offered(present("elsewhere", severity="critical")) == []
    assert offered() == []


def test_an_action_is_worded_with_its_numbers() -> None:
    assert worded({"action": "set_lr", "lr": 2e-5, "reason": "so"}) == "set_lr lr=2e-05"
    assert worded({"action": "stop"}) == "stop"
