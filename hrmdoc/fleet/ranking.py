"""The order of many runs: the worst first."""

from __future__ import annotations

from collections.abc import Iterable

from hrmdoc.fleet.summary import Summary
from hrmdoc.reports.verdict import SEVEREST


def ranked(runs: Iterable[Summary]) -> list[Summary]:
    """The worst first: by verdict, then by what they cost, then by name."""
    return sorted(
        runs,
        key=lambda run: (
            SEVEREST.index(run.verdict),
            -(run.lost_hours or 0.0),
            -run.account.lost_seconds,
            -run.account.lost_steps,
            run.path,
        ),
    )
