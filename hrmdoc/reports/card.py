"""A run as a cell of a notebook shows it: HTML that loads nothing and styles nothing but itself."""

from __future__ import annotations

from hrmdoc.analysis import Analysis
from hrmdoc.reports.html import environment
from hrmdoc.reports.layout import safe
from hrmdoc.reports.sparkline import sparkline
from hrmdoc.reports.terminal_curves import chosen, ends

CURVES, WIDTH = 4, 44
FINDINGS = 5
"""Findings that are shown; the report has all of them."""


def card(analysis: Analysis) -> str:
    """The verdict, its cause, curves, the first findings and what to do first. Text of the run is escaped."""
    series = chosen(analysis)[:CURVES]
    curves = [
        (safe(s.key.metric, 40), sparkline(s.values, WIDTH) if len(s) > 1 else "", ends(s)) for s in series
    ]
    found = [one for one in analysis.findings if analysis.severity(one) != "info"]
    template = environment().get_template("card.html.j2")
    return template.render(
        a=analysis, curves=curves, found=found[:FINDINGS], more=max(0, len(found) - FINDINGS)
    )
