"""Watchers share runs out: every share has one watcher at most, and a dead one's are taken over."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from hrmdoc.live.many.leases import EXPIRES_S, SHARES, Leases, share_of


class Clock:
    """A clock that the test moves; each watcher has its own, which agree on nothing."""

    def __init__(self, time: float = 0.0) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time


def passed(seconds: float, *watchers: Leases) -> None:
    """So much time passes for these, who go on meanwhile."""
    for _ in range(round(seconds)):
        for one in watchers:
            one._clock.time += 1.0  # type: ignore[attr-defined]
            one.beat()


def test_one_watcher_has_everything(tmp_path: Path) -> None:
    assert Leases(tmp_path, Clock()).mine == set(range(SHARES))


def test_a_second_gets_a_part_and_no_share_has_two(tmp_path: Path) -> None:
    first, second = Leases(tmp_path, Clock()), Leases(tmp_path, Clock(1e6))
    assert not second.mine
    for _ in range(3):
        passed(1, first)
        assert not first.mine & second.mine
        passed(1, second)
        assert not first.mine & second.mine
    assert first.mine | second.mine == set(range(SHARES))
    assert min(len(first.mine), len(second.mine)) > SHARES / 8


def test_what_a_watcher_gives_back_is_taken_at_once(tmp_path: Path) -> None:
    first, second = Leases(tmp_path, Clock()), Leases(tmp_path, Clock())
    passed(3, first, second)
    second.close()
    passed(2, first)
    assert first.mine == set(range(SHARES))


def test_a_dead_watcher_s_shares_are_taken_over_once_its_sign_stood_still_and_not_before(
    tmp_path: Path,
) -> None:
    first, second = Leases(tmp_path, Clock()), Leases(tmp_path, Clock())
    passed(3, first, second)
    before = set(first.mine)
    passed(EXPIRES_S - 2, first)
    assert first.mine == before
    passed(4, first)
    assert first.mine == set(range(SHARES))


def test_one_of_two_takes_over_from_a_third(tmp_path: Path) -> None:
    watchers = [Leases(tmp_path, Clock()) for _ in range(3)]
    passed(4, *watchers)
    first, second, dead = watchers
    passed(EXPIRES_S + 3, first, second)
    assert first.mine | second.mine == set(range(SHARES))
    assert not first.mine & second.mine
    passed(1, dead)  # it was only stopped
    assert not dead.mine & (first.mine | second.mine)


def test_a_watcher_that_was_stopped_keeps_what_nobody_took_and_no_more(tmp_path: Path) -> None:
    first = Leases(tmp_path, Clock())
    first._clock.time += 5 * EXPIRES_S  # type: ignore[attr-defined]
    assert first.stale
    first.beat()
    assert first.mine == set(range(SHARES))
    second = Leases(tmp_path, Clock())
    passed(EXPIRES_S + 3, second)
    assert second.mine == set(range(SHARES))
    first._clock.time += 5 * EXPIRES_S  # type: ignore[attr-defined]
    first.beat()
    assert not first.mine & second.mine


def test_a_lease_without_a_name_is_free_after_a_while(tmp_path: Path) -> None:
    (tmp_path / "shares").mkdir()
    (tmp_path / "shares" / "07.1").touch()
    (tmp_path / "shares" / "no lease").touch()
    watcher = Leases(tmp_path, Clock())
    assert watcher.mine == set(range(SHARES)) - {7}
    passed(EXPIRES_S + 1, watcher)
    assert 7 in watcher.mine


def test_old_leases_do_not_pile_up(tmp_path: Path) -> None:
    for _ in range(12):
        watcher = Leases(tmp_path, Clock())
        watcher.close()
    assert len(list((tmp_path / "shares").iterdir())) <= 10 * SHARES
    assert not list((tmp_path / "members").iterdir())


@pytest.mark.parametrize("name", ["job-1", "team/job-2", "a\udcffb"])
def test_a_run_is_in_the_same_share_everywhere(name: str) -> None:
    assert share_of(name) == share_of(name)
    assert 0 <= share_of(name) < SHARES


def test_runs_spread_over_the_shares() -> None:
    assert len({share_of(f"job-{index}") for index in range(1000)}) == SHARES


def test_folders_planted_among_the_watchers_hold_no_file_open(tmp_path: Path) -> None:
    watcher = Leases(tmp_path, Clock())
    (tmp_path / "members" / "planted").mkdir()
    (tmp_path / "shares" / f"00.{10**6}").mkdir()
    before = psutil.Process().num_fds()
    passed(50, watcher)
    assert psutil.Process().num_fds() < before + 25, "threads of other tests may open a few"
