"""SARIF 2.1.0, as code scanning reads it: a tool run in which each rule is declared and each finding placed.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hrmdoc import __version__
from hrmdoc.reports.formats.result import UNREAD, Finding, Result

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"critical": "error", "warning": "warning", "info": "note"}


def render(results: Sequence[Result], fail_on: str) -> str:
    """One log with one run of the tool over everything that was looked at."""
    del fail_on
    found = [(result, one) for result in results for one in result.findings]
    shown = [(result, one) for result, one in found if one.id != UNREAD]
    rules = {one.id: one for _, one in shown}
    numbers = {name: number for number, name in enumerate(rules)}
    run = {
        "tool": {"driver": _driver([*rules.values()])},
        "invocations": [_invocation(results, [one for _, one in found if one.id == UNREAD])],
        "columnKind": "unicodeCodePoints",
        "results": [_result(result, one, numbers[one.id]) for result, one in shown],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _driver(rules: Sequence[Finding]) -> dict[str, Any]:
    return {
        "name": "hrmdoc",
        "version": __version__,
        "rules": [
            {
                "id": one.id,
                "shortDescription": {"text": one.title},
                "help": {"text": f"hrmdoc explain {one.id}"},
                "defaultConfiguration": {"level": _LEVELS[one.severity]},
            }
            for one in rules
        ],
    }


def _invocation(results: Sequence[Result], unread: Sequence[Finding]) -> dict[str, Any]:
    """Whether all could be judged, and what could not be read."""
    judged = all(result.verdict not in ("no_data", "incomplete") for result in results)
    stated = [
        {"level": _LEVELS[one.severity], "message": {"text": _message(one)}, **_located(one.file, one.line)}
        for one in unread
    ]
    return {"executionSuccessful": judged, "toolExecutionNotifications": stated}


def _result(result: Result, one: Finding, number: int) -> dict[str, Any]:
    said: dict[str, Any] = {
        "ruleId": one.id,
        "ruleIndex": number,
        "level": _LEVELS[one.severity],
        "message": {"text": _message(one)},
        **_located(one.file, one.line),
        "partialFingerprints": {"hrmdoc/v1": one.fingerprint(result.path)},
        "properties": _properties(result, one),
    }
    if one.known:
        said["suppressions"] = [{"kind": "external", "justification": one.known}]
    return said


def _properties(result: Result, one: Finding) -> dict[str, Any]:
    stated = {
        "run": result.name,
        "metric": one.metric,
        "step": one.step,
        "over": one.over or None,
        "causes": [{"title": title, "probability": share} for title, share in result.causes],
        "remedy": result.remedy,
    }
    return {key: value for key, value in stated.items() if value not in (None, "", [])}


def _message(one: Finding) -> str:
    """What shows, without the links that viewers would make of brackets in it."""
    return one.said.replace("](", "] (")


def _located(file: str, line: int | None) -> dict[str, Any]:
    """The place as the schema wants it; none where there is no file."""
    if not file or file == "-":
        return {}
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {"locations": [{"physicalLocation": place}]}


def _uri(file: str) -> str:
    """A relative reference, or a `file:` address of what lies elsewhere."""
    if "://" in file:
        return quote(file, safe="/:?#[]@!$&'()*+,;=%", errors="surrogateescape")
    if os.path.isabs(file):
        return Path(file).as_uri()
    return quote(file, errors="surrogateescape")
