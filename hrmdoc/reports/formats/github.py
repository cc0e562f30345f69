"""Annotations of a GitHub workflow: commands on standard output that show beside the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrmdoc.reports.formats.result import Finding, Result

_LEVELS = {"critical": "error", "warning": "warning", "info": "notice"}


def render(results: Sequence[Result], fail_on: str) -> str:
    """A command a line, for each finding that the user did not acknowledge."""
    del fail_on
    return "".join(line for result in results for line in _commands(result))


def _commands(result: Result) -> Iterator[str]:
    for finding in result.findings:
        if finding.known:
            continue
        yield f"::{_LEVELS[finding.severity]} {_properties(finding)}::{escaped(_message(result, finding))}\n"


def _properties(finding: Finding) -> str:
    places = {"file": finding.file if finding.file != "-" else "", "line": finding.line or ""}
    places["title"] = f"hrmdoc {finding.id}"
    return ",".join(f"{key}={_property(str(value))}" for key, value in places.items() if value)


def _message(result: Result, finding: Finding) -> str:
    """What shows; below the first finding also what answers it."""
    remedy = result.remedy_for(finding)
    return finding.said + (f"\nWhat helps: {remedy}" if remedy else "")


def escaped(text: str) -> str:
    """Text that cannot end its command or begin another."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return escaped(text).replace(":", "%3A").replace(",", "%2C")
