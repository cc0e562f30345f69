"""What `analyze` gives back, and `watch` at each update: the run, its symptoms, the ranked causes and the
prescriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hrmdoc.analysis.prepared import Prepared
from hrmdoc.analysis.result import Analysis
from hrmdoc.analysis.session import AnalysisSession
from hrmdoc.errors import InputError
from hrmdoc.settings import Settings

__all__ = ["Analysis", "AnalysisSession", "Prepared", "analyze"]


def analyze(
    path: str | Path | Sequence[str | Path],
    *,
    settings: Settings | None = None,
    facts: Mapping[str, Any] | None = None,
    metric_roles: Mapping[str, str] | None = None,
) -> Analysis:
    """Examines a run afterwards.

    Args:
        path: a file, a directory, `-` for standard input, or several of them.
        settings: the user's settings; by default those nearest to the working folder.
        facts: canonical facts that the user states, such as `{"run.kind": "rl"}`.
        metric_roles: metric name -> role, where the guess is wrong.

    Raises:
        InputError: a path does not exist or nothing could be read.
        RuleError: a rule of the user's own folder is wrong.
    """
    paths = [str(path)] if isinstance(path, str | Path) else [str(one) for one in path]
    if not paths:
        raise InputError("no path given")
    session = AnalysisSession(paths[0], settings=settings, facts=facts, metric_roles=metric_roles)
    session.read(paths)
    return session.diagnose(closed=True)
