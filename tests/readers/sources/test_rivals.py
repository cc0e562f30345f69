"""hrmdoc.readers.sources.rivals: whether logs that no name tells apart record one curve or several."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hrmdoc.readers import runs_below

Say = Callable[[int, float], str]


def told(path: Path, seed: int, say: Say, *, every: int = 1, start: float = 2.3, count: int = 200) -> None:
    """A log of a falling curve; the noise is of the seed."""
    noise = random.Random(seed)
    curve = [start * math.exp(-step / 300) + 0.4 + noise.gauss(0, 0.02) for step in range(1, count + 1)]
    rows = [say(step, value) for step, value in enumerate(curve, 1) if step % every == 0]
    path.write_text("".join(f"{row}\n" for row in rows))


def told_apart(folder: Path) -> int:
    return len(runs_below(folder))


@pytest.mark.parametrize("start", [2.3, 10.5, 400.0])
@pytest.mark.parametrize(
    "say",
    [
        lambda step, value: f"step {step * 10}/9000 | loss {value:.4f} | lr 3e-4",
        lambda step, value: json.dumps({"loss": round(value, 4), "step": step}),
        lambda _, value: f"Loss: {value:.4f}",
    ],
)
def test_runs_of_one_recipe_differ_by_their_noise_at_whatever_height(
    tmp_path: Path, start: float, say: Say
) -> None:
    told(tmp_path / "adamw.log", 1, say, start=start)
    told(tmp_path / "lion.log", 2, say, start=start)
    assert told_apart(tmp_path) == 2


def test_an_accuracy_of_two_digits_does_not_make_one_run_of_other_losses(tmp_path: Path) -> None:
    def say(step: int, value: float) -> str:
        return f"epoch {step}/200 loss {value:.4f} acc {1 - value / 3:.2f} lr 0.001"

    told(tmp_path / "adam.log", 1, say)
    told(tmp_path / "sgd.log", 2, say)
    assert told_apart(tmp_path) == 2


def test_a_loss_of_two_digits_that_hardly_falls_is_compared_step_by_step(tmp_path: Path) -> None:
    def say(step: int, value: float) -> str:
        return f"step {step}/200 loss {value:.2f}"

    told(tmp_path / "adam.log", 1, say)
    told(tmp_path / "sgd.log", 2, say)
    assert told_apart(tmp_path) == 2


@pytest.mark.parametrize(
    ("say", "every"),
    [
        (lambda step, value: f"iter {step}: train loss {value:.2f}", 1),
        (lambda step, value: f"Step: {step} Loss = {value:.3e}", 1),
        (lambda step, value: f"step {step} loss={value!r}", 1),
        (lambda step, value: f"step {step} loss {int(value * 1000) / 1000}", 1),  # cut, not rounded
        (lambda step, value: f"step {step} loss {value:.4f}", 50),
        (lambda _, value: f"loss {value:.3f}", 1),
    ],
)
def test_one_curve_is_one_run_however_two_files_spell_it(tmp_path: Path, say: Say, every: int) -> None:
    told(tmp_path / "gpt2.log", 1, lambda step, value: f"step {step} loss {value:.4f}")
    told(tmp_path / "kept.log", 1, say, every=every)
    assert told_apart(tmp_path) == 1


def test_tables_are_compared_at_the_steps_of_their_rows(tmp_path: Path) -> None:
    for name, seed, every in (("a.csv", 1, 1), ("b.csv", 1, 7)):
        told(tmp_path / name, seed, lambda step, value: f"0,{step},{value:.5f}", every=every)
        (tmp_path / name).write_text("epoch,step,train_loss\n" + (tmp_path / name).read_text())
    assert told_apart(tmp_path) == 1
    told(tmp_path / "c.csv", 2, lambda step, value: f"0,{step},{value:.5f}")
    (tmp_path / "c.csv").write_text("epoch,step,train_loss\n" + (tmp_path / "c.csv").read_text())
    assert told_apart(tmp_path) == 3
