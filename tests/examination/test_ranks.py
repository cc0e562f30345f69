"""hrmdoc.examination.ranks and hrmdoc.examination.flight: what the records of several ranks tell together."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import hrmdoc
from hrmdoc.examination import flight, ranks
from hrmdoc.record.records import Event, Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess


def failed(rank: int, time: float, detail: str) -> Event:
    return Event("exception", f"rank{rank}.log", 1, None, time, rank, detail)


def run_with(*events: Event) -> Run:
    run = Run()
    run.extend(events)
    return run


def told(run: Run) -> dict[str, object]:
    return {fact.key: fact.value for fact in ranks.facts(run, {})}


def test_nothing_is_said_of_a_run_without_ranks() -> None:
    assert told(run_with(Event("exception", "a.log", 1, detail="boom"))) == {}


def test_a_closed_connection_is_no_first_failure_even_where_a_clock_is_ahead() -> None:
    run = run_with(
        failed(0, 1000.0, "RuntimeError: Connection closed by peer"),
        failed(3, 1002.0, "ValueError: empty labels"),
    )
    assert told(run)["ranks.first_failed"] == 3


def test_minutes_apart_the_time_decides() -> None:
    run = run_with(failed(0, 1000.0, "NCCL watchdog timeout"), failed(3, 1600.0, "ValueError: empty labels"))
    assert told(run)["ranks.first_failed"] == 0


def test_without_times_the_root_candidate_is_first() -> None:
    run = run_with(failed(0, math.nan, "Broken pipe"), failed(1, math.nan, "KeyError: 'x'"))
    assert told(run)["ranks.first_failed"] == 1


def losses(rank: int, last: int) -> Points:
    steps = np.arange(0, last + 1, 10, dtype=np.int64)
    return Points(
        "loss", steps, np.ones(len(steps)), np.full(len(steps), np.nan), f"rank{rank}.log", rank=rank
    )


def test_ranks_that_wrote_nothing_and_ranks_behind_are_named() -> None:
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    run.extend([losses(0, 100), losses(1, 90), losses(2, 40), Fact("world_size", 5)])
    assert told(run) == {"ranks.missing": "3-4", "ranks.behind": "2"}


def test_where_others_miss_a_peer_the_silent_rank_failed_first() -> None:
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    run.extend(losses(rank, 60) for rank in range(4))
    run.extend(failed(rank, math.nan, "RuntimeError: Connection closed by peer") for rank in (0, 1, 3))
    assert told(run) == {"ranks.first_failed": 2, "ranks.silent": "2", "ranks.bereft": 3}


def test_of_several_silent_ranks_none_is_the_first() -> None:
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    run.extend(losses(rank, 60) for rank in range(4))
    run.extend(failed(rank, math.nan, "RuntimeError: Connection closed by peer") for rank in (0, 1))
    assert told(run) == {"ranks.silent": "2-3", "ranks.bereft": 2}


def test_a_log_of_all_ranks_tells_of_those_that_wrote_nothing() -> None:
    lost = [
        Event("exception", "all.log", rank, None, math.nan, rank, "connection closed by peer")
        for rank in (0, 1, 2, 5, 6, 7)
    ]
    assert told(run_with(*lost)) == {"ranks.silent": "3-4", "ranks.bereft": 6}


def test_ranks_that_only_a_prefix_tells_are_counted(tmp_path: Path) -> None:
    lines = [f"[rank{rank}]: RuntimeError: Connection closed by peer [10.0.0.7]:1\n" for rank in (0, 1, 3)]
    (tmp_path / "all.log").write_text("".join(lines))
    fact = hrmdoc.analyze(tmp_path / "all.log").run.fact("ranks.silent")
    assert fact is not None
    assert fact.value == "2"


def test_a_silent_rank_is_not_blamed_where_another_has_an_error_of_its_own_or_an_exception_has_no_rank() -> (
    None
):
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    run.extend(losses(rank, 60) for rank in range(3))
    run.extend([failed(0, math.nan, "Connection closed by peer"), failed(1, math.nan, "KeyError: 'x'")])
    assert told(run) == {"ranks.first_failed": 1}
    other = Run(role_of=lambda _: RoleGuess("train.loss"))
    other.extend(losses(rank, 60) for rank in range(2))
    other.extend(
        [
            failed(0, math.nan, "Connection closed by peer"),
            Event("exception", "all.log", 9, detail="KeyError: 'x'"),
        ]
    )
    assert "ranks.silent" not in told(other)


def test_where_all_ranks_time_out_together_none_failed_first() -> None:
    assert (
        told(run_with(*(failed(rank, 1000.0 + rank, "timed out waiting for recv") for rank in range(4))))
        == {}
    )


LAUNCHER = """  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 4894)  (SIGTERM)
Root Cause (first observed failure):
  rank      : 2 (local_rank: 2)
  exitcode  : -9 (pid: 4896)  (SIGKILL)
