"""The sentence that sums a run up joins a symptom with a cause that explains it; evidence speaks one way."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command


def two_faults(path: Path) -> Path:
    """A run that memorises a hundred samples, and then dies of something else."""
    rows: list[str] = ["***** Running training *****", "  Num examples = 100", "  Num Epochs = 400"]
    for at in range(60):
        train = {"loss": round(2.0 * 0.88**at + 0.0005, 5), "train_accuracy": min(1.0, 0.5 + at * 0.02)}
        evaluated = {"eval_loss": 1.2 + 0.09 * max(0, at - 8), "eval_accuracy": 0.5 - 0.003 * at}
        rows += [str({**train, "learning_rate": 2e-5, "epoch": float(at)}), str({**evaluated, "epoch": at})]
    path.write_text("\n".join([*rows, "AttributeError: 'DummyOptim' object has no attribute 'step'", ""]))
    return path


def test_the_cause_in_the_headline_explains_the_symptom_in_it(hrmdoc: Command, apart: Path) -> None:
    said = hrmdoc("analyze", two_faults(apart / "train.log")).out
    assert "DeepSpeed's stand-in optimizer was used" in said.splitlines()[0]
    assert ": The configuration cannot work (" in said.splitlines()[1]
    assert "The model memorises the training data" in said


def test_a_setting_and_what_qualifies_it_speak_one_way(hrmdoc: Command, apart: Path) -> None:
    rows = [{"step": at, "loss": 2.5 * 0.97**at + 0.3, "learning_rate": 0.003} for at in range(60)]
    (apart / "trainer_state.json").write_text(
        json.dumps({"log_history": rows, "global_step": 60, "max_steps": 60})
    )
    found = json.loads(hrmdoc("analyze", "--json", "--kind", "sft", apart / "trainer_state.json").out)
    (cause,) = [one for one in found["hypotheses"] if one["cause"] == "learning-rate-too-high"]
    speaks = [
        side for side in ("for", "against") for one in cause[side] if "learning rate is" in one["evidence"]
    ]
    assert len(speaks) <= 1
