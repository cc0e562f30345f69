"""An alarm is about the outcome: what a run got over is information."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hrmdoc.analysis import Analysis, AnalysisSession, analyze


def _curve(points: int = 200) -> np.ndarray:
    return 0.4 + 2.0 * np.exp(-np.arange(points) / 40) + np.random.default_rng(3).normal(0, 0.01, points)


def _looked_at(tmp_path: Path, losses: np.ndarray, *, closed: bool = True) -> Analysis:
    table = tmp_path / "log.csv"
    table.write_text("step,loss\n" + "".join(f"{10 * i},{loss:.5f}\n" for i, loss in enumerate(losses)))
    session = AnalysisSession(str(table))
    session.read([str(table)])
    return session.diagnose(closed=closed)


def _levels(analysis: Analysis) -> dict[str, str]:
    return {symptom.id: analysis.severity(symptom) for symptom in analysis.present}


def test_a_spike_from_which_the_loss_recovers_to_a_new_best_is_information(tmp_path: Path) -> None:
    losses = _curve()
    losses[100:103] = 8.0
    analysis = _looked_at(tmp_path, losses)
    assert _levels(analysis)["loss-spike"] == "info"
    assert analysis.verdict == "info"


def test_a_loss_that_stays_up_alarms(tmp_path: Path) -> None:
    losses = _curve()
    losses[120:] = 3.0 + losses[120:]
    assert _looked_at(tmp_path, losses).verdict in ("warning", "critical")


def test_a_divergence_alarms_while_it_goes_on(tmp_path: Path) -> None:
    losses = np.concatenate([_curve(), np.full(12, 6.0)])
    assert _looked_at(tmp_path, losses, closed=False).verdict in ("warning", "critical")


def _table(tmp_path: Path, columns: dict[str, np.ndarray]) -> Analysis:
    table = tmp_path / "log.csv"
    rows = zip(*columns.values(), strict=True)
    table.write_text(
        f"epoch,{','.join(columns)}\n"
        + "".join(f"{i},{','.join(f'{v:.5f}' for v in row)}\n" for i, row in enumerate(rows))
    )
    return analyze(table)


def test_a_plateau_of_a_solved_task_is_information(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 0.0002, 200)
    flat, score = 0.0497 + noise, np.full(200, 0.999) + noise
    loud = _levels(_table(tmp_path, {"loss": flat, "val_accuracy": np.full(200, 0.4) + noise}))
    assert "warning" in {level for name, level in loud.items() if name.startswith("loss-")}
    quiet = _levels(_table(tmp_path, {"loss": flat, "val_accuracy": score}))
    assert {
        level
        for name, level in quiet.items()
        if name in ("loss-plateau", "loss-plateau-noisy", "loss-hardly-falls")
    } <= {"info"}


def test_a_loss_that_rises_while_the_score_ends_at_its_best_is_information(tmp_path: Path) -> None:
    at = np.arange(60)
    up = np.where(at < 20, 1.1 - 0.03 * at, 0.5 + 0.004 * (at - 20))
    rising = {"loss": 1.1 * 0.9**at, "val_loss": up, "val_accuracy": 0.3 + 0.65 * (1 - 0.93**at)}
    falling = rising | {"val_accuracy": np.where(at < 20, 0.3 + 0.03 * at, 0.9 - 0.008 * (at - 20))}
    assert _levels(_table(tmp_path, rising))["eval-past-best"] == "info"
    assert _levels(_table(tmp_path, falling))["eval-past-best"] == "warning"


def test_runs_of_two_series_that_differ_in_number_are_told_apart(tmp_path: Path) -> None:
    """What an evaluation did over many launches is no erratic curve of the last."""
    rng = np.random.default_rng(5)
    launches = [
        "Loading the corpus of letters\n"
        + "".join(f"train loss: {rng.uniform(1, 900):.3f}\n" for _ in range(8))
        + "".join(f"val loss: {rng.uniform(1, 900):.3f}\n" for _ in range(i % 2))
        for i in range(40)
    ]
    log = tmp_path / "train.log"
    log.write_text("".join(launches))
    assert "eval-erratic" not in _levels(analyze(log))


def test_a_log_that_begins_at_a_checkpoint_says_nothing_of_what_was_gained_before(tmp_path: Path) -> None:
    def found(first: int) -> set[str]:
        log = tmp_path / f"from{first}.log"
        losses = 0.461 + 0.0005 * np.sin(2.4 * np.arange(43))
        log.write_text("".join(f"Epoch {first + i} | Loss: {loss:.6f}\n" for i, loss in enumerate(losses)))
        return set(_levels(analyze(log)))

    assert "loss-plateau" in found(1)
    assert "loss-plateau" not in found(8)


def test_a_shape_of_the_training_loss_is_information_beside_an_evaluation_near_its_ceiling(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(2)
    loss = np.concatenate([[0.12, 0.05, 0.03, 0.02], 0.7 + rng.normal(0, 0.01, 16)])
    held_out = 0.01 + 0.02 * np.exp(-np.arange(20) / 3.0)
    sure, unsure = np.linspace(0.95, 0.997, 20), np.full(20, 0.6) + rng.normal(0, 0.01, 20)
    columns = {"train_loss": loss, "val_loss": held_out}
    assert "warning" in _levels(_table(tmp_path, columns | {"val_acc": unsure})).values()
    assert _table(tmp_path, columns | {"val_acc": sure}).verdict == "info"


def test_a_loss_whose_step_never_advances_is_no_course_that_could_alarm(tmp_path: Path) -> None:
    losses = np.concatenate([np.linspace(2.0, 0.5, 30), np.linspace(0.5, 4.0, 50)])
    lines = [f"Step {{}} - TTA Loss: {loss:.4f}" for loss in losses]
    verdicts = {}
    for name, steps in (("still", np.zeros(80, int)), ("counted", np.arange(80))):
        log = tmp_path / f"{name}.log"
        log.write_text("\n".join(line.format(step) for line, step in zip(lines, steps, strict=True)) + "\n")
        verdicts[name] = analyze(log).verdict
    assert verdicts == {"still": "info", "counted": "critical"}


def test_a_training_loss_that_stands_still_beside_an_evaluation_that_learns_is_information(
    tmp_path: Path,
) -> None:
    """It is a cost, or a part of the loss, whatever its name."""
    flat = 0.7 + np.random.default_rng(4).normal(0, 0.0002, 120)
    at = np.arange(120)
    learning, idle = 0.4 + 1.2 * np.exp(-at / 20), 1.6 + np.random.default_rng(5).normal(0, 0.002, 120)
    loud = _levels(_table(tmp_path, {"loss": flat, "val_loss": idle}))
    assert loud["loss-plateau"] == "warning"
    quiet = _levels(_table(tmp_path, {"loss": flat, "val_loss": learning}))
    assert quiet["loss-plateau"] == "info"
    scored = {"val_accuracy": 0.7 - 0.6 * np.exp(-at / 20)}
    assert _levels(_table(tmp_path, {"loss": flat} | scored))["loss-plateau"] == "info"


def test_three_epochs_of_a_rising_loss_are_information_where_the_score_ends_at_its_best(
    tmp_path: Path,
) -> None:
    columns = {"loss": np.array([0.6, 0.25, 0.1]), "val_loss": np.array([0.3, 0.36, 0.43])}
    rising = _levels(_table(tmp_path, columns | {"val_accuracy": np.array([0.80, 0.83, 0.855])}))
    falling = _levels(_table(tmp_path, columns | {"val_accuracy": np.array([0.855, 0.83, 0.82])}))
    doubled = columns | {"val_loss": np.array([0.3, 0.5, 0.9]), "val_accuracy": np.array([0.80, 0.83, 0.855])}
    assert rising["overfitting"] == "info"
    assert falling["overfitting"] == "warning"
    assert _levels(_table(tmp_path, doubled))["overfitting"] == "warning"


def test_exploration_that_stays_is_information_while_the_reward_rises(tmp_path: Path) -> None:
    at = np.arange(80)
    columns = {"loss": 2.0 * np.exp(-at / 20) + 0.3, "epsilon": np.full(80, 1.0) - 0.0005 * at}
    up, down = {"reward": -50 + 3.0 * at}, {"reward": np.where(at < 20, -50 + 3.0 * at, 10 - 2.0 * (at - 20))}
    assert _levels(_table(tmp_path, columns | up))["exploration-kept"] == "info"
    assert _levels(_table(tmp_path, columns | down))["exploration-kept"] == "warning"
