"""What belongs together, and when it is told; by an invented clock."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from hrmdoc.alerts.groups import Group, Groups, Place
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Alerts, Route
from tests.alerts.conftest import NAN, SPIKE, over

PLACE = Place("/runs/a", "node-1", "/runs/a")
NOON = 1_700_049_600.0  # 2023-11-15 12:00 UTC


class Sent:
    """One route that is told of incidents at invented times."""

    def __init__(self, **route: object) -> None:
        settings = {"target": "webhook", "url": "http://a", "wait_s": 5.0, "window_s": 300.0} | route
        (self.route,) = Alerts(route=(msgspec.convert(settings, Route),)).routes
        self.groups = Groups(self.route, {})

    def at(
        self, second: float, *incidents: Incident, flush: bool = False
    ) -> list[tuple[str, str, list[str]]]:
        """Status, severity and symptoms of every message at that time."""
        for incident in incidents:
            self.groups.take(incident, PLACE, NOON + second)
        found = []
        for group, message in self.groups.due(NOON + second, PLACE, flush=flush):
            self.groups.mark(group, message)
            names = [one.symptom for one in message.incidents]
            found.append((message.status, message.severity, names))
        self.groups.prune()
        return found


def test_others_may_join_before_the_first_message_and_later_ones_wait_for_the_window() -> None:
    sent = Sent()
    assert sent.at(0, SPIKE) == []
    assert sent.at(4, replace(SPIKE, symptom="grad-spike")) == []
    assert sent.at(5) == [("firing", "warning", ["loss-spike", "grad-spike"])]
    assert sent.at(60, replace(SPIKE, symptom="lr-extreme")) == []
    assert sent.at(304) == []
    assert sent.at(305) == [("firing", "warning", ["loss-spike", "grad-spike", "lr-extreme"])]
    assert sent.at(1000) == []


def test_what_is_worse_does_not_wait_for_the_window() -> None:
    sent = Sent()
    sent.at(0, SPIKE)
    sent.at(5)
    assert sent.at(10, NAN) == []
    assert sent.at(15) == [("firing", "critical", ["loss-nonfinite", "loss-spike"])]


def test_incidents_of_another_cause_are_another_message_and_those_without_one_join_the_newest() -> None:
    sent = Sent(wait_s=0)
    rate = replace(NAN, cause="learning-rate-too-high", probability=0.7)
    data = replace(SPIKE, symptom="a", cause="bad-data-batch")
    assert [names for *_, names in sent.at(0, rate, data)] == [["loss-nonfinite"], ["a"]]
    assert sent.at(301, replace(SPIKE, symptom="b", cause="unknown", at=SPIKE.at + 301))[0][2] == ["b"]
    assert sent.at(302, replace(SPIKE, symptom="c", at=SPIKE.at + 302)) == []
    assert sent.at(700)[0][2] == ["b", "c"]


def test_what_no_cause_explains_waits_for_one_that_is_explained_in_the_same_storm() -> None:
    sent = Sent()
    sent.at(0, SPIKE)
    sent.at(1, replace(NAN, cause="bad-data-batch"))
    assert sent.at(5) == [("firing", "critical", ["loss-nonfinite", "loss-spike"])]


def test_the_end_is_told_once_all_of_a_group_is_over() -> None:
    sent = Sent(wait_s=0)
    sent.at(0, SPIKE, NAN)
    assert sent.at(10, over(NAN)) == []
    assert sent.at(20, over(SPIKE)) == [("resolved", "critical", ["loss-nonfinite", "loss-spike"])]
    assert sent.groups.groups == {}
    assert sent.at(30, over(SPIKE)) == []


def test_what_came_back_is_told_anew() -> None:
    sent = Sent(wait_s=0)
    sent.at(0, NAN)
    sent.at(10, over(NAN))
    assert sent.at(11, replace(NAN, change="reopened", at=NAN.at + 70)) == [
        ("firing", "critical", ["loss-nonfinite"])
    ]


@pytest.mark.parametrize(
    ("target", "messages"), [("webhook", ["firing", "resolved"]), ("apprise", ["resolved"])]
)
def test_what_came_and_went_before_it_was_told_is_told_all_the_same(target: str, messages: list[str]) -> None:
    sent = Sent(target=target)
    sent.at(0, NAN)
    sent.at(2, over(NAN))
    assert [status for status, *_ in sent.at(5)] == messages
    assert sent.groups.groups == {}


def test_the_end_of_what_nobody_was_told_of_is_not_told() -> None:
    sent = Sent(minimum="critical")
    assert sent.at(0, SPIKE) == []
    assert sent.at(9, over(SPIKE), flush=True) == []


def test_a_route_without_recovery_forgets_what_is_over() -> None:
    sent = Sent(wait_s=0, recovery=False)
    sent.at(0, NAN)
    assert sent.at(9, over(NAN)) == []
    assert sent.groups.groups == {}


def test_quiet_hours_hold_back_what_is_less_than_critical_until_they_end() -> None:
    sent = Sent(wait_s=0, quiet=["11:00-13:00"], zone="UTC")
    assert sent.at(0, replace(SPIKE, cause="bad-data-batch")) == []
    critical = sent.at(1, replace(NAN, cause="other"))
    assert critical == [("firing", "critical", ["loss-nonfinite"])]
    assert sent.at(3599) == []
    assert sent.at(3600) == [("firing", "warning", ["loss-spike"])]


@pytest.mark.parametrize(("hours", "quiet"), [("22:00-07:00", False), ("22:00-12:01", True)])
def test_quiet_hours_may_cross_midnight(hours: str, quiet: bool) -> None:
    assert (Sent(wait_s=0, quiet=[hours], zone="UTC").at(0, SPIKE) == []) is quiet


def test_an_end_of_the_watch_tells_at_once_what_waited_for_others() -> None:
    assert len(Sent().at(0, SPIKE, flush=True)) == 1


def test_a_clock_that_was_set_back_lets_nothing_wait_for_longer() -> None:
    sent = Sent()
    sent.at(0, SPIKE)
    assert len(sent.at(-86_400)) == 1


def test_a_change_of_severity_ends_one_alert_of_an_alertmanager_and_begins_another() -> None:
    sent = Sent(target="alertmanager", minimum="info")
    assert sent.at(0, SPIKE) == [("firing", "warning", ["loss-spike"])]
    found = sent.at(1, replace(SPIKE, change="changed", severity="critical"))
    assert sorted(found) == [("firing", "critical", ["loss-spike"]), ("resolved", "warning", ["loss-spike"])]


def test_what_is_known_already_is_no_news() -> None:
    sent = Sent(wait_s=0)
    sent.at(0, NAN)
    assert not sent.groups.take(NAN, PLACE, NOON + 1)
    kept = msgspec.json.decode(msgspec.json.encode(sent.groups.groups), type=dict[str, Group])
    again = Groups(sent.route, kept)
    assert not again.take(NAN, PLACE, NOON + 2)
    assert list(again.due(NOON + 1000, PLACE)) == []
