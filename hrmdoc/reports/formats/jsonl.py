"""JSON lines: the document of each run on a line of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hrmdoc.reports.formats.result import Result


def render(results: Sequence[Result], fail_on: str) -> str:
    """As the command's own JSON has each run."""
    del fail_on
    return "".join(json.dumps(one.document, ensure_ascii=False, allow_nan=False) + "\n" for one in results)
