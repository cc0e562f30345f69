"""Why a fault was missed, by the rules alone: which of its signs could not be evaluated, and which
stayed away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Rulebook

STRONG = 0.3
"""A sign that a cause shows at least so often is one that was to be expected."""
SHOWN = 4


def reason(
    causes: Sequence[str], named: Mapping[str, float], symptoms: Sequence[Symptom], book: Rulebook
) -> str:
    """One line for the table of misses.

    Args:
        causes: ids of the true causes.
        named: the faults that the diagnosis names, with their probabilities.
        symptoms: all symptoms as examined.
        book: the rules.
    """
    by_id = _signs(causes, symptoms, book)
    seen = sorted(name for name, one in by_id.items() if one.seen)
    # Signatures of lines are left out: that they stay away says nothing about a threshold.
    blind = sorted(name for name, one in by_id.items() if one.state == "not_evaluated")
    absent = sorted(
        name
        for name, one in by_id.items()
        if one.state == "absent" and book.symptoms[name].when.form() != "lines"
    )
    parts = [f"{cause} named at {p:.2f}" for cause, p in named.items() if cause in causes]
    if seen:
        parts.append("seen, but harmless by itself or explained: " + _some(seen))
    if absent:
        parts.append("below its threshold: " + _some(absent))
    if blind:
        parts.append("not in these logs: " + _some([f"{name}{_missing(by_id[name])}" for name in blind]))
    return "; ".join(parts) or "no rule looks for it in such logs"


def _signs(causes: Sequence[str], symptoms: Sequence[Symptom], book: Rulebook) -> dict[str, Symptom]:
    """The symptoms that the causes were expected to show, each once, as seen where it was."""
    produced = [book.causes[cause].produces for cause in causes if cause in book.causes]
    expected = {name for weights in produced for name, w in weights.items() if w >= STRONG}
    by_id: dict[str, Symptom] = {}
    for symptom in symptoms:
        if symptom.id in expected and (symptom.id not in by_id or symptom.seen):
            by_id[symptom.id] = symptom
    return by_id


def _missing(symptom: Symptom) -> str:
    return f" (needs {symptom.missing[0]})" if symptom.missing else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
