"""An analysis as JSON, schema `hrmdoc.diagnosis/1` (shipped beside this file as `diagnosis.schema.json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from hrmdoc import __version__
from hrmdoc.analysis import Analysis
from hrmdoc.diagnosis.diagnose import Evidence, Hypothesis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.records import DATED
from hrmdoc.remedies.prescribe import Prescription
from hrmdoc.reports.verdict import SEVEREST
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact, redact_value

SCHEMA = "hrmdoc.diagnosis/1"


def dumps(analysis: Analysis) -> str:
    """The JSON text; numbers that JSON lacks (NaN, infinities) are written as strings."""
    return json.dumps(document(analysis), indent=2, ensure_ascii=False, allow_nan=False)


def dumps_runs(documents: Sequence[dict[str, Any]]) -> str:
    """Several diagnoses as one JSON text, schema `hrmdoc.runs/1`: the worst first."""
    ranked = sorted(documents, key=lambda one: SEVEREST.index(one["verdict"]))
    text = {"schema": "hrmdoc.runs/1", "version": __version__, "runs": ranked}
    return json.dumps(text, indent=2, ensure_ascii=False, allow_nan=False)


def document(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data."""
    run, situation = analysis.run, analysis.situation
    progress = run.best("train.loss") or next((s for s in run.series.values() if len(s)), None)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "run": {
            "path": _safe_text(run.path),
            "formats": sorted(set(run.formats)),
            "framework": situation.framework,
            "kind": situation.kind,
            "kind_reason": _safe_text(situation.reason),
            "state": analysis.state,
            "first_step": None if progress is None else int(progress.steps.min()),
            "last_step": None if progress is None else int(progress.steps.max()),
            "points": run.points,
            "lines": run.line_count,
            "ranks": run.ranks,
        },
        "verdict": analysis.verdict,
        "symptoms": [_symptom(analysis, symptom) for symptom in analysis.present],
        "hypotheses": [_hypothesis(analysis, one) for one in analysis.diagnosis.hypotheses],
        "not_evaluated": [
            {"symptom": symptom.id, "missing": [_safe_text(name) for name in symptom.missing]}
            for symptom in analysis.not_evaluated
        ],
        "input_errors": [
            {"file": _safe_text(d.file), "line": d.line, "what": _safe_text(d.what)} for d in run.damages
        ],
        "notes": [_safe_text(note) for note in analysis.notes],
        "next_check": _safe_text(analysis.diagnosis.next_check),
    }


def _symptom(analysis: Analysis, symptom: Symptom) -> dict[str, Any]:
    return {
        "id": symptom.id,
        "title": symptom.title,
        "severity": analysis.severity(symptom),
        "role": symptom.role,
        "metric": _safe_text(symptom.metric),
        "first_step": symptom.first_step,
        "last_step": symptom.last_step,
        "first_time": symptom.first_time if (symptom.first_time or 0.0) >= DATED else None,
        "resolved": symptom.state == "resolved",
        "count": symptom.count,
        "evidence": _safe_text(symptom.evidence),
        "values": {key: plain(value) for key, value in symptom.values.items()},
        "source": {"file": _safe_text(symptom.file), "line": symptom.line},
        "rank": symptom.rank,
        "acknowledged": analysis.acknowledged.get(symptom.id),
        "playbook": symptom.playbook,
    }


def _hypothesis(analysis: Analysis, one: Hypothesis) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "cause": one.cause,
        "title": one.title,
        "probability": round(one.probability, 4),
        "benign": one.benign,
        "for": [_evidence(evidence) for evidence in one.for_],
        "against": [_evidence(evidence) for evidence in one.against],
        "remedies": [_prescription(p) for p in analysis.prescriptions.get(one.cause, ())],
        "playbook": one.playbook,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "symptom": evidence.symptom,
        "log_odds": round(evidence.log_odds, 3),
        "evidence": _safe_text(evidence.text),
    }


def _prescription(one: Prescription) -> dict[str, Any]:
    return {
        "id": one.remedy.id,
        "title": one.remedy.title,
        "kind": one.remedy.kind,
        "risk": one.remedy.risk,
        "why": one.remedy.why,
        "patch": [
            {
                "key": c.key,
                "file": _safe_text(c.file),
                "path": c.path,
                "from": plain(c.before),
                "to": plain(c.after),
            }
            for c in one.changes
        ],
        "overrides": one.overrides,
        "steps": list(one.remedy.steps),
        "obstacle": one.obstacle,
    }


def _safe_text(text: str) -> str:
    return redact(clean(text, 2000))


def plain(value: object) -> Any:
    """A value as JSON can hold it: text cleaned and redacted, non-finite numbers as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): plain(redact_value(str(key), one)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return _safe_text(str(value))
