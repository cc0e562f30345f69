"""Ranking, on a small invented rulebook."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hrmdoc.diagnosis.diagnose import diagnose
from hrmdoc.diagnosis.hypotheses import WORTH_LISTING, Evidence, hypothesis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Applies, Framework, Remedy, Verify
from tests.diagnosis.small_book import (
    BATCH,
    EXCUSED,
    RATES,
    SMALL,
    absent,
    book,
    cause,
    first,
    present,
    probability,
    unknown,
)


def test_nothing_present_is_healthy_and_names_no_cause() -> None:
    diagnosis = diagnose([absent("spike"), absent("rise"), absent("hang")], SMALL)
    assert diagnosis.verdict == "healthy"
    assert diagnosis.hypotheses == ()
    assert diagnosis.next_check == ""
    assert diagnosis.healthy > 0.9


def test_nothing_evaluated_is_no_data_and_never_health() -> None:
    assert diagnose([unknown("spike", "train.loss"), unknown("rise")], SMALL).verdict == "no_data"
    assert diagnose([], SMALL).verdict == "no_data"


def test_a_symptom_that_was_not_evaluated_neither_helps_nor_harms_a_cause() -> None:
    without = probability(diagnose([present("spike")], SMALL), "rate")
    unseen = probability(diagnose([present("spike"), unknown("rise", "train.loss")], SMALL), "rate")
    against = probability(diagnose([present("spike"), absent("rise")], SMALL), "rate")
    assert unseen == pytest.approx(without)
    assert against < without


def test_the_cause_that_explains_more_comes_first_and_pushes_its_rival_down() -> None:
    alone = diagnose([present("spike")], SMALL)
    both = diagnose([present("spike"), present("rise")], SMALL)
    assert first(alone).cause == "batch"
    assert first(both).cause == "rate"
    assert probability(both, "batch") < probability(alone, "batch")


def test_two_real_faults_both_rank_high() -> None:
    diagnosis = diagnose([present("spike"), present("rise"), present("hang"), present("timeout")], SMALL)
    assert {one.cause for one in diagnosis.hypotheses[:2]} == {"rate", "net"}
    assert min(one.probability for one in diagnosis.hypotheses[:2]) > 0.9
    assert [one.rank for one in diagnosis.hypotheses] == list(range(1, len(diagnosis.hypotheses) + 1))


def test_evidence_for_and_against_is_weighed_in_log_odds_with_its_words() -> None:
    diagnosis = diagnose(
        [present("spike"), present("rise"), absent("hang")],
        book(RATES, BATCH, cause("both", rise=0.7, hang=0.95)),
    )
    rate, both = (next(one for one in diagnosis.hypotheses if one.cause == name) for name in ("rate", "both"))
    assert {one.symptom for one in rate.for_} >= {"spike", "rise"}
    assert rate.for_[0].text == "rise at step 7"
    assert rate.for_[0].log_odds == max(one.log_odds for one in rate.for_) > 1
    assert both.against[0].symptom == "hang"
    assert both.against[0].text == "Hang: not seen"
    assert both.against[0].log_odds < -1


def test_a_fault_that_no_cause_explains_points_to_the_unknown() -> None:
    strange = replace(present("strange", severity="critical"))
    diagnosis = diagnose([strange, absent("spike"), absent("hang")], SMALL)
    assert diagnosis.verdict == "critical"
    assert first(diagnosis).cause == "unknown"


def test_the_unknown_cause_stands_behind_a_named_one_however_probable_it_is() -> None:
    strange = [replace(present(name, severity="critical")) for name in ("strange", "stranger", "strangest")]
    diagnosis = diagnose([*strange, present("spike"), absent("rise"), absent("hang")], SMALL)
    order = [one.cause for one in diagnosis.hypotheses]
    assert probability(diagnosis, "unknown") > probability(diagnosis, order[0])
    assert order[-1] == "unknown"


def test_the_unknown_cause_gives_way_to_a_known_one() -> None:
    diagnosis = diagnose([present("hang"), present("timeout"), absent("spike"), absent("rise")], SMALL)
    assert first(diagnosis).cause == "net"
    assert probability(diagnosis, "unknown") < 0.1


def test_a_fault_is_named_before_what_is_merely_harmless() -> None:
    signs = [present("rise"), present("spike", severity="info"), present("learns", severity="info")]
    diagnosis = diagnose(signs, EXCUSED)
    assert first(diagnosis).cause == "rate"
    assert [one.cause for one in diagnosis.hypotheses] == ["rate", "calm"]
    assert probability(diagnosis, "calm") > probability(diagnosis, "rate")


def test_a_fault_behind_a_warning_is_named_before_one_behind_mere_information() -> None:
    diagnosis = diagnose(
        [present("spike"), present("hang", severity="info"), present("timeout", severity="info")], SMALL
    )
    assert probability(diagnosis, "net") > probability(diagnosis, "batch")
    assert [one.cause for one in diagnosis.hypotheses][:2] == ["batch", "rate"]


def test_a_group_counts_once() -> None:
    causes = book(cause("rate", high=0.6, higher=0.5), cause("other", odd=0.5))
    one = diagnose([present("high", group="norm"), absent("higher", group="norm")], causes)
    two = diagnose([present("high", group="norm"), present("higher", group="norm")], causes)
    apart = diagnose([present("high"), present("higher")], causes)
    assert probability(one, "rate") == pytest.approx(probability(two, "rate"))
    assert probability(apart, "rate") > probability(two, "rate")


def test_an_absent_group_counts_against_once_by_its_most_reliable_member() -> None:
    causes = book(cause("rate", spike=0.5, high=0.6, higher=0.5), cause("other", odd=0.5))
    group = diagnose([present("spike"), absent("high", group="norm"), absent("higher", group="norm")], causes)
    single = diagnose([present("spike"), absent("high")], causes)
    assert probability(group, "rate") == pytest.approx(probability(single, "rate"))


def log_line(name: str, role: str, **fields: object) -> Symptom:
    return present(name, severity="critical", values={"role": role}, **fields)


CRASH = book(cause("memory", oom=0.95), cause("network", timeout=0.7, aborted=0.6), cause("disk", full=0.95))


def test_a_cascade_is_no_evidence_once_a_root_is_there() -> None:
    alone = diagnose([log_line("aborted", "cascade")], CRASH)
    rooted = diagnose([log_line("oom", "root"), log_line("aborted", "cascade")], CRASH)
    assert first(alone).cause == "network"
    assert first(rooted).cause == "memory"
    assert probability(rooted, "network") < 0.05
    assert rooted.verdict == "critical"


def test_the_earliest_root_over_all_ranks_is_the_one_to_explain() -> None:
    oom = log_line("oom", "root", first_time=100.0, rank=3)
    timeout = log_line("timeout", "root", first_time=700.0, rank=0)
    forwards = diagnose([oom, timeout], CRASH)
    assert first(forwards).cause == "memory"
    assert probability(forwards, "network") < 0.5 < probability(forwards, "memory")
    backwards = diagnose([replace(oom, first_time=900.0), timeout], CRASH)
    assert first(backwards).cause == "network"


def test_lines_of_one_file_are_ordered_by_their_place_when_there_is_no_time() -> None:
    roots = [log_line("full", "root", file="a.log", line=90), log_line("oom", "root", file="a.log", line=12)]
    assert first(diagnose(roots, CRASH)).cause == "memory"


def test_a_failure_that_training_survived_does_not_explain_a_later_one() -> None:
    early = log_line("oom", "root", first_time=1.0, first_step=100)
    later = log_line("full", "root", first_time=9.0, first_step=5000)
    diagnosis = diagnose([early, later], CRASH)
    assert probability(diagnosis, "memory") > 0.5
    assert probability(diagnosis, "disk") > 0.5


@pytest.mark.parametrize(
    ("applies", "kind", "framework", "phase", "expected"),
    [
        (Applies(kinds=("rl",)), "sft", "", "", False),
        (Applies(kinds=("rl",)), "rl", "", "", True),
        (Applies(kinds=("rl",)), "unknown", "", "", True),
        (Applies(not_kinds=("rl",)), "rl", "", "", False),
        (Applies(frameworks=("trl",)), "rl", "lightning", "", False),
        (Applies(frameworks=("trl",)), "rl", "unknown", "", True),
        (Applies(phases=("early",)), "rl", "", "end", False),
        (Applies(phases=("early",)), "rl", "", "early", True),
    ],
)
def test_causes_are_asked_only_where_they_apply(
    applies: Applies, kind: str, framework: str, phase: str, *, expected: bool
) -> None:
    rules = book(cause("special", applies=applies, spike=0.9), cause("other", spike=0.1))
    diagnosis = diagnose(
        [present("spike")], rules, kind=kind, framework=framework, facts={"run.phase": phase}
    )
    assert any(one.cause == "special" for one in diagnosis.hypotheses) is expected


def test_a_benign_cause_excuses_only_runs_that_are_known_to_be_of_its_kind() -> None:
    rules = book(
        cause("normal", prior=0.5, benign=True, applies=Applies(kinds=("rl",)), zero=0.9),
        cause("fault", zero=0.5),
    )
    zero = present("zero", severity="critical")
    assert diagnose([zero], rules, kind="rl").severities["zero"] == "info"
    assert diagnose([zero], rules, kind="unknown").severities["zero"] == "critical"


def test_remedies_of_another_framework_are_left_out() -> None:
    rules = book(cause("rate", spike=0.9))
    rules.remedies["mend-rate"] = Remedy(
        id="mend-rate",
        title="t",
        kind="manual",
        risk="safe",
        why="w",
        verify=Verify(),
        steps=("s",),
        frameworks=("trl",),
    )
    assert first(diagnose([present("spike")], rules, framework="trl")).remedies == ("mend-rate",)
    assert first(diagnose([present("spike")], rules, framework="lightning")).remedies == ()


def test_several_records_of_one_symptom_are_one_vote_and_the_worst_severity() -> None:
    twice = [
        present("spike", role="train.loss"),
        replace(present("spike", role="eval.loss"), state="resolved", severity="critical"),
    ]
    diagnosis = diagnose(twice, SMALL)
    assert probability(diagnosis, "batch") == pytest.approx(probability(diagnose(twice[:1], SMALL), "batch"))
    assert diagnosis.severities == {"spike": "warning"}


def test_a_diagnosis_shows_as_one_line_with_its_three_first_causes() -> None:
    sick = diagnose([present("spike"), present("rise")], SMALL)
    shown = ", ".join(f"{one.cause} {one.probability:.0%}" for one in sick.hypotheses[:3])
    assert repr(sick) == f"<Diagnosis warning: {shown}>"
    assert repr(diagnose([absent("spike")], SMALL)) == "<Diagnosis healthy>"


@pytest.mark.parametrize(("kind", "less"), [("unknown", True), ("", True), ("rl", False)])
def test_a_cause_of_some_kinds_is_less_probable_where_the_kind_is_unknown(kind: str, less: bool) -> None:
    anywhere = probability(diagnose([present("a")], book(cause("one", a=0.5)), kind=kind), "one")
    of_kind = cause("one", a=0.5, applies=Applies(kinds=("rl",)))
    assert (probability(diagnose([present("a")], book(of_kind), kind=kind), "one") < anywhere) is less


def test_evidence_is_listed_for_and_against_from_a_tenth_of_a_nat_on() -> None:
    weights = (WORTH_LISTING, 0.9 * WORTH_LISTING, -0.9 * WORTH_LISTING, -WORTH_LISTING)
    told = hypothesis(1, BATCH, 0.5, [Evidence(f"{weight:g}", weight, "") for weight in weights], ())
    assert [one.log_odds for one in told.for_] == [WORTH_LISTING]
    assert [one.log_odds for one in told.against] == [-WORTH_LISTING]


def test_what_is_wrong_with_weights_is_wrong_with_no_trees() -> None:
    rules = book(RATES, BATCH)
    rules.causes["rate"] = replace(rules.causes["rate"], of_weights=True)
    rules.frameworks["grower"] = Framework("grower", "", trees=True)
    rules.frameworks["trainer"] = Framework("trainer", "")
    shown = [present("spike"), present("rise")]
    assert probability(diagnose(shown, rules, framework="trainer"), "rate") > 0.5
    assert "rate" not in {one.cause for one in diagnose(shown, rules, framework="grower").hypotheses}
