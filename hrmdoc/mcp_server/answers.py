"""What the tools say of an analysis. Titles and ids are the rules' own; all else is the run's, and quoted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.triage import Fleet
from hrmdoc.mcp_server.quotes import Quotes
from hrmdoc.record.series import Series
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.reports.layout import place
from hrmdoc.reports.verdict import NAMED, SICK, headline, sentence

MOST = 200
"""Items of a list, before an answer is cut to its size."""


def diagnosis(analysis: Analysis, quotes: Quotes) -> dict[str, Any]:
    """Verdict, findings and causes of a run."""
    sick = analysis.verdict in SICK
    said = headline(analysis).title if sick else quotes.line(sentence(analysis))
    missing = dict.fromkeys(name for symptom in analysis.not_evaluated for name in symptom.missing)
    answer = {
        "verdict": analysis.verdict,
        "said": said,
        "state": analysis.state,
        "framework": analysis.situation.framework,
        "kind": analysis.situation.kind,
        "causes": list(_causes(analysis)),
        "findings": [
            {
                "id": one.id,
                "title": one.title,
                "severity": analysis.severity(one),
                "step": one.first_step,
                "over": one.state == "resolved",
                "evidence": quotes.line(one.evidence),
                "where": quotes.line(place(one.file, one.line)),
            }
            for one in analysis.findings[:MOST]
        ],
        "not_evaluated": {"rules": len(analysis.not_evaluated), "missing": list(missing)[:5]},
        "unread": [quotes.line(f"{one.file}: {one.what}") for one in analysis.unread[:5]],
        "look_next": quotes.line(analysis.diagnosis.next_check, 300),
    }
    return _full(answer)


def _causes(analysis: Analysis) -> Iterator[dict[str, Any]]:
    for one in analysis.diagnosis.hypotheses:
        if one.probability >= NAMED or one.rank == 1:
            offers = analysis.prescriptions.get(one.cause, ())
            yield {
                "id": one.cause,
                "title": one.title,
                "probability": round(one.probability, 3),
                "benign": one.benign,
                "remedies": [remedy_line(offer) for offer in offers[:3]],
            }


def remedy_line(offer: Prescription) -> str:
    """A remedy in a line: what it is called, how risky it is, whether it is a patch."""
    form = "patch" if offer.patch is not None else "no patch"
    return f"{offer.remedy.id} ({offer.remedy.risk}, {form}): {offer.remedy.title}"


def fleet(found: Fleet, names: Iterable[str], quotes: Quotes) -> dict[str, Any]:
    """Many runs, the worst first."""
    verdicts = [run.verdict for run in found.runs]
    return _full(
        {
            "runs_examined": len(verdicts),
            "verdicts": {name: verdicts.count(name) for name in dict.fromkeys(verdicts)},
            "runs": [_run(run, name, quotes) for run, name in zip(found.runs[:MOST], names, strict=False)],
            "alike": [
                {"fails_as": group.name, "runs": len(group.runs)}
                for group in found.failure_modes
                if len(group.runs) > 1
            ],
            "separates": [quotes.line(one.said) for one in found.separations],
        }
    )


def _run(run: Summary, name: str, quotes: Quotes) -> dict[str, Any]:
    leading = next(iter(run.incidents), None)
    titled = run.sick and leading is not None
    cause = run.cause
    return _full(
        {
            "run": quotes.line(name, 300),
            "verdict": run.verdict,
            "said": leading.title if titled and leading else quotes.line(run.headline, 120),
            "step": run.step,
            "cause": cause.cause if cause else None,
            "probability": round(cause.probability, 2) if cause else None,
        }
    )


def metrics(series: Iterable[Series], quotes: Quotes) -> list[dict[str, Any]]:
    """Each metric in a line, those of a known role first."""
    ranked = sorted(series, key=lambda one: (not one.role.role, one.role.role or "", one.key.metric))
    return [_metric(one, quotes) for one in ranked[:MOST]]


def _metric(one: Series, quotes: Quotes) -> dict[str, Any]:
    finite = one.finite
    return _full(
        {
            "metric": quotes.line(one.key.metric, 80),
            "role": one.role.role,
            "rank": one.key.rank,
            "axis": one.axis,
            "points": len(one),
            "not_finite": len(one) - len(finite),
            "steps": [int(one.steps.min()), int(one.steps.max())],
            "range": [_rounded(finite.min()), _rounded(finite.max())] if len(finite) else None,
            "last": _rounded(one.values[-1]),
        }
    )


def points(one: Series, most: int) -> list[list[Any]]:
    """At most so many `[step, value]`: evenly spread, with the lowest, the highest, the first that is no
    number, and the last."""
    total = len(one)
    if total <= most:
        chosen = np.arange(total)
    else:
        finite = np.flatnonzero(np.isfinite(one.values))
        places = [0, total - 1]
        places += (
            [finite[one.values[finite].argmin()], finite[one.values[finite].argmax()]] if len(finite) else []
        )
        places += np.flatnonzero(~np.isfinite(one.values))[:1].tolist()
        spread = np.linspace(0, total - 1, max(2, most - len(set(places)))).astype(int).tolist()
        chosen = np.array(sorted({*spread, *map(int, places)}))
    return [[int(one.steps[at]), _rounded(one.values[at])] for at in chosen]


def _rounded(value: Any) -> float | str:
    number = float(value)
    return float(f"{number:.5g}") if math.isfinite(number) else str(number)


def _full(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing."""
    return {key: value for key, value in answer.items() if value not in (None, "", [], {}, False)}
