"""The reliability review: what happened, curves with marked steps, causes, remedies, time lost, what was not
evaluated.

One self-contained HTML page, or Markdown. Text from runs is cleaned, redacted and escaped; the page loads
nothing.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hrmdoc import __version__
from hrmdoc.analysis import Analysis
from hrmdoc.record.series import Series
from hrmdoc.reports.layout import safe
from hrmdoc.reports.ledger import Ledger, ledger
from hrmdoc.reports.sparkline import sparkline
from hrmdoc.reports.terminal_curves import CURVES
from hrmdoc.text.titled import titled

if TYPE_CHECKING:
    from hrmdoc.reports.charts import Charts
    from hrmdoc.reports.twins import Companion


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of the timeline."""

    order: tuple[float, int]
    step: str
    clock: str
    what: str
    severity: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """One run of the review."""

    analysis: Analysis
    ledger: Ledger
    timeline: tuple[Happening, ...]
    curves: tuple[Series, ...]
    single: tuple[Series, ...]


def html(analyses: Sequence[Analysis], overlaid: Sequence[Companion] = ()) -> str:
    """The review as one HTML page: the curves of its healed or healthy twin are laid over a sick run's.

    Args:
        overlaid: what is laid over the curves of the first run instead.
    """
    from hrmdoc.reports.charts import charts
    from hrmdoc.reports.html import environment, style
    from hrmdoc.reports.twins import companion

    def drawn(one: Chapter) -> Charts:
        if overlaid and one.analysis is analyses[0]:
            return charts(one.analysis, overlaid)
        twin = companion(one.analysis, analyses)
        return charts(one.analysis, [twin] if twin else ())

    template = environment().get_template("review.html.j2")
    return template.render(**_page_words(analyses), charts=drawn, style=Markup(style()))  # noqa: S704 (own file)


def markdown(analyses: Sequence[Analysis]) -> str:
    """The review as Markdown."""
    from hrmdoc.reports.html import environment

    plain = environment().overlay(autoescape=False)  # Markdown is escaped by `md`
    template = plain.get_template("review.md.j2")
    text = template.render(**_page_words(analyses), md=markdown_safe, sparkline=sparkline)
    return re.sub(r"\n{3,}", "\n\n", text)


def chapter_html(analysis: Analysis, number: int, others: Sequence[Analysis] = ()) -> str:
    """One run of a review of many, as its page holds it under the anchor `run<number>`; its twin among
    `others` is laid over it."""
    from hrmdoc.reports.charts import charts
    from hrmdoc.reports.html import environment
    from hrmdoc.reports.twins import companion

    template = environment().get_template("_article.html.j2")
    twin = companion(analysis, others)
    drawn = charts(analysis, [twin] if twin else ())
    return template.render(c=chapter(analysis), number=number, several=True, charts=lambda _: drawn)


def chapter_markdown(analysis: Analysis) -> str:
    """One run of a review of many, as Markdown."""
    from hrmdoc.reports.html import environment

    template = environment().overlay(autoescape=False).get_template("_article.md.j2")
    text = template.render(c=chapter(analysis), md=markdown_safe, sparkline=sparkline)
    return re.sub(r"\n{3,}", "\n\n", text)


def _page_words(analyses: Sequence[Analysis]) -> dict[str, Any]:
    """What both forms of the review say."""
    chapters = [chapter(analysis) for analysis in analyses]
    created = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return {"chapters": chapters, "version": __version__, "created": created, "totals": _totals(chapters)}


def chapter(analysis: Analysis) -> Chapter:
    """Everything the page says of one run; a metric with a single point is no curve."""
    found = [series for role in CURVES if (series := analysis.run.best(role)) is not None]
    curves, single = tuple(s for s in found if len(s) > 1)[:8], tuple(s for s in found if len(s) == 1)
    return Chapter(
        analysis, ledger(analysis), tuple(sorted(_timeline(analysis), key=lambda h: h.order)), curves, single
    )


def _timeline(analysis: Analysis) -> Iterable[Happening]:
    for event in analysis.run.events:
        detail = spoken(event.detail)
        words = f"{event.kind}: {safe(detail, 160)}" if detail else event.kind
        yield Happening(
            _order(event.time, event.step), _step(event.step), _utc_clock(event.time), words, "event"
        )
    for symptom in analysis.present:
        severity = analysis.severity(symptom)
        if severity == "info":
            continue
        at = math.nan if symptom.first_time is None else symptom.first_time
        words = titled(symptom.title or symptom.id, safe(symptom.evidence))
        yield Happening(
            _order(at, symptom.first_step),
            _step(symptom.first_step, symptom.unit),
            _utc_clock(at),
            words,
            severity,
        )
        if symptom.state == "resolved":
            step = symptom.last_step
            yield Happening(
                _order(math.nan, step),
                _step(step, symptom.unit),
                "",
                f"over: {symptom.title or symptom.id}",
                "healthy",
            )


def _order(at: float, step: int | None) -> tuple[float, int]:
    return (
        (math.inf if step is None else float(step), 0)
        if not math.isfinite(at) or step is not None
        else (-1.0, int(at))
    )


def _step(step: int | None, unit: str = "step") -> str:
    return "" if step is None else f"{unit} {step:,}"


def _utc_clock(at: float) -> str:
    plausible = math.isfinite(at) and 1e6 < at < 1e11
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) if plausible else ""


def spoken(detail: str) -> str:
    """The detail of an event in words: a JSON object loses its braces, and the name that the event has
    already."""
    try:
        data = json.loads(detail)
    except ValueError:
        return detail
    if not isinstance(data, dict):
        return detail
    if isinstance(data.get("message"), str):
        return str(data["message"])
    words = [
        (key, value)
        for key, value in data.items()
        if key != "event" and value is not None and not isinstance(value, dict | list)
    ]
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in words
    )


def _totals(chapters: Sequence[Chapter]) -> dict[str, Any]:
    timed = [c.ledger for c in chapters if math.isfinite(c.ledger.duration)]
    duration, lost = sum(one.duration for one in timed), sum(one.lost for one in timed)
    causes: dict[str, int] = {}
    for one in chapters:
        leading = next((h for h in one.analysis.diagnosis.hypotheses if not h.benign), None)
        if leading is not None and one.analysis.verdict in ("warning", "critical"):
            causes[leading.title] = causes.get(leading.title, 0) + 1
    return {
        "runs": len(chapters),
        "sick": sum(c.analysis.verdict in ("warning", "critical") for c in chapters),
        "duration": duration if timed else math.nan,
        "lost": lost if timed else math.nan,
        "interruptions": sum(c.ledger.interruptions for c in chapters),
        "causes": sorted(causes.items(), key=lambda pair: -pair[1]),
    }


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!])")


def markdown_safe(text: object) -> str:
    """Text that Markdown shows as it is: markup of every kind is neutralised."""
    return _MARKDOWN.sub(r"\\\1", safe(str(text), 600))
