"""What a diagnosis can be written as for other programs: one file a format, all over the same `Result`s.

`text` and `json` are what each command prints by itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from hrmdoc.reports.formats.result import Finding, Result, of_document

__all__ = ["FORMATS", "Finding", "Result", "of_document", "render"]

FORMATS = {
    "jsonl": "a JSON document a line, one for each run",
    "markdown": "a comment for a pull request or a chat",
    "sarif": "SARIF 2.1.0, as code scanning reads it",
    "junit": "JUnit XML, as CI servers read it",
    "github": "annotations of a GitHub workflow",
    "gitlab": "a GitLab Code Quality report",
}


def render(name: str, results: Sequence[Result], fail_on: str = "warning") -> str:
    """`results` in the format of this name, ending in a line end where there is any text.

    Args:
        fail_on: from which severity on a finding fails a check: `info`, `warning`, `critical` or `never`.
    """
    module = importlib.import_module(f"hrmdoc.reports.formats.{name}")
    text: str = module.render(results, fail_on)
    return text if not text or text.endswith("\n") else text + "\n"
