"""A GitLab Code Quality report: findings that show in a merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hrmdoc.reports.formats.result import Result

_SEVERITIES = {"critical": "critical", "warning": "major", "info": "info"}


def render(results: Sequence[Result], fail_on: str) -> str:
    """A list of findings. GitLab wants a file and a line of each: the first where none is known."""
    del fail_on
    found = [
        {
            "description": one.said,
            "check_name": one.id,
            "fingerprint": one.fingerprint(result.path),
            "severity": _SEVERITIES[one.severity],
            "location": {"path": one.file or result.name, "lines": {"begin": one.line or 1}},
        }
        for result in results
        for one in result.findings
        if not one.known
    ]
    return json.dumps(found, indent=2, ensure_ascii=False)
