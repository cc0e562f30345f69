"""Which actions a live run is offered: by what was measured of it, never by what a line of its log says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hrmdoc.analysis import Analysis
from hrmdoc.rulebook import Remedy


def live_actions(analysis: Analysis, least: float = 0.0) -> Iterator[tuple[Remedy, str]]:
    """Actions against the causes of at least this probability, then first aid: what ends a critical symptom,
    whatever its cause, or one that the remedy says to be first aid for.

    Only what was measured counts. A line of a log is anybody's text: it can be printed by a sample of the
    data, and brings no action about.

    Yields:
        The remedy, and the cause or symptom that it is for.
    """
    remedies, measured = analysis.book.remedies, _measured(analysis)
    for cause in analysis.diagnosis.hypotheses:
        if not cause.benign and cause.probability >= least and measured & {e.symptom for e in cause.for_}:
            yield from (
                (remedies[name], cause.cause) for name in cause.remedies if remedies[name].kind == "action"
            )
    for remedy in remedies.values():
        if remedy.kind == "action" and (ended := _first_aid(remedy, analysis)):
            yield remedy, ended


def _measured(analysis: Analysis) -> set[str]:
    return {one.id for one in analysis.symptoms if one.state == "present" and one.signature_role is None}


def _first_aid(remedy: Remedy, analysis: Analysis) -> str:
    """The first symptom for which it is first aid, "" where there is none."""
    bad = ("warning", "critical") if remedy.first_aid else ("critical",)
    measured = _measured(analysis)
    severe = {one.id for one in analysis.symptoms if one.id in measured and analysis.severity(one) in bad}
    return next((name for name in remedy.verify.gone if name in severe), "")


def worded(request: Mapping[str, object]) -> str:
    """An action as one reads it: `set_lr lr=2e-05`."""
    return " ".join(
        [
            str(request["action"]),
            *(f"{key}={value:g}" for key, value in request.items() if isinstance(value, float)),
        ]
    )
