"""What can be judged of a log of which no metric has a known role."""

from __future__ import annotations

from pathlib import Path

import hrmdoc

ADVERSARIES = "[{0}/40][0/40]\tLoss_D: {1:.4f}\tLoss_G: {2:.4f}\n"


def test_the_losses_of_two_adversaries_are_enough_for_a_verdict(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(ADVERSARIES.format(n, 1.3 + 0.1 * (n % 3), 0.8 - 0.1 * (n % 2)) for n in range(40))
    )
    assert hrmdoc.analyze(log).verdict == "healthy"


def test_numbers_of_no_known_sort_are_not(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} foo: {n * 0.37:.3f} bar: {n * 0.11:.3f}\n" for n in range(40)))
    assert hrmdoc.analyze(log).verdict == "no_data"
