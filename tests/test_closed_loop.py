"""The parts of the closed loop that need no training."""

from __future__ import annotations

import math

from ruamel.yaml import YAML

from benchmarks.closed_loop import FAULTS, Outcome, Trial, config_text, report
from hrmdoc import rulebook

GOOD = Trial("lower-hrm-learning-rate", "lr 0.9 -> 0.001", 0.52, verified=True)
BAD = Trial("stop-early", "early_stopping.patience 0 -> 5", math.inf, verified=False)


def outcome(*trials: Trial, chance: Trial | None = BAD) -> Outcome:
    return Outcome("rate too high", "learning-rate-too-high", 1, 2.2, 0.5, trials, chance)


def test_the_config_is_written_in_sections_and_holds_the_fault() -> None:
    tree = YAML(typ="safe", pure=True).load(config_text({"lr": "0.9"}))
    assert tree["lr"] == 0.9
    assert tree["arch"]["hidden_size"] == 32
    assert not [key for key in tree if "." in key]


def test_every_fault_lies_in_the_config_and_names_a_cause() -> None:
    book = rulebook.load()
    assert all(cause in book.causes and changes for cause, changes in FAULTS.values())


def test_a_run_has_recovered_within_a_tenth_of_its_healthy_twin() -> None:
    assert outcome().recovered(0.55)
    assert not outcome().recovered(0.56)
    assert not outcome().recovered(math.nan)
    assert not outcome().recovered(math.inf)


def test_the_second_attempt_counts_apart_from_the_first() -> None:
    text = report([outcome(GOOD), outcome(BAD, GOOD), outcome(chance=None)])
    assert "| top remedy | 1 of 3 |" in text
    assert "| top remedy, else that of the second hypothesis | 2 of 3 |" in text
    assert "| no change | 0 of 3 |" in text
    assert "| a random remedy | 0 of 3 |" in text
