"""What every rule that is shipped offers."""

from __future__ import annotations

from hrmdoc import rulebook

BOOK = rulebook.load()


def test_every_cause_that_is_a_fault_offers_a_remedy_or_is_none() -> None:
    without = {cause.id for cause in BOOK.causes.values() if not cause.benign and not cause.remedies}
    assert without <= {"unknown"}


def test_every_remedy_is_offered_by_a_cause_and_says_how_to_verify_it() -> None:
    offered = {name for cause in BOOK.causes.values() for name in cause.remedies}
    assert set(BOOK.remedies) - offered == set()
    assert [
        remedy.id for remedy in BOOK.remedies.values() if not remedy.verify.gone and not remedy.verify.also
    ] == []
    assert [remedy.id for remedy in BOOK.remedies.values() if not remedy.why] == []
