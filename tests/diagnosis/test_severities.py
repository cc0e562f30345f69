"""What remains of severities, and the verdict, on a small invented rulebook."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from hrmdoc.diagnosis.diagnose import diagnose
from hrmdoc.rulebook import Rulebook
from tests.diagnosis.small_book import (
    EXCUSED,
    SMALL,
    absent,
    book,
    cause,
    first,
    present,
)


def test_resolved_counts_as_evidence_but_one_level_less() -> None:
    over = [replace(present(name, severity="critical"), state="resolved") for name in ("spike", "rise")]
    diagnosis = diagnose(over, SMALL)
    assert first(diagnosis).cause == "rate"
    assert diagnosis.severities == {"spike": "warning", "rise": "warning"}
    assert diagnosis.verdict == "warning"
    assert diagnose([replace(one, severity="info") for one in over], SMALL).verdict == "info"


def test_a_failure_between_two_steps_that_training_outlived_stays_one_level_less() -> None:
    over = replace(
        present("hang", severity="critical", values={"role": "root"}), state="resolved", first_step=7
    )
    assert diagnose([over], SMALL).verdict == "warning"


def test_a_failure_before_the_first_step_after_which_training_began_is_information() -> None:
    over = replace(present("hang", severity="critical", values={"role": "root"}), state="resolved")
    assert diagnose([over], SMALL).verdict == "info"
    assert diagnose([replace(over, state="present")], SMALL).verdict == "critical"


def test_the_verdict_is_the_highest_severity() -> None:
    assert (
        diagnose([present("spike", severity="info"), present("hang", severity="critical")], SMALL).verdict
        == "critical"
    )


def test_hints_that_one_probable_fault_explains_together_are_a_warning() -> None:
    slow = cause("slow", rate_low=0.6, barely_falls=0.5)
    joined = diagnose([present("rate-low", "info"), present("barely-falls", "info")], book(slow))
    assert joined.hypotheses[0].probability > 0.5
    assert joined.verdict == "warning"


def test_one_hint_stays_a_hint_however_well_a_cause_fits_it() -> None:
    slow = cause("slow", prior=0.5, rate_low=0.9, barely_falls=0.01)
    alone = diagnose([present("rate-low", "info"), absent("barely-falls")], book(slow))
    assert alone.hypotheses[0].probability > 0.5
    assert alone.verdict == "info"


def test_a_hint_that_presupposes_another_finding_counts_with_it() -> None:
    batch = cause("batch", prior=0.2, spike=0.6, spike_isolated=0.6)
    rules = book(batch)
    isolated = msgspec.structs.replace(rules.symptoms["spike-isolated"], presupposes=("spike",))
    asks = msgspec.structs.replace(rules, symptoms={**rules.symptoms, "spike-isolated": isolated})
    shown = [replace(present("spike"), state="resolved"), present("spike-isolated", "info")]
    assert diagnose(shown, rules).verdict == "warning"
    assert diagnose(shown, asks).verdict == "info"


def test_hints_that_are_over_raise_nothing() -> None:
    slow = cause("slow", rate_low=0.6, barely_falls=0.5)
    over = [replace(present(name, "info"), state="resolved") for name in ("rate-low", "barely-falls")]
    assert diagnose(over, book(slow)).verdict == "info"


def _weak(rules: Rulebook, *names: str, group: str | None = None) -> Rulebook:
    """The rulebook with these rules needing a witness."""
    weak = {name: replace(rules.symptoms[name], alarms="joined", group=group) for name in names}
    return replace(rules, symptoms={**rules.symptoms, **weak})


def test_a_weak_rule_alarms_beside_one_of_another_family_and_not_alone() -> None:
    rules = _weak(SMALL, "spike")
    assert diagnose([present("spike"), absent("hang")], rules).verdict == "info"
    beside = diagnose([present("spike"), present("hang")], rules)
    assert beside.severities == {"spike": "warning", "hang": "warning"}
    over = replace(present("hang"), state="resolved", got_over=True)
    assert diagnose([present("spike"), over], rules).severities == {"spike": "warning", "hang": "info"}


def test_two_weak_rules_of_one_family_are_one_witness_and_of_two_families_two() -> None:
    apart = _weak(book(cause("one", spike=0.6), cause("two", hang=0.6)), "spike", "hang")
    assert diagnose([present("spike"), present("hang")], apart).verdict == "warning"
    together = _weak(apart, "spike", "hang", group="family")
    shown = [present("spike", group="family"), present("hang", group="family")]
    assert diagnose(shown, together).verdict == "info"


def test_information_is_no_witness_of_a_weak_rule_unless_one_probable_cause_explains_both() -> None:
    slow = cause("slow", rate_low=0.6, barely_falls=0.5)
    shown = [present("rate-low"), present("barely-falls", "info")]
    assert diagnose(shown, _weak(book(slow), "rate-low")).verdict == "warning"
    apart = book(cause("slow", rate_low=0.6), cause("other", barely_falls=0.5))
    assert diagnose(shown, _weak(apart, "rate-low")).verdict == "info"


def test_what_a_benign_cause_explains_drops_to_info() -> None:
    diagnosis = diagnose(
        [present("spike", severity="critical"), present("learns", severity="info"), absent("rise")], EXCUSED
    )
    assert diagnosis.severities["spike"] == "info"
    assert diagnosis.verdict == "info"
    assert first(diagnosis).benign


def test_a_benign_cause_without_its_own_sign_excuses_nothing() -> None:
    diagnosis = diagnose([present("spike", severity="critical"), absent("learns"), present("rise")], EXCUSED)
    assert diagnosis.severities["spike"] == "critical"
    assert diagnosis.verdict == "critical"


def test_a_benign_cause_with_nothing_to_explain_is_not_named() -> None:
    diagnosis = diagnose(
        [present("rise", severity="info"), present("learns", severity="info"), absent("spike")], EXCUSED
    )
    assert diagnosis.verdict == "info"
    assert [one.cause for one in diagnosis.hypotheses] == ["rate"]


def test_a_symptom_that_the_benign_cause_does_not_produce_keeps_its_severity() -> None:
    diagnosis = diagnose([present("rise"), present("learns", severity="info")], EXCUSED)
    assert diagnosis.severities["rise"] == "warning"


def test_a_good_sign_alone_is_health() -> None:
    diagnosis = diagnose([present("learns", severity="info"), absent("spike"), absent("rise")], EXCUSED)
    assert diagnosis.verdict == "healthy"
    assert diagnosis.hypotheses == ()
