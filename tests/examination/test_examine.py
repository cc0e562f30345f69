"""The way from files to symptoms."""

from __future__ import annotations

import gc
import json
from pathlib import Path

from hrmdoc.analysis import AnalysisSession
from hrmdoc.examination.onset import Courses
from hrmdoc.examination.scene import Scene
from hrmdoc.examination.symptom import Symptom


def _found(path: Path) -> dict[str, Symptom]:
    session = AnalysisSession(str(path))
    session.read([str(path)])
    return {one.id: one for one in session.diagnose(closed=True).symptoms if one.seen}


def _present(path: Path) -> set[str]:
    return {name for name, one in _found(path).items() if one.state == "present"}


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


def test_short_folds_that_begin_again_at_their_first_epoch_are_no_crash_loop(tmp_path: Path) -> None:
    fold = [f"Epoch {epoch} loss: {1.0 / epoch:.4f}" for epoch in range(1, 6)]
    log = tmp_path / "folds.log"
    log.write_text("\n".join(line for k in range(1, 6) for line in (f"Fold {k}/5", *fold)) + "\n")
    assert "crash-loop" not in _found(log)


def test_a_run_that_goes_on_by_an_epoch_at_each_resume_is_no_crash_loop(tmp_path: Path) -> None:
    epochs = [*range(8), *(epoch for begun in (3, 4, 5, 6) for epoch in range(begun, 8))]
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,loss\n" + "".join(f"{epoch},{2.0 - epoch / 10}\n" for epoch in epochs))
    assert "crash-loop" not in _found(table)


def test_evidence_counts_in_the_unit_of_its_curve(tmp_path: Path) -> None:
    rows = [f"{epoch},{1 / (epoch + 1)},{0.5 + 0.05 * abs(epoch - 4)}" for epoch in range(16)]
    table = tmp_path / "log.csv"
    table.write_text("\n".join(["epoch,loss,val_loss", *rows]) + "\n")
    symptom = _found(table)["overfitting"]
    assert symptom.unit == "epoch"
    assert f"near epoch {symptom.first_step}" in symptom.evidence


def test_what_is_over_is_told_by_its_height_not_by_the_last_value(tmp_path: Path) -> None:
    heights = [0.9, 0.6, 0.5, *[0.5 + 0.1 * n for n in range(1, 9)], *[1.3 - 0.11 * n for n in range(1, 12)]]
    table = tmp_path / "log.csv"
    table.write_text(
        "\n".join(["epoch,loss,val_loss", *[f"{n},{0.9**n},{height}" for n, height in enumerate(heights)]])
        + "\n"
    )
    symptom = _found(table)["overfitting"]
    assert symptom.state == "resolved"
    assert float(symptom.evidence.split(" to ")[1].split(";")[0]) > 1.0


def test_the_evidence_may_name_facts_that_the_check_did_not_ask_for(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "".join(
            f"{{'loss': {2 - i / 100}, 'mean_token_accuracy': 0.5, 'learning_rate': 1e-8}}\n"
            for i in range(60)
        )
    )
    said = _found(log)["lr-below-typical"].evidence
    assert said.startswith("the learning rate is 1e-08; ")
    assert said.endswith("is usual for this kind of run (sft)")
    assert "?" not in said


def test_what_an_examination_computed_is_let_go_without_the_collector_of_cycles(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} | loss {3 + n / 50:.4f} | lr 0.001\n" for n in range(300)))
    session = AnalysisSession(str(log))
    session.read([str(log)])
    gc.collect()
    gc.disable()
    try:
        session.diagnose(closed=False)
        scenes = [one for one in gc.get_objects() if type(one) is Scene]
        left = [one for one in gc.get_objects() if type(one) is Courses]
    finally:
        gc.enable()
    assert left == []
    assert not any(scene._known or scene._falls for scene in scenes)
