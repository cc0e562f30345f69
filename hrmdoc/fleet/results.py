"""A run of many as the formats for other programs have it: places in files are not kept of it."""

from __future__ import annotations

from typing import Any

import msgspec

from hrmdoc.fleet.summary import Summary
from hrmdoc.reports.formats import Finding, Result
from hrmdoc.reports.formats.result import UNREAD, local
from hrmdoc.reports.layout import safe


def plain(run: Summary) -> dict[str, Any]:
    """The summary as `hrmdoc triage --json` has it."""
    found: dict[str, Any] = msgspec.to_builtins(run)
    return {key: value for key, value in found.items() if key != "format"} | {
        "lost_gpu_hours": run.lost_hours
    }


def of_summary(run: Summary) -> Result:
    """What is kept of a run, with the run itself as the place of every finding."""
    path = local(safe(run.path, 2000))
    findings = [
        Finding(one.symptom, one.title, one.severity, one.evidence, path, step=one.step, over=one.over)
        for one in run.incidents
    ]
    if run.verdict in ("no_data", "incomplete"):
        findings.append(Finding(UNREAD, "Not all could be judged", "warning", safe(run.headline), path))
    causes = tuple((one.title, one.probability) for one in run.causes if not one.benign) if run.sick else ()
    return Result(
        path, run.verdict, run.headline, tuple(findings), causes[:3], run.remedy, document=plain(run)
    )