"""


def test_a_launcher_names_the_first_last_and_srun_names_it_first(tmp_path: Path) -> None:
    (tmp_path / "torchrun.log").write_text(LAUNCHER)
    (tmp_path / "srun.log").write_text(
        "srun: error: gpu7: task 37: Killed\nsrun: error: gpu2: task 3: Exited with exit code 1\n"
    )
    first = {
        name: hrmdoc.analyze(tmp_path / name).run.fact("ranks.first_failed")
        for name in ("torchrun.log", "srun.log")
    }
    assert {name: fact and fact.value for name, fact in first.items()} == {"torchrun.log": 2, "srun.log": 37}


def dump(rank: int, **told: int | str) -> list[Fact]:
    return [Fact(f"fr.{rank}.0.{what}", value, "run", f"trace_rank_{rank}") for what, value in told.items()]


def compared(*facts: list[Fact]) -> tuple[list[str], dict[str, object]]:
    run = Run()
    run.extend(fact for one in facts for fact in one)
    found = list(flight.compare(run))
    return [r.text for r in found if isinstance(r, Line)], {
        r.key: r.value for r in found if isinstance(r, Fact)
    }


def test_ranks_that_wait_in_the_same_collective_are_not_apart() -> None:
    both = [
        dump(rank, enqueued=7, completed=6, waiting=7, operation="all_reduce", sizes="8") for rank in (0, 1)
    ]
    assert compared(*both) == ([], {})


def test_a_rank_that_issued_another_operation_at_the_same_number_is_named() -> None:
    lines, facts = compared(
        dump(0, enqueued=7, completed=6, waiting=7, operation="all_reduce", sizes="8"),
        dump(1, enqueued=7, completed=6, waiting=7, operation="broadcast", sizes="8"),
    )
    assert "ranks 0 and 1 issue different collectives as number 7" in lines[0]
    assert facts["fr.sequence"] == 7


def test_a_rank_without_a_dump_is_missing_when_the_group_counts_it() -> None:
    members = [Fact("fr.members.0", "0,1,2", "run", "trace_rank_0")]
    waiting = dump(0, enqueued=7, completed=6, waiting=7, operation="all_reduce", sizes="8")
    lines, facts = compared(
        members, waiting, dump(1, enqueued=7, completed=6, waiting=7, operation="all_reduce", sizes="8")
    )
    assert facts["fr.missing_ranks"] == "2"
    assert "no dump of rank 2" in lines[0]


def test_a_rank_is_behind_by_more_than_two_of_the_widest_records() -> None:
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    run.extend([losses(0, 100), losses(1, 80), losses(2, 79), losses(3, 0)])
    assert ranks.behind(run) == [2]
    alone = Run(role_of=lambda _: RoleGuess("train.loss"))
    alone.extend([losses(0, 100), losses(3, 0)])
    assert ranks.behind(alone) == []


def test_the_last_collective_that_absent_ranks_completed_is_told_of_those_with_a_dump() -> None:
    members = [Fact("fr.members.0", "0,1,2", "run", "trace_rank_0")]
    waiting = dump(0, enqueued=7, completed=6, waiting=7, operation="all_reduce", sizes="8", place="a.py:3")
    lines, facts = compared(members, waiting, dump(1, enqueued=4, completed=0, waiting=-1))
    assert lines == [
        "Flight recorder: rank 1, 2 did not enter collective 7 (all_reduce) of group 0, in which rank 0 "
        "waits a.py:3; the last that they completed is number 0; no dump of rank 2"
    ]
    assert facts == {
        "fr.missing_ranks": "1, 2",
        "fr.collective": "all_reduce",
        "fr.sequence": 7,
        "fr.group": "0",
    }
