"""Markdown as short as a comment should be: a table of the runs, then what was found in each that is sick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrmdoc.reports.formats.result import Finding, Result
from hrmdoc.reports.review import markdown_safe
from hrmdoc.reports.verdict import ICONS, SEVEREST

MOST_FINDINGS = 10
MOST_RUNS = 50


def render(results: Sequence[Result], fail_on: str) -> str:
    """The worst first; a run without a fault is a line."""
    del fail_on
    ranked = sorted(results, key=lambda one: (SEVEREST.index(one.verdict), one.path))
    return "\n".join(line for line in _sections(ranked))


def _sections(ranked: Sequence[Result]) -> Iterator[str]:
    if len(ranked) != 1:
        yield f"### hrmdoc: {len(ranked):,} looked at\n"
        yield "| | what was looked at | what was found |"
        yield "|---|---|---|"
        for one in ranked[:MOST_RUNS]:
            yield f"| {_verdict(one)} | {markdown_safe(one.name)} | {markdown_safe(one.headline)} |"
        if len(ranked) > MOST_RUNS:
            yield f"\n{len(ranked) - MOST_RUNS:,} more are not listed."
        yield ""
    for one in ranked[:MOST_RUNS]:
        if one.findings or len(ranked) == 1:
            yield from _section(one)


def _section(result: Result) -> Iterator[str]:
    yield f"#### {_verdict(result)}: {markdown_safe(result.name)}\n"
    for finding in result.findings[:MOST_FINDINGS]:
        yield f"- {ICONS[finding.severity]} {_said(finding)}"
    if len(result.findings) > MOST_FINDINGS:
        yield f"- and {len(result.findings) - MOST_FINDINGS} more"
    if not result.findings:
        yield markdown_safe(result.headline)
    yield ""
    if result.causes:
        named = ", ".join(f"{markdown_safe(title)} ({share:.0%})" for title, share in result.causes)
        yield f"Probable causes: {named}\n"
    if result.remedy:
        yield f"What helps: {markdown_safe(result.remedy)}\n"


def _verdict(result: Result) -> str:
    return f"{ICONS[result.verdict]} **{result.verdict.replace('_', ' ').upper()}**"


def _said(finding: Finding) -> str:
    place = finding.file + (f":{finding.line}" if finding.line else "")
    parts = [f"**{markdown_safe(finding.title)}** ({markdown_safe(finding.id)})"]
    parts += [markdown_safe(finding.detail)] if finding.detail else []
    parts += [markdown_safe(place)] if place else []
    parts += ["by now over"] if finding.over else []
    parts += [f"known: {markdown_safe(finding.known)}"] if finding.known else []
    return ", ".join(parts)
