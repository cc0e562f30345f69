"""The words of a rule around the numbers of a finding."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hrmdoc.examination.scene import Finding
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import SymptomRule
from hrmdoc.text import patterns
from hrmdoc.text.clean import clean, duration

_OF_SERIES = frozenset({"first", "last", "now", "best", "highest", "points", "in_all"})
"""Numbers for sentences that ask for them; a list of what was found leaves them out."""
_HOLE = patterns.lazy(r"\{([\w.]+)(?::([^}{]{1,8}))?\}")

_CLAUSE = patterns.lazy(r"(?<=[,;]) ")
_BAR = patterns.lazy(r"\d{1,3}%\|[^|]{0,200}\| ?[^\[\]]{0,80}\[[^\[\]]{0,200}\][ \r]?")
"""A progress bar as tqdm draws it."""


def behind_bar(text: str, pattern: str) -> str:
    """A log line without the progress bars it was written behind, as long as the rest holds the pattern."""
    ends = [bar.end() for bar in _BAR.finditer(text[:4096])]
    rest = text[ends[-1] :] if ends else text
    return rest if ends and re.search(pattern, rest) else text


def to_symptom(rule: SymptomRule, finding: Finding, facts: Mapping[str, Any]) -> Symptom:
    """The rule's words around the finding's numbers and the facts of the run."""
    return Symptom(
        id=rule.id,
        title=rule.title,
        severity=rule.severity,
        state=finding.state,
        role=finding.role,
        metric=finding.metric,
        first_step=finding.first_step,
        last_step=finding.last_step,
        first_time=finding.first_time,
        count=finding.count,
        evidence=evidence(rule, finding, facts),
        values=dict(finding.values),
        file=finding.file,
        line=finding.line,
        playbook=rule.playbook,
        missing=finding.missing,
        group=rule.group,
        rank=finding.rank,
        score=finding.score,
    )


def evidence(rule: SymptomRule, finding: Finding, facts: Mapping[str, Any]) -> str:
    """One sentence with the numbers of a finding; empty when nothing was seen. Log text in it is cleaned."""
    if finding.state not in ("present", "resolved"):
        return ""
    words: dict[str, Any] = {
        **facts,
        **finding.values,
        "role": finding.role,
        "metric": finding.metric,
        "step": finding.first_step,
        "last_step": finding.last_step,
        "count": finding.count,
        "rank": finding.rank,
    }
    no_metric = not finding.metric  # by a line or by an expression: words about a metric do not fit
    template = (
        _default_template(finding)
        if no_metric and "{metric}" in (rule.evidence or "")
        else rule.evidence or _default_template(finding)
    )
    template = template.replace("step {step}", f"{finding.values.get('unit', 'step')} {{step}}")

    def fill(hole: re.Match[str]) -> str:
        return _spell(words.get(hole[1]), hole[2])

    return clean(_HOLE.sub(fill, _known(template, words) or rule.title), 400)


def _known(template: str, words: Mapping[str, Any]) -> str:
    """The clauses of a sentence whose numbers are there; nothing where its first one lacks any."""
    clauses = _CLAUSE.split(template)
    kept = [
        clause for clause in clauses if all(words.get(hole[1]) is not None for hole in _HOLE.finditer(clause))
    ]
    return " ".join(kept).rstrip(" ,;") if kept[:1] == clauses[:1] else ""


def _default_template(finding: Finding) -> str:
    if "text" in finding.values:
        return "{text}"
    if "value" in finding.values:
        return "{metric} is {value} at step {step}"
    return ", ".join(f"{key} = {{{key}}}" for key in finding.values if key not in _OF_SERIES)


def _spell(value: object, spec: str | None) -> str:
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if spec == "time":
            return duration(value)
        try:
            return format(value, spec or (".4g" if isinstance(value, float) else ""))
        except ValueError:
            return format(value, ".4g")
    return str(value)
