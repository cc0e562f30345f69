"""Reports of watchdogs: when do two ranks stand at different collectives?"""

from __future__ import annotations

from hrmdoc.examination.desync import DesyncWatch


def verdicts(*reports: tuple[int | None, dict[str, object]]) -> list[bool]:
    watch = DesyncWatch()
    return [watch.take(rank, groups) for rank, groups in reports]


def test_a_report_without_a_rank_or_a_number_says_nothing() -> None:
    assert (
        verdicts((None, {"sequence": 5}), (1, {"op": "ALLREDUCE"}), (2, {"sequence": "five"})) == [False] * 3
    )


def test_one_rank_alone_cannot_disagree() -> None:
    assert verdicts((0, {"sequence": 5}), (0, {"sequence": 500})) == [False, False]


def test_collectives_of_one_queue_are_not_apart() -> None:
    assert verdicts((0, {"sequence": 811}), (1, {"sequence": 803})) == [False, False]


def test_collectives_further_apart_than_a_queue_are() -> None:
    assert verdicts((0, {"sequence": 812}), (1, {"sequence": 803})) == [False, True]


def test_ranges_that_overlap_are_not_apart() -> None:
    reports = [(0, {"sequence": 100}), (0, {"sequence": 200}), (1, {"sequence": 150})]
    assert verdicts(*reports) == [False, False, False]


def test_the_same_number_with_another_operation_or_size_is_a_contradiction() -> None:
    first = {"sequence": 8, "op": "ALLREDUCE", "elements_in": 12}
    assert verdicts((0, first), (1, {**first, "op": "BROADCAST"})) == [False, True]
    assert verdicts((0, first), (1, {**first, "elements_in": 13})) == [False, True]


def test_what_one_side_does_not_say_is_no_contradiction() -> None:
    assert verdicts((0, {"sequence": 8, "op": "ALLREDUCE"}), (1, {"sequence": 8})) == [False, False]


def test_the_rank_in_the_line_wins_over_that_of_the_record() -> None:
    assert verdicts((0, {"sequence": 8, "on_rank": 3}), (3, {"sequence": 800})) == [False, False]
