"""Which rank failed first by their last words, at the bounds of clocks, crowds and lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc.examination import ranks
from hrmdoc.examination.ranks import SKEW
from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.record.records import Event, Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Signature

OWN, LOST = "KeyError: 'x'", "Connection closed by peer"
ROOT = Signature("own", "s", "x", ("xxxxx",), "x")
CASCADE = Signature("lost", "s", "x", ("xxxxx",), "x", role="cascade")


def failed(rank: int, detail: str, time: float = math.nan, file: str = "") -> Event:
    return Event("exception", file or f"{rank}.log", 5, None, time, rank, detail)


def points(
    rank: int, count: int = 3, every: int = 10, value: float = 1.0, role: str = "train.loss"
) -> Points:
    at = np.arange(count) * every
    return Points(
        role, at, np.full(count, value), np.full(count, math.nan), f"{rank}.log", at + 50, rank=rank
    )


def run_of(*records: Any) -> Run:
    run = Run(role_of=RoleGuess)
    run.extend(records)
    return run


def facts(run: Run, matches: Any = None, launchers: tuple[str, ...] = ()) -> dict[str, Fact]:
    return {fact.key: fact for fact in ranks.facts(run, matches or {}, launchers)}


def first(run: Run, matches: Any = None) -> object:
    told = facts(run, matches).get("ranks.first_failed")
    return told and told.value


@pytest.mark.parametrize(("apart", "named"), [(SKEW, 3), (SKEW + 1, 0)])
def test_beyond_the_skew_of_clocks_the_time_decides_who_was_first(apart: float, named: int) -> None:
    assert first(run_of(failed(0, LOST, 1000.0), failed(3, OWN, 1000.0 + apart))) == named


def test_an_error_without_a_time_is_near_all_others_and_the_lowest_of_equals_is_named() -> None:
    assert first(run_of(failed(0, LOST, 1000.0), failed(3, OWN))) == 3
    assert first(run_of(failed(4, OWN), failed(2, OWN))) == 2
    assert first(run_of(failed(4, OWN, 10.0), failed(2, OWN, 11.0))) == 4
    assert first(run_of(failed(4, LOST, 10.0))) == 4, "alone it is the first"
    assert first(run_of(failed(4, LOST, 10.0), failed(2, LOST, 11.0))) is None


def test_a_rank_is_known_by_its_own_error_before_one_that_others_brought_about() -> None:
    run = run_of(failed(0, LOST, 10.0), failed(0, OWN, 20.0), failed(0, OWN, 30.0))
    words = ranks.last_words(run, {})
    assert words == {0: ranks.LastWord(0, False, 20.0, "0.log", 5)}


def test_lines_that_end_a_rank_count_as_its_words() -> None:
    lines = [
        (Line("x", "a.log", 3, 10.0, rank=1), SignatureMatch(ROOT)),
        (Line("x", "a.log", 4, 9.0, rank=2), SignatureMatch(CASCADE)),
        (Line("broken pipe", "a.log", 5, 9.0, rank=4), SignatureMatch(ROOT)),
        (Line("x", "a.log", 6, 1.0), SignatureMatch(ROOT)),
    ]
    words = ranks.last_words(Run(), {"s": lines})
    assert {rank: word.cascade for rank, word in words.items()} == {1: False, 2: True, 4: True}
    assert (words[1].file, words[1].line, words[1].time) == ("a.log", 3, 10.0)
    harmless = Signature("no", "s", "x", ("xxxxx",), "x", fatal=False)
    note = Signature("note", "s", "x", ("xxxxx",), "x", role="note")
    others = [(one, SignatureMatch(other)) for (one, _), other in zip(lines, (harmless, note), strict=False)]
    assert ranks.last_words(Run(), {"s": others}) == {}


def test_an_exception_that_a_line_reports_too_is_what_the_line_is() -> None:
    line = Line("x", "1.log", 5, rank=1)
    run = run_of(failed(1, OWN))
    assert ranks.last_words(run, {"s": [(line, SignatureMatch(CASCADE))]})[1].cascade
    assert not ranks.last_words(run, {})[1].cascade


def test_facts_of_ranks_stand_where_their_last_word_or_their_last_point_stands() -> None:
    told = facts(run_of(failed(0, OWN), failed(1, LOST)))
    assert told["ranks.first_failed"] == Fact("ranks.first_failed", 0, "run", "0.log", 5)
    silent = facts(run_of(points(2), failed(0, LOST), failed(1, LOST)))
    assert silent["ranks.first_failed"] == Fact("ranks.first_failed", 2, "run", "2.log", 70)
    assert silent["ranks.silent"] == Fact("ranks.silent", "2", "run", "2.log", 70)
    assert silent["ranks.bereft"] == Fact("ranks.bereft", 2, "run")
    lone = facts(run_of(Line("x", "2.log", 1, rank=2), failed(0, LOST), failed(1, LOST)))
    assert lone["ranks.silent"] == Fact("ranks.silent", "2", "run", "", None)


def test_the_silent_are_told_as_long_as_they_are_no_more_than_the_others() -> None:
    assert ranks.silent_ranks(run_of(points(2), points(3), *map(lost, (0, 1))), words_of(0, 1), {}) == [2, 3]
    crowd = run_of(points(2), points(3), points(4), *map(lost, (0, 1)))
    assert ranks.silent_ranks(crowd, words_of(0, 1), {}) == []
    assert ranks.silent_ranks(run_of(points(2)), {}, {}) == []


def lost(rank: int) -> Event:
    return failed(rank, LOST)


def words_of(*numbers: int, file: str = "") -> dict[int, ranks.LastWord]:
    return {n: ranks.LastWord(n, True, math.nan, file or f"{n}.log", 5) for n in numbers}


def test_one_log_of_all_ranks_tells_of_those_up_to_the_highest_or_the_size_of_the_world() -> None:
    together = words_of(0, 1, 3, file="all.log")
    assert ranks.silent_ranks(run_of(), together, {}) == [2]
    assert ranks.silent_ranks(run_of(Fact("world_size", 5)), together, {}) == [2, 4]
    assert ranks.silent_ranks(run_of(points(5)), together, {}) == [2, 4, 5]
    assert ranks.silent_ranks(run_of(), words_of(0, 1, 3), {}) == []
    assert ranks.silent_ranks(run_of(), words_of(3, file="all.log"), {}) == []
    assert ranks.silent_ranks(run_of(Fact("world_size", 65_537)), together, {}) == [2]


def test_an_exception_of_a_launcher_is_that_of_no_rank() -> None:
    run = run_of(points(2), lost(0), lost(1), Event("exception", "run.log", 9, detail=OWN))
    assert "ranks.silent" not in facts(run)
    launched = {"launch": [(Line("x", "run.log", 9), SignatureMatch(Signature("l", "launch", "x", ("x",), "x", fatal=False)))]}  # fmt: skip # noqa: E501
    assert facts(run, launched, ("launch",))["ranks.silent"].value == "2"
    assert "ranks.silent" not in facts(run, launched)


def named(**groups: int) -> tuple[Line, SignatureMatch]:
    plain = Signature("l", "s", "x", ("xxxxx",), "x", fatal=False)
    return Line("x", "a.log", 1), SignatureMatch(plain, dict(groups))


def test_a_launcher_names_the_last_of_a_summary_or_the_first_that_it_saw_fail() -> None:
    assert first(Run(), {"s": [named(failed_rank=3), named(failed_rank=5)]}) == 3
    assert first(Run(), {"s": [named(summed_rank=3), named(summed_rank=5), named(failed_rank=7)]}) == 5
    two = run_of(points(2), points(3), lost(0), lost(1))
    assert first(two, {"s": [named(failed_rank=3)]}) == 3, "one of the silent"
    assert facts(two, {"s": [named(failed_rank=3)]})["ranks.silent"].value == "3"
    assert first(run_of(failed(0, OWN)), {"s": [named(failed_rank=3)]}) == 0, "who has an error of his own"
    assert first(run_of(lost(0), lost(3)), {"s": [named(failed_rank=3)]}) is None


@pytest.mark.parametrize(
    ("size", "missing"),
    [(2, None), (3, "2"), (6, "2-5"), ("many", None), (65_536, "2-65535"), (65_537, None)],
)
def test_ranks_that_wrote_nothing_are_missing_of_a_world_of_a_known_size(
    size: Any, missing: str | None
) -> None:
    told = facts(run_of(points(0), points(1), Fact("world_size", size))).get("ranks.missing")
    assert (told and told.value) == missing
    assert "ranks.missing" not in facts(run_of(points(0), Fact("world_size", 4)))


def test_neighbours_are_listed_as_ranges_up_to_sixty_four() -> None:
    several = run_of(points(0), points(2), points(3), points(7), Fact("world_size", 10))
    assert facts(several)["ranks.missing"].value == "1, 4-6, 8-9"
    for count, end in ((64, "127"), (65, "127, ...")):
        odd = run_of(*(points(2 * rank) for rank in range(count)), Fact("world_size", 2 * count))
        assert str(facts(odd)["ranks.missing"].value).endswith(end)


def test_the_level_of_a_rank_is_the_median_of_its_last_fifty_from_five_on() -> None:
    values = np.array([*[9.0] * 26, *[3.0] * 25])
    at = np.arange(51)
    half = Points("train.loss", at, values, np.full(51, math.nan), "2.log", rank=2)
    run = run_of(points(0, 5, value=2.0), points(1, 4), half)
    assert ranks.levels(run, "train.loss") == {0: 2.0, 2: 6.0}


@pytest.mark.parametrize(("last", "late"), [(8, []), (7, [1])])
def test_a_rank_is_behind_by_more_than_two_records(last: int, late: list[int]) -> None:
    assert ranks.behind(run_of(points(0, 11), points(1, last + 1))) == late
    assert ranks.behind(run_of(points(0, 11), points(1, 1))) == []
