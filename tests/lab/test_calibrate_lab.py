"""`make calibrate`: counts, rates, and the file that holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import calibrate
from benchmarks.lab.judge import Examined
from benchmarks.lab.spec import Spec
from hrmdoc import rulebook
from hrmdoc.calibrate import fit_strength
from hrmdoc.errors import RuleError
from hrmdoc.rulebook import Rate
from hrmdoc.symptom import Symptom


def run(note: str, seed: int, *symptoms: Symptom, fault: str = "", cause: str = "") -> calibrate.Run:
    examined = Examined(f"{note}{seed}", "unknown", "unknown", "finished", {}, symptoms, (), 10)
    return Spec("gpt", fault, (cause,) if cause else (), seed, note=note), examined


def test_seeds_of_one_kind_of_run_count_once() -> None:
    spike, none = Symptom("loss-spike", state="present"), Symptom("loss-spike", state="absent")
    runs = [run("a", 0, none), run("a", 1, none), run("a", 2, none), run("b", 0, spike), run("b", 1, spike)]
    rate = calibrate.measured_leaks(runs, rulebook.load(measured=False))["loss-spike"]
    assert rate.basis == "1 of 2 kinds of healthy runs"


def test_what_could_not_be_evaluated_counts_neither_way() -> None:
    runs = [run("a", 0, Symptom("loss-spike", state="not_evaluated"))]
    assert "loss-spike" not in calibrate.measured_leaks(runs, rulebook.load(measured=False))


def test_what_a_benign_cause_explains_is_no_leak() -> None:
    excused = [run("a", 0, Symptom("grad-norm-spike", state="present"), Symptom("learns-well", state="present"))]
    bare = [run("a", 0, Symptom("grad-norm-spike", state="present"))]
    book = rulebook.load(measured=False)
    assert "grad-norm-spike" not in calibrate.measured_leaks(excused, book)
    assert calibrate.measured_leaks(bare, book)["grad-norm-spike"].basis == "1 of 1 kinds of healthy runs"


def test_a_weight_moves_from_what_is_written_towards_what_was_counted() -> None:
    cause, symptom = "learning-rate-too-high", "loss-divergence"
    runs = [run(str(i), 0, Symptom(symptom, state="present"), fault="lr-too-high", cause=cause) for i in range(6)]
    book = rulebook.load(measured=False)
    rate = calibrate.measured_weights(runs, book)[cause][symptom]
    assert book.causes[cause].produces[symptom] < rate.p < 1.0
    assert rate.low < rate.p < rate.high


def test_rates_that_agree_with_what_was_written_make_it_worth_more() -> None:
    agreeing = fit_strength([(3, 10, 0.3), (5, 10, 0.5), (8, 10, 0.8)])
    contradicting = fit_strength([(10, 10, 0.3), (0, 10, 0.5), (1, 10, 0.8)])
    assert agreeing > contradicting


def test_the_file_of_rates_takes_the_place_of_what_rules_say(tmp_path: Path) -> None:
    calibrate.write_rates(
        tmp_path / "rates.yaml",
        {"loss-spike": Rate(0.125, 0.1, 0.2, "counts"), "no-such-symptom": Rate(0.5, 0.1, 0.9)},
        {"learning-rate-too-high": {"loss-spike": Rate(0.75, 0.5, 0.9, "counts")}},
    )
    book = rulebook.load([tmp_path])
    assert book.symptoms["loss-spike"].leak == Rate(0.125, 0.1, 0.2, "counts")
    assert book.causes["learning-rate-too-high"].produces["loss-spike"] == 0.75
    assert rulebook.load([tmp_path], measured=False).symptoms["loss-spike"].leak != book.symptoms["loss-spike"].leak


def test_a_misspelt_key_in_the_file_of_rates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rates.yaml").write_text("leaks:\n  loss-spike: {q: 0.1, low: 0.0, high: 0.2}\n")
    with pytest.raises(RuleError, match="unknown key 'q'"):
        rulebook.load([tmp_path])
