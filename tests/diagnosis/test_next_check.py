"""Which question would decide between rivals, on a small invented rulebook."""

from __future__ import annotations

from hrmdoc.diagnosis.diagnose import diagnose
from hrmdoc.rulebook import Cause
from tests.diagnosis.small_book import (
    SMALL,
    UNKNOWN,
    absent,
    book,
    cause,
    present,
    unknown,
)


def test_the_next_check_is_the_question_that_tells_the_rivals_apart() -> None:
    rivals = book(
        replace_check(cause("masked", zero=0.8, grad_zero=0.95)),
        replace_check(cause("solved-it", zero=0.8)),
        UNKNOWN,
    )
    diagnosis = diagnose([present("zero"), unknown("grad-zero", "grad_norm")], rivals)
    assert diagnosis.next_check.startswith("Provide grad_norm: whether “Grad-zero” shows helps to tell")
    assert "“Masked”" in diagnosis.next_check


def replace_check(one: Cause) -> Cause:
    return Cause(id=one.id, title=one.title, prior=one.prior, produces=one.produces, playbook=one.playbook)


def test_without_a_telling_metric_the_check_of_a_leading_cause_is_proposed() -> None:
    diagnosis = diagnose([present("spike"), unknown("other", "gpu.util")], SMALL)
    assert diagnosis.next_check in ("Look for batch.", "Look for rate.")


def test_a_decided_matter_asks_for_nothing() -> None:
    many = book(cause("sure", prior=0.1, a=0.99, b=0.99, c=0.99), cause("far", z=0.9))
    assert diagnose([present("a"), present("b"), present("c"), absent("z")], many).next_check == ""


def test_what_cannot_be_provided_is_never_asked_for() -> None:
    rivals = book(
        replace_check(cause("masked", zero=0.8, grad_zero=0.95)), replace_check(cause("other", zero=0.8))
    )
    diagnosis = diagnose([present("zero"), unknown("grad-zero", "a run of another kind than sft")], rivals)
    assert diagnosis.next_check == ""


def test_a_measurement_that_would_confirm_the_only_cause_says_so() -> None:
    alone = book(replace_check(cause("masked", zero=0.5, grad_zero=0.95)), UNKNOWN)
    diagnosis = diagnose([present("zero"), unknown("grad-zero", "grad_norm")], alone)
    assert diagnosis.next_check == "Provide grad_norm: whether “Grad-zero” shows helps to confirm “Masked”."


def test_a_measurement_where_no_cause_leads_decides_most() -> None:
    benign = cause("calm", prior=0.3, benign=True, zero=0.5, grad_zero=0.95)
    diagnosis = diagnose([present("zero"), unknown("grad-zero", "grad_norm")], book(benign, UNKNOWN))
    assert diagnosis.next_check == "Provide grad_norm: whether “Grad-zero” shows decides most."
