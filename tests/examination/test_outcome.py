"""An alarm is about the outcome: what a run got over is information."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hrmdoc.analysis import Analysis, AnalysisSession


def _curve(points: int = 200) -> np.ndarray:
    return 0.4 + 2.0 * np.exp(-np.arange(points) / 40) + np.random.default_rng(3).normal(0, 0.01, points)


def _looked_at(tmp_path: Path, losses: np.ndarray, *, closed: bool = True) -> Analysis:
    table = tmp_path / "log.csv"
    table.write_text("step,loss\n" + "".join(f"{10 * i},{loss:.5f}\n" for i, loss in enumerate(losses)))
    session = AnalysisSession(str(table))
    session.read([str(table)])
    return session.look(closed=closed)


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
