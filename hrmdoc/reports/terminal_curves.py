"""The key metrics of a run as one line each, with the steps at which something began marked below."""

from __future__ import annotations

import math

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.series import Series
from hrmdoc.reports.ink import Surface, Text
from hrmdoc.reports.layout import safe, width
from hrmdoc.reports.sparkline import MARK, column, sparkline

CURVES = (
    "train.loss",
    "eval.loss",
    "rl.reward",
    "grad_norm",
    "lr",
    "train.exact_accuracy",
    "eval.exact_accuracy",
    "eval.accuracy",
    "act.steps",
    "rl.entropy",
    "rl.kl",
)
MOST, MARKED = 6, 3
WIDEST, NARROWEST = 44, 12
NAME = 24
ENDS = 22
"""Columns kept for the first and last value."""


def show_curves(analysis: Analysis, console: Surface) -> None:
    """Prints the curves of the roles that people look at first; those with findings are never left out."""
    shown = chosen(analysis)
    if not shown:
        return
    console.print()
    names = max(len(safe(series.key.metric, NAME)) for series in shown)
    room = max(NARROWEST, min(WIDEST, width(console) - names - 4 - ENDS))
    for series in shown:
        name = safe(series.key.metric, NAME).ljust(names)
        bars = sparkline(series.values, room) if len(series) > 1 else ""
        line = (
            Text(f"  {name}  ")
            .append(bars, style="cyan")
            .append(("  " if bars else "") + ends(series), style="dim")
        )
        console.print(line, soft_wrap=True)
        for symptom in symptoms_of(analysis, series)[:MARKED] if bars else ():
            console.print(_mark(symptom, series, names + 4, room, width(console)), soft_wrap=True)


def chosen(analysis: Analysis) -> list[Series]:
    """The curves to show, in the order in which people look: those with findings before the others."""
    found = [series for role in CURVES if (series := analysis.run.best(role)) is not None]
    marked = [series for series in found if symptoms_of(analysis, series)][:MOST]
    others = [series for series in found if series not in marked]
    return sorted([*marked, *others[: MOST - len(marked)]], key=found.index)


def symptoms_of(analysis: Analysis, series: Series) -> list[Symptom]:
    """What was found in this metric and has a place on its curve, the earliest first."""
    found = [
        symptom
        for symptom in analysis.present
        if symptom.metric == series.key.metric
        and symptom.first_step is not None
        and analysis.severity(symptom) != "info"
    ]
    return sorted(found, key=lambda symptom: symptom.first_step or 0)


def _mark(symptom: Symptom, series: Series, indent: int, room: int, wide: int) -> Text:
    """A mark under the step with the symptom's name on the side where it fits."""
    at = indent + column(series.steps, symptom.first_step or 0, room)
    label = f"{symptom.id} from {symptom.unit} {symptom.first_step}" + (
        " (over)" if symptom.state == "resolved" else ""
    )
    if max(at, wide - at) < len(label) + 2:
        label = symptom.id
    if at + 2 + len(label) <= wide or at < len(label) + 1:
        return Text(" " * at).append(MARK, style="red").append(f" {label}", style="dim")
    return Text(" " * (at - len(label) - 1)).append(f"{label} ", style="dim").append(MARK, style="red")


def ends(series: Series) -> str:
    values = series.values
    if len(values) == 1:
        return f"{number(values[0])} (one point)"
    if np.all(values == values[0]):
        return f"{number(values[0])} throughout"
    return f"{number(values[0])} → {number(values[-1])}"


def number(value: float) -> str:
    """A value in four digits."""
    return str(value) if not math.isfinite(value) else f"{value:.4g}"
