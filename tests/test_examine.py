"""The way from files to symptoms."""

from __future__ import annotations

import json
from pathlib import Path

from hrmdoc.analysis import Patient


def _present(path: Path) -> set[str]:
    patient = Patient(str(path))
    patient.read([str(path)])
    return {one.id for one in patient.look(closed=True).symptoms if one.state == "present"}


def test_several_runs_in_one_file_are_no_crash_loop(tmp_path: Path) -> None:
    run = [f"{epoch},{4.0 / (epoch + 2)},{4.2 / (epoch + 2)}" for epoch in range(20)]
    table = tmp_path / "log.csv"
    table.write_text("\n".join(["epoch,loss,val_loss", *run * 4]) + "\n")
    assert "crash-loop" not in _present(table)


def test_falls_to_the_same_checkpoint_again_and_again_are_a_crash_loop(tmp_path: Path) -> None:
    steps = [*range(0, 3000, 10), *[step for _ in range(4) for step in range(2000, 3000, 10)]]
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": step, "loss": 4.0 - step / 1000}) + "\n" for step in steps))
    assert "crash-loop" in _present(log)
