"""What the flight records of several ranks say when they are laid beside one another, to the letter."""

from __future__ import annotations

import pytest

from hrmdoc.examination import flight
from hrmdoc.record.records import Fact, Line
from hrmdoc.record.run import Run


def dump(rank: int, group: str = "0", **told: int | str) -> list[Fact]:
    return [Fact(f"fr.{rank}.{group}.{what}", value, "run", f"rank_{rank}") for what, value in told.items()]


def members(group: str, ranks: str) -> list[Fact]:
    return [Fact(f"fr.members.{group}", ranks, "run", "rank_0")]


def compared(*facts: list[Fact]) -> list[Line | Fact]:
    run = Run()
    run.extend(fact for one in facts for fact in one)
    return list(flight.compare(run))  # type: ignore[arg-type]


def waits(rank: int, group: str = "0", at: int = 7, **more: int | str) -> list[Fact]:
    return dump(rank, group, enqueued=at, completed=at - 1, waiting=at, **more)


def test_a_rank_that_never_came_is_named_with_what_the_others_wait_in() -> None:
    late = dump(1, enqueued=6, completed=5, waiting=-1)
    assert compared(waits(2, operation="all_reduce", place="a.py:3"), late, waits(0)) == [
        Line(
            "Flight recorder: rank 1 did not enter collective 7 (a collective) of group 0, in which rank 0 "
            "waits; the last that they completed is number 5",
            "rank_0",
            1,
            rank=0,
        ),
        Fact("fr.missing_ranks", "1", "run", "rank_0"),
        Fact("fr.collective", "a collective", "run", "rank_0"),
        Fact("fr.sequence", 7, "run", "rank_0"),
        Fact("fr.group", "0", "run", "rank_0"),
    ]  # fmt: skip


def test_the_first_collective_that_somebody_waits_in_counts_and_who_has_enqueued_it_is_there() -> None:
    here = dump(1, enqueued=7, completed=5, waiting=-1)
    assert compared(waits(0), here) == []
    ahead = waits(2, at=9)
    assert compared(waits(0), here, ahead) == []
    behind = dump(1, enqueued=8, completed=8, waiting=-1)
    assert compared(waits(0, at=9), behind)[1] == Fact("fr.missing_ranks", "1", "run", "rank_0")


def test_of_absent_ranks_the_furthest_is_told_and_those_without_a_dump_are_named() -> None:
    found = compared(
        members("0", "0,1,2,3"),
        waits(0),
        dump(1, enqueued=3, completed=2, waiting=-1),
        dump(2, enqueued=3, completed=3, waiting=-1),
    )
    assert isinstance(found[0], Line)
    assert found[0].text.endswith("rank 0 waits; the last that they completed is number 3; no dump of rank 3")
    nothing = compared(members("0", "0,1"), waits(0))[0]
    assert isinstance(nothing, Line)
    assert nothing.text.endswith("rank 0 waits; no dump of rank 1")
    never = compared(waits(0), dump(1, enqueued=-1, completed=-1, waiting=-1))[0]
    assert isinstance(never, Line)
    assert never.text.endswith("rank 0 waits")


@pytest.mark.parametrize(("count", "more"), [(16, ""), (17, ", ...")])
def test_sixteen_absent_ranks_are_shown(count: int, more: str) -> None:
    ranks = ",".join(str(rank) for rank in range(count + 1))
    found = compared(members("0", ranks), waits(0))
    shown = ", ".join(str(rank) for rank in range(1, 17))
    assert found[1] == Fact("fr.missing_ranks", shown + more, "run", "rank_0")
    assert isinstance(found[0], Line)
    assert found[0].text.endswith(f"; no dump of rank {shown}")


def test_ranks_in_different_collectives_are_told_with_both_and_their_sizes() -> None:
    assert compared(
        waits(1, operation="broadcast", sizes="4"),
        waits(0, operation="all_reduce", sizes="8"),
        waits(2, operation="all_reduce", sizes="8"),
    ) == [
        Line(
            "Flight recorder: ranks 0 and 1 issue different collectives as number 7 of group 0: all_reduce "
            "[8] against broadcast [4]",
            "rank_0",
            1,
            rank=0,
        ),
        Fact("fr.sequence", 7, "run", "rank_0"),
        Fact("fr.group", "0", "run", "rank_0"),
    ]  # fmt: skip
    sizes = compared(waits(0, operation="gather", sizes="4"), waits(1, operation="gather", sizes="8"))
    assert isinstance(sizes[0], Line)
    assert sizes[0].text.endswith("gather [4] against gather [8]")


def test_who_waits_further_on_is_not_compared() -> None:
    ahead = dump(1, enqueued=9, completed=8, waiting=9, operation="broadcast")
    assert compared(waits(0, operation="all_reduce"), ahead) == []


def test_the_first_group_that_is_apart_speaks() -> None:
    calm, other = [*waits(0, "a"), *waits(1, "a")], [*waits(0, "c"), *dump(1, "c", enqueued=1)]
    apart = [*waits(0, "b"), *dump(1, "b", enqueued=1)]
    assert compared(other, apart, calm)[-1] == Fact("fr.group", "b", "run", "rank_0")
    assert compared(calm) == []
    assert compared([]) == []


def test_a_wait_for_the_collective_of_number_0_is_one() -> None:
    assert compared(waits(0, at=0), dump(1, enqueued=-1))[3] == Fact("fr.sequence", 0, "run", "rank_0")


def test_facts_of_other_scopes_and_numbers_that_are_words_are_no_dumps() -> None:
    spelled = dump(1, enqueued="many", waiting="long")
    assert compared(waits(0), spelled)[1] == Fact("fr.missing_ranks", "1", "run", "rank_0")
    config = [Fact("fr.1.0.enqueued", 1, "config"), Fact("fr.note", "x", "run"), Fact("fr.1.0.x", 0.5, "run")]
    assert compared(waits(0), config) == []
    dotted = [*waits(0, "pg.1"), *dump(1, "pg.1", enqueued=1)]
    assert compared(dotted)[-1] == Fact("fr.group", "pg.1", "run", "rank_0")
