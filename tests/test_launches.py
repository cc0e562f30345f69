"""Of a file with several launches of a program the last one is judged."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.reports.terminal import show

CRASH = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n'
    "    main()\n"
    "RuntimeError: CUDA error: an illegal memory access was encountered\n"
)


def _analysed(tmp_path: Path, text: str) -> Analysis:
    log = tmp_path / "train.log"
    log.write_text(text)
    return analyze(log)


def _epochs(first: int, last: int) -> str:
    return "".join(f"epoch {i} train_loss: {3 * 0.8**i:.4f}\n" for i in range(first, last))


def _levels(analysis: Analysis) -> dict[str, str]:
    return {symptom.id: analysis.severity(symptom) for symptom in analysis.present}


@pytest.mark.parametrize(
    "head", ["Loading the corpus of letters\n", "INFO - Starting conservative training for 9 epochs\n"]
)
def test_a_crash_before_another_launch_is_history(tmp_path: Path, head: str) -> None:
    again = _analysed(tmp_path, head + CRASH + head + _epochs(0, 2))
    assert again.verdict in ("healthy", "info", "no_data")


def test_a_crash_of_the_last_launch_is_none(tmp_path: Path) -> None:
    head = "Loading the corpus of letters\n"
    assert _analysed(tmp_path, head + _epochs(0, 2) + head + CRASH).verdict == "critical"


def test_an_epoch_that_an_earlier_launch_printed_ends_no_later_curve(tmp_path: Path) -> None:
    once = "INFO - Validation - Loss: 0.9, F1: 0.1\n"
    later = "".join(
        f"INFO - Step {100 * i}, Loss: {0.5 / i:.4f}\nINFO - Epoch {i}/6 - Train Loss: {0.5 / i:.4f}\n"
        for i in range(1, 7)
    )
    run = _analysed(tmp_path, "INFO - Epoch 1/1 - Train Loss: 0.7, F1: 0.2\n" + once + later).run
    for series in run.series.values():
        lines = [series.place(index)[1] or 0 for index in range(len(series))]
        assert lines == sorted(lines)


def test_the_fit_that_came_last_is_the_one_that_is_read(tmp_path: Path) -> None:
    first = "".join(f"epoch {i} loss: {2 - i / 40:.3f} val_loss: {1 + i / 20:.3f}\n" for i in range(1, 31))
    second = "".join(f"epoch {i} Train Loss: {1 / i:.4f} Val Loss: {1.1 / i:.4f}\n" for i in range(1, 13))
    best = _analysed(tmp_path, first + "Now the ensemble\n" + second).run.best("eval.loss")
    assert best is not None
    assert best.key.metric == "Val Loss"


def test_the_time_to_the_first_step_is_that_of_the_launch_that_came_to_one(tmp_path: Path) -> None:
    failed = "2025-01-01 10:00:00 INFO Starting training\n" + CRASH
    went = "2025-01-02 10:00:00 INFO Starting training\n" + "".join(
        f"2025-01-02 10:00:{i:02d} INFO step {i} loss: {1 / i:.4f}\n" for i in range(1, 40)
    )
    assert "slow-start" not in _levels(_analysed(tmp_path, failed + went))


def _trained(evaluations: list[float]) -> str:
    records = (
        f"{{'loss': {2 * loss:.4f}, 'epoch': {epoch}.0}}\n{{'eval_loss': {loss:.4f}, 'epoch': {epoch}.0}}\n"
        for epoch, loss in enumerate(evaluations, 1)
    )
    return "".join(records) + f"{{'train_runtime': 61.2, 'train_loss': 1.0, 'epoch': {len(evaluations)}.0}}\n"


def test_a_training_behind_the_summary_of_another_is_judged_by_its_own_evaluations(tmp_path: Path) -> None:
    first, second = [0.8 * 0.5**i for i in range(8)], [2.0 * 0.8**i for i in range(8)]
    assert "eval-past-best" in _levels(_analysed(tmp_path, _trained(first + second)))
    assert "eval-past-best" not in _levels(_analysed(tmp_path, _trained(first) + _trained(second)))
    # so many that they are read by column
    many = _trained([0.8 * 0.99**i for i in range(400)]), _trained([2.0 * 0.995**i for i in range(400)])
    assert "eval-past-best" not in _levels(_analysed(tmp_path, "".join(many)))


def test_an_evaluation_behind_the_summary_of_its_training_begins_no_other(tmp_path: Path) -> None:
    text = _trained([0.8 * 0.5**i for i in range(8)])
    analysis = _analysed(tmp_path, text + "{'eval_loss': 0.0062, 'eval_runtime': 2.0, 'epoch': 8.0}\n")
    assert "several-runs" not in _levels(analysis)


def test_of_two_runs_in_a_table_sentences_tell_numbers_of_the_last_and_the_report_says_so(
    tmp_path: Path,
) -> None:
    rows = [
        f"{epoch},{0.9 * rate**epoch + 0.01:.5f},{begun + slope * epoch:.5f}\n"
        for rate, begun, slope, epochs in ((0.9, 0.95, 0.03, 30), (0.95, 0.6, 0.01, 60))
        for epoch in range(epochs)
    ]
    (log := tmp_path / "training.log").write_text("epoch,loss,val_loss\n" + "".join(rows))
    analysis = analyze(log)
    said = next(one for one in analysis.present if one.id == "eval-gains-nothing").evidence
    assert "began at 0.6" in said
    assert "60 evaluations" in said
    page = io.StringIO()
    show(analysis, Console(file=page, width=100))
    assert "several-runs" in page.getvalue()
