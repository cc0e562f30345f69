"""Case files of rules, in the manner of `promtool test rules`: given these series, facts and lines, this
symptom shows or not.

```yaml
symptom: loss-spike
cases:
- title: near miss, a noisy small-batch loss is no spike
  kind: sft                            # run kind, optional
  facts: {optimizer.lr: 1.0e-4}        # canonical facts, optional
  steps: 10                            # step spacing, default 1
  axis: epoch                          # what steps count, default step
  again_at: 60                         # point at which the step counter begins anew, optional
  series: {train.loss: "2.5-0.01~0.05x100"}   # role, or role@rank
  lines: ["...", {text: "...", step: 12}]
  expect: absent                       # absent, not_evaluated, present or resolved
```
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field

from hrmdoc.errors import RuleError
from hrmdoc.examination.cases.examples import log_line
from hrmdoc.examination.cases.notation import series_from
from hrmdoc.examination.examine import Examination
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.records import Axis, Event, Points, Tick
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Rulebook, Severity
from hrmdoc.rulebook.rulefile import convert


class CaseLine(Struct, forbid_unknown_fields=True, frozen=True):
    """A log line with the training step at which it stands."""

    text: str
    step: int | None = None


class CaseEvent(Struct, forbid_unknown_fields=True, frozen=True):
    """A lifecycle event of the run."""

    kind: Literal["start", "resume", "checkpoint", "eval", "exception", "action", "end", "restart", "launch"]
    step: int | None = None
    detail: str = ""


class Case(Struct, forbid_unknown_fields=True, frozen=True):
    """One case: what is given, and what the rule must say of it."""

    title: str
    expect: Literal["absent", "not_evaluated", "present", "resolved"]
    kind: str | None = None
    framework: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    steps: int = 1
    axis: Axis = "step"
    again_at: int | None = None
    seconds: float | None = None
    quiet_for: float | None = None
    series: dict[str, str] = field(default_factory=dict)
    lines: tuple[str | CaseLine, ...] = ()
    events: tuple[CaseEvent, ...] = ()
    from_step: int | None = None
    by_step: int | None = None
    severity: Severity | None = None


class CaseFile(Struct, forbid_unknown_fields=True, frozen=True):
    """tests/rules/<symptom>.yaml"""

    symptom: str
    cases: tuple[Case, ...]


def load_cases(path: Path) -> CaseFile:
    """Reads one case file.

    Raises:
        RuleError: the file is no valid case file.
    """
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot read the cases: {error.strerror}", file=path) from error
    return convert(path, blob, CaseFile)


def check_file(path: Path, book: Rulebook, matcher: SignatureMatcher) -> Iterator[tuple[Case, str | None]]:
    """Every case of one file with what is wrong about it, None when it holds.

    Raises:
        RuleError: the file is no valid case file, or its symptom does not exist.
    """
    cases = load_cases(path)
    if cases.symptom not in book.symptoms:
        raise RuleError(f"no symptom {cases.symptom!r}", file=path)
    for case in cases.cases:
        yield case, check_case(cases.symptom, case, book, matcher)


def check_case(symptom: str, case: Case, book: Rulebook, matcher: SignatureMatcher) -> str | None:
    """What is wrong with the outcome of `case`, None when the rule says what is expected."""
    found = examine(case, book, matcher)[symptom]
    if found.state != case.expect:
        detail = found.evidence or ", ".join(found.missing)
        return f"expected {case.expect}, found {found.state}" + (f" ({detail})" if detail else "")
    step = found.first_step
    if case.from_step is not None and (step is None or step < case.from_step):
        return f"began at step {step}, expected not before {case.from_step}"
    if case.by_step is not None and (step is None or step > case.by_step):
        return f"began at step {step}, expected by {case.by_step}"
    if case.severity is not None and found.severity != case.severity:
        return f"severity is {found.severity}, expected {case.severity}"
    return None


def examine(case: Case, book: Rulebook, matcher: SignatureMatcher) -> dict[str, Symptom]:
    """All symptoms of the run that `case` describes."""
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    for name, notation in case.series.items():
        run.add(_points(case, name, notation))
    for number, item in enumerate(case.lines, 1):
        text, step = (item, None) if isinstance(item, str) else (item.text, item.step)
        run.add(log_line(text, number, step))
    for event in case.events:
        run.add(Event(event.kind, "case.log", step=event.step, detail=event.detail))
    run.line_count = len(case.lines)
    stated = {"run.kind": case.kind, "run.framework": case.framework}
    facts = case.facts | {key: value for key, value in stated.items() if value}
    if case.quiet_for is not None:
        run.add(Tick(quiet=case.quiet_for))
    examination = Examination(run, book, matcher=matcher, facts=facts)
    return {symptom.id: symptom for symptom in examination.advance(closed=case.quiet_for is None)}


def _points(case: Case, name: str, notation: str) -> Points:
    """A series of the case as a reader gives it; `name` is a role, or role@rank."""
    role, _, rank = name.partition("@")
    values = series_from(notation, seed=case.title + name)
    steps = np.arange(len(values), dtype=np.int64) * case.steps
    if case.again_at is not None:
        steps[case.again_at :] -= case.again_at * case.steps
    times = np.full(len(values), np.nan) if case.seconds is None else steps * case.seconds
    keep = ~np.isnan(values) | _spelled_nan(notation, len(values))
    at = int(rank) if rank else None
    return Points(
        role, steps[keep], values[keep], times[keep], "case.log", rank=at, axis=case.axis, precision=3
    )


def _spelled_nan(notation: str, n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which values are NaN on purpose (`nan`) rather than missing (`_`)."""
    marks: list[bool] = []
    for item in notation.split():
        body, _, count = item.partition("x")
        marks += [body == "nan"] * (int(count) if count.isdigit() else 1)
    return np.array((marks + [False] * n)[:n], dtype=bool)
