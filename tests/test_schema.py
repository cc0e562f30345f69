from __future__ import annotations

from msgspec.structs import replace

from hrmdoc.examine import resolve, varied
from hrmdoc.rulebook import Variant, When

LEVEL = When(detector="level", role="train.loss", enter=1.0, patience=3)
NESTED = When(all=(When(any=(LEVEL, When(check="precision == 'fp16'"))), When(absent=replace(LEVEL, role="grad_norm"))))


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


def test_a_variant_changes_the_thresholds_it_names_in_every_detector() -> None:
    other = varied(NESTED, Variant(enter=5.0, with_={"window": 7}))
    assert [(one.enter, one.patience, one.with_) for one in other.walk() if one.detector] == [(5.0, 3, {"window": 7})] * 2


def test_facts_take_their_place_in_every_detector() -> None:
    asking = NESTED.with_detectors(lambda one: replace(one, enter="$optimizer.lr|0.5"))
    assert _levels(resolve(asking, {})) == [0.5, 0.5]
    assert _levels(resolve(asking, {"optimizer.lr": 0.1})) == [0.1, 0.1]
