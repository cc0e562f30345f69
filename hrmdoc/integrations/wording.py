"""Incidents in words, and which of them a policy means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hrmdoc.diagnosis.hypotheses import chance
from hrmdoc.text.titled import titled

if TYPE_CHECKING:
    from hrmdoc.live.incidents import Incident

Level = Literal["warning", "critical"]
AT_LEAST: dict[Level | None, tuple[str, ...]] = {
    None: (),
    "warning": ("warning", "critical"),
    "critical": ("critical",),
}
"""By the level that a policy names, the severities that it means."""


def line_of(incident: Incident) -> str:
    """An incident in one line, as a log shows it."""
    place = "" if incident.step is None else f" at step {incident.step}"
    if not incident.is_open:
        return f"hrmdoc: {incident.symptom} is over{place}"
    said = titled(incident.title or incident.symptom, incident.evidence)
    explained = f"hrmdoc explain {incident.cause or incident.symptom}"
    return f"hrmdoc: {incident.severity}{place}: {said}; {blamed(incident)} ({explained})"


def blamed(incident: Incident) -> str:
    """The leading cause of an incident in words."""
    if not incident.cause or incident.cause == "unknown":
        return "no known cause explains it"
    return f"{chance(incident.probability)} {incident.cause} ({incident.probability:.0%})"
