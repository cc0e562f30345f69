"""One target and its thread: what another watch left, what an Alertmanager must hear again, who tells."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from hrmdoc.alerts.groups import Place
from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.alertmanager import LASTS_S, LEFT_S
from hrmdoc.alerts.worker import FORGET_S, RENEW_S, Worker
from hrmdoc.routes import Alerts, Route
from tests.alerts.conftest import NAN, SPIKE, over

PLACE = Place("/runs/a", "node-1", "/runs/a")


class Sent:
    """A worker by an invented clock, and what its target was told."""

    def __init__(self, folder: Path, target: str = "webhook", **route: object) -> None:
        (self.route,) = Alerts(route=(Route(target, url="http://a", **route),)).routes  # type: ignore[arg-type]
        self.now = 1_700_000_000.0
        self.took: list[Message] = []
        self.renewed: list[tuple[str, float]] = []
        self.answer = Answer()
        self.said: list[str] = []
        self.worker = Worker(
            self.route, folder, self._deliver, self._renew, self.said.append, lambda: self.now
        )
        self.worker.follow(Path("/runs/a"), PLACE)

    def _deliver(self, message: Message) -> Answer:
        if not self.answer.why:
            self.took.append(message)
        return self.answer

    def _renew(self, message: Message, lasts_s: float) -> Answer:
        self.renewed.append((message.severity, lasts_s))
        return Answer("nobody there")


def test_of_two_watches_of_a_run_one_tells_and_the_other_goes_on_when_it_has_ended(tmp_path: Path) -> None:
    first, second = Sent(tmp_path, wait_s=0), Sent(tmp_path, wait_s=0)
    for sent in (first, second):
        sent.worker.take([NAN])
        sent.worker.work()
    assert (len(first.took), len(second.took)) == (1, 0)
    second.worker.take([over(NAN)])
    first.worker.follow(Path("/runs/b"), PLACE)
    second.worker.work()
    assert [one.status for one in second.took] == ["resolved"]
    assert second.took[0].key == first.took[0].key


def test_what_was_to_wait_for_others_when_a_watch_was_killed_is_told_by_the_next_of_any_run(
    tmp_path: Path,
) -> None:
    killed = Sent(tmp_path)
    killed.worker.take([SPIKE])
    killed.worker.work()
    assert killed.took == []
    (ledger,) = killed.worker._ledgers.values()
    assert ledger._lock is not None
    ledger._lock.release()  # as the system does
    after = Sent(tmp_path)
    after.worker.follow(Path("/runs/other"), Place("/runs/other", "node-1", ""))
    after.worker.adopt()
    after.worker.work()
    assert [(one.run, one.incidents) for one in after.took] == [("/runs/a", (SPIKE,))]


def test_what_is_open_is_renewed_at_an_alertmanager_and_for_long_at_the_end(
    tmp_path: Path,
) -> None:
    sent = Sent(tmp_path, "alertmanager")
    sent.worker.take([NAN, SPIKE])
    sent.worker.work()
    assert (len(sent.took), sent.renewed) == (2, [])
    sent.worker.take([over(SPIKE)])
    sent.now += RENEW_S
    sent.worker.work()
    sent.worker.work()
    assert sent.renewed == [("critical", LASTS_S)]
    sent.worker.start()
    sent.worker.end()
    sent.worker.join(20)
    assert sent.renewed[1:] == [("critical", LEFT_S)]


def test_what_a_target_was_told_of_a_run_that_ended_sick_is_forgotten_in_the_end(tmp_path: Path) -> None:
    ended = Sent(tmp_path, wait_s=0)
    ended.worker.take([NAN])
    ended.worker.work()
    ended.worker.follow(Path("/runs/b"), PLACE)
    (kept,) = (tmp_path / "runs").glob("*.json")
    os.utime(kept, (ended.now - FORGET_S + 60,) * 2)
    ended.worker.adopt()
    assert kept.exists()
    os.utime(kept, (ended.now - FORGET_S - 60,) * 2)
    ended.worker.adopt()
    assert not kept.exists()


def test_a_fault_of_our_own_ends_no_thread_and_is_said_once(tmp_path: Path) -> None:
    sent = Sent(tmp_path, wait_s=0)
    put, faults = sent.worker.outbox.send_due, iter([True, True])

    def faulty(*words: Any, **more: Any) -> bool:
        if next(faults, False):
            raise ZeroDivisionError("token=hf_abcdefghijklmnopqrstuv")
        return put(*words, **more)

    sent.worker.outbox.send_due = faulty  # type: ignore[method-assign]
    sent.worker.take([NAN])
    sent.worker._surely(sent.worker.work)
    sent.worker._surely(sent.worker.work)
    sent.worker._surely(sent.worker.work)
    assert (len(sent.took), len(sent.said)) == (1, 1)
    assert "ZeroDivisionError" in sent.said[0]
    assert "hf_abc" not in sent.said[0]


def test_a_target_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    sent, hangs = Sent(tmp_path, wait_s=0), threading.Event()
    entered = threading.Event()

    def hang(_: Message) -> Answer:
        entered.set()
        hangs.wait(30)
        return Answer()

    sent.worker._deliver = hang
    sent.worker.take([NAN])
    sent.worker.start()
    assert entered.wait(20)
    sent.worker.take([SPIKE])  # returns though the target hangs
    sent.worker.end()
    sent.worker.join(0.05)
    assert [one.incidents[0] for _, one in sent.worker.outbox.waiting()] == [NAN]
    hangs.set()
    sent.worker.join(20)


def test_failing_and_working_again_is_said_once_each(tmp_path: Path) -> None:
    sent = Sent(tmp_path, wait_s=0)
    sent.answer = Answer("HTTP 503")
    sent.worker.take([NAN])
    for _ in range(5):
        sent.worker.work()
        sent.now += 200
    sent.answer = Answer()
    sent.worker.work()
    assert sent.said == ["webhook: HTTP 503; it is tried again", "webhook: works again"]
