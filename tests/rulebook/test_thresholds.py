from __future__ import annotations

import pytest
from msgspec.structs import replace

from hrmdoc.rulebook import Variant, When
from hrmdoc.rulebook.thresholds import resolve, varied

LEVEL = When(detector="level", role="train.loss", enter=1.0, patience=3)
NESTED = When(
    all=(When(any=(LEVEL, When(check="precision == 'fp16'"))), When(absent=replace(LEVEL, role="grad_norm")))
)


def _levels(when: When) -> list[object]:
    return [one.enter for one in when.walk() if one.detector]


def test_a_variant_changes_the_thresholds_it_names_in_every_detector() -> None:
    other = varied(NESTED, Variant(enter=5.0, with_={"window": 7}))
    assert [(one.enter, one.patience, one.with_) for one in other.walk() if one.detector] == [
        (5.0, 3, {"window": 7})
    ] * 2


def test_facts_take_their_place_in_every_detector() -> None:
    asking = NESTED.with_detectors(
        lambda one: replace(one, enter="=optimizer.lr if known(optimizer.lr) else 0.5")
    )
    assert _levels(resolve(asking, {})) == [0.5, 0.5]
    assert _levels(resolve(asking, {"optimizer.lr": 0.1})) == [0.1, 0.1]


def test_a_fact_that_is_unknown_is_named() -> None:
    with pytest.raises(KeyError, match=r"optimizer\.lr"):
        resolve(replace(LEVEL, enter="=optimizer.lr"), {"optimizer.lr": None})


def test_of_several_candidates_those_that_are_known_are_taken() -> None:
    asking = replace(LEVEL, with_={"classes": ["=data.vocab_size", "=data.classes * 2", 3]})
    assert resolve(asking, {}).with_ == {"classes": [3]}
    assert resolve(asking, {"data.vocab_size": 50257, "data.classes": 5}).with_ == {"classes": [50257, 10, 3]}
