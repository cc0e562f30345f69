"""`make calibrate`: counts, rates, and the file that holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import calibrate
from benchmarks.lab.judge import Examined
from benchmarks.lab.spec import Spec
from hrmdoc import rulebook
from hrmdoc.errors import RuleError
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Rate


def run(
    note: str, seed: int, *symptoms: Symptom, fault: str = "", cause: str = "", program: str = "gpt"
) -> calibrate.Run:
    examined = Examined(f"{note}{seed}", "unknown", "unknown", "finished", {}, symptoms, (), 10)
    return Spec(program, fault, (cause,) if cause else (), seed, note=note), examined


def test_seeds_of_one_kind_of_run_count_once() -> None:
    spike, none = Symptom("loss-spike", state="present"), Symptom("loss-spike", state="absent")
    gpt = [run("a", 0, none), run("a", 1, none), run("a", 2, none)]
    runs = [*gpt, *(run("b", seed, spike, program="classifier") for seed in range(2))]
    rate = calibrate.measured_leaks(runs, rulebook.load(measured=False))["loss-spike"]
    assert rate.basis.startswith("1 of 2 kinds of runs without")


def test_what_could_not_be_evaluated_counts_neither_way() -> None:
    runs = [run("a", 0, Symptom("loss-spike", state="not_evaluated"))]
    assert "loss-spike" not in calibrate.measured_leaks(runs, rulebook.load(measured=False))


def test_what_a_benign_cause_explains_is_no_leak() -> None:
    excused = [
        run("a", 0, Symptom("grad-norm-spike", state="present"), Symptom("learns-well", state="present"))
    ]
    bare = [
        run("a", 0, Symptom("grad-norm-spike", state="present"), program=name)
        for name in ("gpt", "classifier")
    ]
    book = rulebook.load(measured=False)
    assert "grad-norm-spike" not in calibrate.measured_leaks(excused, book)
    assert calibrate.measured_leaks(bare, book)["grad-norm-spike"].basis.startswith("2 of 2 kinds")


def test_what_was_seen_on_one_program_alone_is_not_carried_over() -> None:
    runs = [run(str(i), 0, Symptom("loss-spike", state="present")) for i in range(5)]
    assert calibrate.measured_leaks(runs, rulebook.load(measured=False)) == {}


def test_a_weight_moves_from_what_is_written_towards_what_was_counted() -> None:
    cause, symptom = "learning-rate-too-high", "loss-divergence"
    seen = Symptom(symptom, state="present")
    programs = ("gpt", "classifier", "hrm-small")
    runs = [run(str(i), 0, seen, fault="lr-too-high", cause=cause, program=programs[i % 3]) for i in range(6)]
    book = rulebook.load(measured=False)
    rate = calibrate.measured_weights(runs, book)[cause][symptom]
    assert book.causes[cause].produces[symptom] < rate.p < 1.0
    assert rate.low < rate.p < rate.high


def test_the_more_a_written_rate_is_worth_the_less_it_moves() -> None:
    cause, symptom = "learning-rate-too-high", "loss-divergence"
    seen = Symptom(symptom, state="present")
    runs = [
        run(name, 0, seen, fault="lr-too-high", cause=cause, program=name) for name in ("gpt", "classifier")
    ]
    book = rulebook.load(measured=False)
    loose, firm = (calibrate.measured_weights(runs, book, worth)[cause][symptom].p for worth in (2.0, 64.0))
    assert book.causes[cause].produces[symptom] < firm < loose


def test_what_another_fault_shows_is_a_leak_and_what_its_own_shows_is_none() -> None:
    seen = Symptom("loss-divergence", state="present")
    other = [
        run(name, 0, seen, fault="x", cause="disk-exhausted", program=name) for name in ("gpt", "classifier")
    ]
    own = [
        run(name, 0, seen, fault="x", cause="learning-rate-too-high", program=name)
        for name in ("gpt", "classifier")
    ]
    book = rulebook.load(measured=False)
    assert calibrate.measured_leaks(other, book)["loss-divergence"].basis.startswith("2 of 2 kinds")
    assert "loss-divergence" not in calibrate.measured_leaks(own, book)


def test_a_symptom_that_never_showed_in_the_lab_keeps_its_rate() -> None:
    silent, seen = Symptom("tokenizers-fork", state="absent"), Symptom("loss-spike", state="present")
    runs = [run("a", 0, silent, seen), run("a", 0, silent, seen, program="classifier")]
    assert calibrate.measured_leaks(runs, rulebook.load(measured=False)).keys() == {"loss-spike"}


def test_the_file_of_rates_takes_the_place_of_what_rules_say(tmp_path: Path) -> None:
    calibrate.write_rates(
        tmp_path / "rates.yaml",
        {"loss-spike": Rate(0.125, 0.1, 0.2, "counts"), "no-such-symptom": Rate(0.5, 0.1, 0.9)},
        {"learning-rate-too-high": {"loss-spike": Rate(0.75, 0.5, 0.9, "counts")}},
    )
    book = rulebook.load([tmp_path])
    assert book.symptoms["loss-spike"].leak == Rate(0.125, 0.1, 0.2, "counts")
    assert book.causes["learning-rate-too-high"].produces["loss-spike"] == 0.75
    assert (
        rulebook.load([tmp_path], measured=False).symptoms["loss-spike"].leak
        != book.symptoms["loss-spike"].leak
    )


def test_a_misspelt_key_in_the_file_of_rates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rates.yaml").write_text("leaks:\n  loss-spike: {q: 0.1, low: 0.0, high: 0.2}\n")
    with pytest.raises(RuleError, match="unknown key 'q'"):
        rulebook.load([tmp_path])
