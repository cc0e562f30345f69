"""hrmdoc.examination.scene: where the runs of a file begin."""

from __future__ import annotations

from pathlib import Path

import hrmdoc


def test_a_run_that_the_training_loss_begins_anew_is_one_for_its_evaluations_too(tmp_path: Path) -> None:
    def attempt(best: float, first: int, count: int) -> str:
        losses = (3.0 / (1 + step) for step in range(count * 10))
        lines = [f"step {step} loss {loss:.4f}\n" for step, loss in enumerate(losses)]
        for at in range(count):
            lines.insert((at + 1) * 11 - 1, f"step {first + at * 10} eval loss {best + 0.9**at:.4f}\n")
        return "".join(lines)

    path = tmp_path / "train.log"
    path.write_text(attempt(0.1, 9, 12) + attempt(0.8, 19, 9))
    found = hrmdoc.analyze(path)
    assert not {one.id for one in found.present} & {"eval-past-best", "eval-gains-nothing", "overfitting"}
    assert "several-runs" in {one.id for one in found.present}
