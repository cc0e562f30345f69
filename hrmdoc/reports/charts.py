"""Which curves of a run a page shows, with the marks of what shows in them: those that moved as charts, those
that did not as a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from hrmdoc.analysis import Analysis
from hrmdoc.record.series import Series
from hrmdoc.reports.curve import Line, Mark, svg
from hrmdoc.reports.layout import safe
from hrmdoc.reports.terminal_curves import CURVES, number, symptoms_of
from hrmdoc.reports.twins import Companion
from hrmdoc.reports.verdict import SEVEREST

MOST = 8
MARKS = 5
UNITS = {"index": "point", "epoch": "epoch", "sample": "sample"}


@dataclass(frozen=True, slots=True)
class Legend:
    """One mark in words. `symptom` is its id; `when` such as `from step 120`."""

    number: int
    symptom: str
    title: str
    severity: str
    when: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One metric, drawn. `ends`: its first and last value; `lines`: style and label of what lies over it."""

    name: str
    ends: str
    logarithmic: bool
    broken: int
    picture: Markup
    marks: tuple[Legend, ...]
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Charts:
    """What a page draws; `flat`: name and value of metrics that are one point or did not move."""

    drawn: tuple[Chart, ...]
    flat: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class View:
    """How curves are looked at. `window`: first, last step; `logarithmic`: None decides by the values."""

    window: tuple[float, float] | None = None
    logarithmic: bool | None = None


def charts(analysis: Analysis, companions: Sequence[Companion] = (), view: View | None = None) -> Charts:
    """The curves of a run, those with findings first among equals. Of one that ended before it had any, those
    of its companions."""
    series = _chosen(analysis)
    moving = [one for one in series if not is_flat(one)]
    drawn = [_chart(analysis, one, companions, view or View()) for one in moving[:MOST]]
    if not any(one.picture for one in drawn):
        drawn = list(_of_others(analysis, companions, view or View()))
    flat = tuple((safe(one.key.metric, 60), _throughout(one)) for one in series if is_flat(one))
    return Charts(tuple(one for one in drawn if one.picture), flat[:MOST])


def is_flat(series: Series) -> bool:
    """Whether there is nothing to draw: one point, or one finite value throughout."""
    values = series.values
    return len(values) == 1 or bool(np.all(values == values[0])) or bool(np.isnan(values).all())


def _chosen(analysis: Analysis) -> list[Series]:
    """The curves that people look at first, behind those in which something was found."""
    found = [series for role in CURVES if (series := analysis.run.best(role)) is not None]
    named = {symptom.metric for symptom in analysis.present if symptom.metric}
    others = [one for one in analysis.run.series.values() if one.key.metric in named and len(one)]
    metrics = {one.key.metric for one in found}
    for one in others:
        if one.key.metric not in metrics and symptoms_of(analysis, one):
            metrics.add(one.key.metric)
            found.append(one)
    return sorted(found, key=lambda one: not symptoms_of(analysis, one))


def _throughout(series: Series) -> str:
    value, points = number(series.values[0]), len(series)
    return f"{value} (one point)" if points == 1 else f"{value} throughout {points:,} points"


def _chart(analysis: Analysis, series: Series, companions: Sequence[Companion], view: View) -> Chart:
    name, unit = safe(series.key.metric, 60), UNITS.get(series.axis, "step")
    legend = tuple(_legend(analysis, series))
    lines = [Line(series.steps, series.values), *_overlays(series, companions)]
    marks = [Mark(step, one.number, one.severity) for one, step in legend]
    picture = svg(name, lines, marks, unit=unit, logarithmic=view.logarithmic, window=view.window)
    return Chart(
        name,
        _ends(series),
        'data-log="1"' in picture,
        int(np.count_nonzero(~np.isfinite(series.values))),
        Markup(picture),  # noqa: S704 (own SVG, escaped inside)
        tuple(one for one, _ in legend),
        tuple((line.style, line.label) for line in lines[1:]),
    )


def _of_others(analysis: Analysis, companions: Sequence[Companion], view: View) -> Iterator[Chart]:
    """What the run would have come to: the curves of its companions, and the point that it has, if any."""
    for series in [one for other in companions[:1] for one in _chosen(other.analysis) if not is_flat(one)]:
        alike = (one for one in analysis.run.series.values() if one.key.metric == series.key.metric)
        own = next(alike, None)
        name, unit = safe(series.key.metric, 60), UNITS.get(series.axis, "step")
        lines = [
            Line(series.steps[:0], series.values[:0]) if own is None else Line(own.steps, own.values),
            *_overlays(series, companions),
        ]
        picture = svg(name, lines, unit=unit, logarithmic=view.logarithmic, window=view.window)
        over = tuple((line.style, line.label) for line in lines[1:])
        ends = "no curve" if own is None else _throughout(own)
        yield Chart(name, ends, 'data-log="1"' in picture, 0, Markup(picture), (), over)  # noqa: S704 (own SVG)


def _ends(series: Series) -> str:
    return " → ".join(number(float(one)) for one in (series.values[0], series.values[-1]))


def _legend(analysis: Analysis, series: Series) -> Iterator[tuple[Legend, int]]:
    worst = sorted(symptoms_of(analysis, series), key=lambda one: SEVEREST.index(analysis.severity(one)))
    for index, symptom in enumerate(sorted(worst[:MARKS], key=lambda one: one.first_step or 0), 1):
        step = symptom.first_step or 0
        when = f"from {symptom.unit} {step:,}" + (", over" if symptom.state == "resolved" else "")
        yield Legend(index, symptom.id, symptom.title, analysis.severity(symptom), when), step


def _overlays(series: Series, companions: Iterable[Companion]) -> Iterator[Line]:
    """The same metric of the other runs, in the same role where they name it otherwise."""
    for one in companions:
        theirs = one.analysis.run.best(series.role.role) if series.role.role else None
        if theirs is None:
            same = (s for s in one.analysis.run.series.values() if s.key.metric == series.key.metric)
            theirs = next(same, None)
        if theirs is not None and len(theirs) > 1 and theirs.axis == series.axis:
            yield Line(theirs.steps, theirs.values, one.style, one.label)
