from __future__ import annotations

from msgspec.structs import replace

from hrmdoc.rulebook import When

LEVEL = When(detector="level", role="train.loss", enter=1.0, patience=3)
NESTED = When(
    all=(When(any=(LEVEL, When(check="precision == 'fp16'"))), When(absent=replace(LEVEL, role="grad_norm")))
)


def _levels(when: When) -> list[object]:
    return [one.enter for one in when.walk() if one.detector]


def test_a_condition_without_detectors_stays_as_it_is() -> None:
    check = When(check="seen('loss-spike')")
    assert check.with_detectors(lambda one: replace(one, enter=2.0)) == check


def test_detectors_are_changed_however_deep_they_stand_and_nothing_else_is() -> None:
    changed = NESTED.with_detectors(lambda one: replace(one, enter=2.0))
    assert _levels(changed) == [2.0, 2.0]
    assert changed.with_detectors(lambda one: replace(one, enter=1.0)) == NESTED


def test_a_condition_is_walked_from_the_outside_in() -> None:
    assert [one.form() for one in NESTED.walk()] == ["all", "any", "detector", "check", "absent", "detector"]


def test_conditions_are_checks_alone_where_no_part_of_them_watches_a_metric_or_a_log() -> None:
    check = When(check="precision == 'fp16'")
    assert When(any=(check, When(absent=When(all=(check, check))))).only_checks
    assert not NESTED.only_checks
