"""What a log gave, as tests compare it."""

from __future__ import annotations

from hrmdoc.record.run import Run


def points(run: Run, metric: str) -> list[tuple[int, float]]:
    """Steps and values of a metric, all ranks."""
    return [
        (int(step), float(value))
        for key, series in run.series.items()
        if key.metric == metric
        for step, value in zip(series.steps, series.values, strict=True)
    ]


def axis(run: Run, metric: str) -> str:
    """What the steps of a metric count."""
    return next(series.axis for key, series in run.series.items() if key.metric == metric)
