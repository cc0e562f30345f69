"""Scores are kept, detector by detector (`scores.yaml`): thresholds of rules are in their units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hrmdoc import measures
from hrmdoc.examination.cases.notation import series_from

KEPT: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("scores.yaml").read_text())
ROWS = [(name, row) for name, rows in KEPT.items() for row in rows]
ALL_OF = 24
"""Points of a series up to which each of its scores is kept."""


def scored(name: str, row: dict[str, Any]) -> np.ndarray:
    """The scores of a series that comes in two pieces."""
    columns = [np.tile(series_from(one, seed=one), row.get("times", 1)) for one in row["of"]]
    values = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    detector, steps = measures.make(name, row.get("with")), np.arange(len(values)) * row.get("spacing", 1)
    cut = len(values) // 3
    parts = [detector.update(steps[at], values[at]) for at in (slice(cut), slice(cut, None))]
    return np.concatenate(parts)


def looked_at(scores: np.ndarray) -> np.ndarray:
    count = len(scores)
    return scores if count <= ALL_OF else scores[np.arange(count - 1, -1, -(count // 12))[::-1]]


def test_scores_of_every_detector_are_kept() -> None:
    assert set(KEPT) == set(measures.detector_names())


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(ROWS)])
def test_a_series_scores_what_it_did(name: str, row: dict[str, Any]) -> None:
    kept = series_from(row["scores"], seed="")
    np.testing.assert_allclose(looked_at(scored(name, row)), kept, rtol=1e-3, atol=1e-9)
