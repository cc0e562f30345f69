"""The parts of the closed loop that need no training."""

from __future__ import annotations

import math

import pytest
from ruamel.yaml import YAML

from benchmarks.closed_loop.programs import GPT, HRM, PROGRAMS, Program
from benchmarks.closed_loop.report import Outcome, Trial, report
from hrmdoc import rulebook

GOOD = Trial("lower-hrm-learning-rate", "lr 0.9 -> 0.001", 0.52, verified=True)
BAD = Trial("stop-early", "early_stopping.patience 0 -> 5", math.inf, verified=False)

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def outcome(*trials: Trial, chance: Trial | None = BAD, sick: float = 2.2) -> Outcome:
    return Outcome("rate too high", "learning-rate-too-high", 1, "warning", sick, 0.5, trials, chance)


def test_the_config_is_written_in_sections_and_holds_the_fault() -> None:
    tree = YAML(typ="safe", pure=True).load(HRM.config_text({"lr": "0.9"}))
    assert tree["lr"] == 0.9
    assert tree["arch"]["hidden_size"] == 32
    assert not [key for key in tree if "." in key]


@every_program
def test_every_fault_lies_in_the_config_and_names_a_cause(program: Program) -> None:
    book = rulebook.load()
    assert program.framework in book.frameworks
    assert program.faults
    assert all(cause in book.causes for cause, _ in program.faults.values())
    assert all(changes.keys() <= program.healthy.keys() for _, changes in program.faults.values())
    assert all(
        value != program.healthy[key]
        for _, changes in program.faults.values()
        for key, value in changes.items()
    )


def test_a_run_has_recovered_within_a_tenth_of_its_healthy_twin() -> None:
    assert outcome().recovered(0.55)
    assert not outcome().recovered(0.56)
    assert not outcome().recovered(math.nan)
    assert not outcome().recovered(math.inf)


def test_the_gap_is_closed_by_shares_between_nothing_and_all() -> None:
    assert outcome().gap_closed(1.35) == pytest.approx(0.5)
    assert outcome().gap_closed(3.0) == 0.0
    assert outcome().gap_closed(0.1) == 1.0
    assert outcome(sick=math.inf).gap_closed(0.5) == 1.0
    assert outcome(sick=math.inf).gap_closed(2.0) == 0.0


def test_the_second_attempt_counts_apart_from_the_first() -> None:
    text = report([outcome(GOOD), outcome(BAD, GOOD), outcome(chance=None)], [], [GPT.title])
    assert "| top remedy | 1/3 " in text
    assert "| top remedy, else that of the second hypothesis | 2/3 " in text
    assert "| no change | 0/3 " in text
    assert "| a random remedy | 0/3 " in text


def test_where_no_remedy_is_offered_the_verdict_tells_why() -> None:
    assert "| none offered | the verdict was warning |" in report([outcome(chance=None)], [], [GPT.title])
