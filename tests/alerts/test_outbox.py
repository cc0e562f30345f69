"""Nothing that was queued is lost, and nothing is sent twice; by an invented clock."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from hrmdoc.alerts.backoff import CEILING_S, Failing, next_try
from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import KEEP_S, Answer, Outbox
from hrmdoc.locks import acquire
from hrmdoc.routes import Route
from tests.alerts.conftest import NAN

START = 1_700_000_000.0
ROUTE = Route("webhook", "pager", url="http://a")


def message(name: str, key: str = "", at: float = START) -> Message:
    return Message(name, key or name, "firing", "/runs/a", "node-1", "/runs/a", at, at, (NAN,))


class Target:
    """A target that answers 503 until some time, and remembers what it took."""

    def __init__(self, down_until: float = 0.0) -> None:
        self.down_until, self.now = down_until, START
        self.took: list[str] = []
        self.asked = 0

    def __call__(self, one: Message) -> Answer:
        self.asked += 1
        if self.now < self.down_until:
            return Answer("HTTP 503")
        self.took.append(one.id)
        return Answer()

    def run(self, outbox: Outbox, until: float, step: float = 0.5) -> None:
        """Lets the time pass."""
        while self.now < until:
            outbox.send_due(self.now, self)
            self.now += step


def test_ten_minutes_of_503_and_a_restart_lose_nothing_and_send_nothing_twice(tmp_path: Path) -> None:
    target = Target(down_until=START + 600)
    first = Outbox(tmp_path / "q", ROUTE)
    for number in range(5):
        first.put(message(f"m{number}", at=START + number))
    target.run(first, START + 300)
    assert target.took == []
    second = Outbox(tmp_path / "q", ROUTE)
    second.put(message("m5", at=START + 301))
    second.put(message("m2", at=START + 2))
    target.run(second, START + 600 + 2 * CEILING_S)
    assert target.took == ["m0", "m1", "m2", "m3", "m4", "m5"]
    assert target.asked < 100
    assert second.waiting() == []
    third = Outbox(tmp_path / "q", ROUTE)
    third.put(message("m5", at=START + 301))
    target.run(third, target.now + 10)
    assert len(target.took) == 6


def test_what_is_said_of_one_group_stays_in_order_and_one_that_is_refused_holds_up_no_other(
    tmp_path: Path,
) -> None:
    outbox, took = Outbox(tmp_path / "q", ROUTE), []

    def deliver(one: Message) -> Answer:
        if one.id == "begin":
            return Answer("HTTP 500")
        took.append(one.id)
        return Answer()

    for number, (name, key) in enumerate([("begin", "k"), ("end", "k"), ("other", "o")]):
        outbox.put(message(name, key, START + number))
    assert not outbox.send_due(START + 5, deliver)
    assert took == ["other"]
    assert [one.id for _, one in outbox.waiting()] == ["begin", "end"]


def test_what_a_target_will_never_take_is_given_up_and_can_be_tried_again(tmp_path: Path) -> None:
    said: list[str] = []
    outbox = Outbox(tmp_path / "q", ROUTE, said.append)
    outbox.put(message("m"))
    outbox.send_due(START, lambda _: Answer("HTTP 400: invalid event", lasting=True))
    assert (outbox.waiting(), len(outbox.given_up())) == ([], 1)
    assert "given up" in said[0]
    assert outbox.retry() == 1
    target = Target()
    outbox.send_due(START, target)
    assert target.took == ["m"]


def test_a_message_is_given_up_after_a_week(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "q", ROUTE)
    outbox.put(message("m"))
    outbox.send_due(START + KEEP_S - 1, lambda _: Answer("down"))
    assert len(outbox.waiting()) == 1
    outbox.send_due(START + KEEP_S + 1, lambda _: Answer("down"), at_once=True)
    assert (outbox.waiting(), len(outbox.given_up())) == ([], 1)


def test_of_two_processes_one_sends_at_a_time(tmp_path: Path) -> None:
    outbox, target = Outbox(tmp_path / "q", ROUTE), Target()
    outbox.put(message("m"))
    other = acquire(tmp_path / "q" / "sending.lock")
    assert other is not None
    assert not outbox.send_due(START, target)
    assert target.took == []
    other.release()
    assert outbox.send_due(START, target)
    assert target.took == ["m"]


def test_a_process_that_is_killed_after_the_answer_does_not_send_again(tmp_path: Path) -> None:
    outbox, target = Outbox(tmp_path / "q", ROUTE), Target()
    outbox.put(message("m"))
    (kept,) = (tmp_path / "q" / "queue").iterdir()
    blob = kept.read_bytes()
    outbox.send_due(START, target)
    kept.write_bytes(blob)  # as if it had not come to removing it
    again = Outbox(tmp_path / "q", ROUTE)
    again.send_due(START, target)
    assert (target.took, again.waiting()) == (["m"], [])


def test_quiet_hours_hold_what_is_queued(tmp_path: Path) -> None:
    night = msgspec.structs.replace(
        ROUTE, quiet=("00:00-23:59",), zone="UTC", quiet_minimum="critical", minimum="info"
    )
    outbox, target = Outbox(tmp_path / "q", night), Target()
    mild = msgspec.structs.replace(
        message("mild"), incidents=(msgspec.convert({**_plain(), "severity": "warning"}, type(NAN)),)
    )
    outbox.put(mild)
    outbox.put(message("bad"))
    outbox.send_due(START, target)
    assert target.took == ["bad"]


def _plain() -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(NAN)
    return found


def test_where_the_disk_takes_nothing_messages_are_sent_from_memory(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("a file where the folder should be")
    outbox, target = Outbox(tmp_path / "q", ROUTE), Target()
    outbox.put(message("m"))
    assert outbox.send_due(START, target)
    assert outbox.send_due(START, target)
    assert target.took == ["m"]


def test_foreign_and_torn_files_in_the_queue_and_links_are_passed_over(tmp_path: Path) -> None:
    outbox, target = Outbox(tmp_path / "q", ROUTE), Target()
    outbox.put(message("m"))
    queue = tmp_path / "q" / "queue"
    (kept,) = queue.iterdir()
    (queue / "0-torn.json").write_bytes(kept.read_bytes()[:50])
    (queue / "0-other.json").write_text(json.dumps({"some": "thing"}))
    secret = tmp_path / "elsewhere.json"
    secret.write_bytes(kept.read_bytes().replace(b'"m"', b'"x"'))
    os.symlink(secret, queue / "0-link.json")
    os.mkfifo(queue / "0-pipe.json")
    outbox.send_due(START, target)
    assert target.took == ["m"]


def test_a_queue_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "q")
    Outbox(tmp_path / "q", ROUTE).put(message("m"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nobody_else_may_read_the_queue(tmp_path: Path) -> None:
    Outbox(tmp_path / "q", ROUTE).put(message("m"))
    assert (tmp_path / "q").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("count", [1, 2, 8, 1000])
def test_pauses_double_up_to_a_ceiling_and_a_target_may_ask_for_longer(count: int) -> None:
    pause = next_try(count, START) - START
    assert min(CEILING_S, 2.0**count) / 2 <= pause <= min(CEILING_S, 2.0**count)
    assert next_try(count, START, 600.0) == START + 600
    assert next_try(count, START, 1e9) == START + 3600


def test_a_clock_that_was_set_back_prolongs_no_pause() -> None:
    failing = Failing(3, "down", START, START + 60)
    assert (failing.rests(START + 30), failing.rests(START + 60), failing.rests(START - 9)) == (
        True,
        False,
        False,
    )
