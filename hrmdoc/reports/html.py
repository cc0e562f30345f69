"""What the HTML pages are made with: the templates, and the words and filters that they use.

Text from runs is cleaned, redacted and escaped; the pages load nothing from elsewhere.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from hrmdoc.analysis import Analysis
from hrmdoc.paths import data_dir
from hrmdoc.remedies.prescribe import first_patch
from hrmdoc.reports.layout import asked, place, safe, typed
from hrmdoc.reports.terminal_causes import factor, spelt
from hrmdoc.reports.verdict import ICONS, SICK, blame, checked, counted, likely, of_ranks, sentence
from hrmdoc.text.clean import duration

if TYPE_CHECKING:
    from hrmdoc.remedies.prescribe import Prescription

TEMPLATES = "templates"
OF_TIMES = "Times are in UTC; those of a log that names no zone stand as the log shows them."
_CODE = re.compile(r"`([^`]+)`")
_KINDS = {"+": "add", "-": "del", "@": "at"}


@cache
def environment(*more: str) -> Environment:
    """The templates of the reports, and those in the folders `more`, which come first."""
    own = str(data_dir("reports") / TEMPLATES)
    made = Environment(
        loader=FileSystemLoader([*more, own]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        base_name=os.path.basename,
        human=duration,
        safe_text=safe,
        safe_block=safe_block,
        diff_lines=diff_lines,
        spelt=spelt,
        capital=capital,
        marked=marked,
    )
    words = (
        sentence, blame, of_ranks, checked, likely, place, factor, typed, facts, first_step, not_evaluated,
        shown_ids, must_be_gone,
    )  # fmt: skip
    made.globals.update({word.__name__: word for word in words})
    made.globals.update(icons=ICONS, asked=asked, sick=SICK, isfinite=math.isfinite, OF_TIMES=OF_TIMES)
    return made


@cache
def style() -> str:
    """The style sheet of all pages."""
    return (data_dir("reports") / TEMPLATES / "style.css").read_text("utf-8")


def safe_block(text: str) -> str:
    """Several lines, each made safe."""
    return "\n".join(safe(line) for line in text.splitlines())


def capital(text: str) -> str:
    """With a capital letter at its beginning, the rest as it is."""
    return text[:1].upper() + text[1:]


def marked(text: str) -> Markup:
    """Text of a rule, with what stands in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped here)


def diff_lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with what it is: `file`, `at`, `add`, `del` or `same`."""
    for line in text.splitlines():
        named = line.startswith(("--- ", "+++ "))
        yield "file" if named else _KINDS.get(line[:1], "same"), line


def facts(analysis: Analysis) -> list[str]:
    """What a reader wants to know of a run beside its verdict, a word or two each."""
    run, situation = analysis.run, analysis.situation
    said = [name for name in dict.fromkeys((situation.framework, situation.kind)) if name != "unknown"]
    said += [analysis.state] if analysis.state != "unknown" else []
    series = run.progress
    if series is not None:
        unit = {"index": "point", "epoch": "epoch", "sample": "sample"}.get(series.axis, "step")
        said.append(f"{unit}s {int(series.steps.min()):,} to {int(series.steps.max()):,}")
    said += [counted(run.points, "value")] if run.points else []
    said += [counted(run.line_count, "line")] if run.line_count else []
    said += [f"{len(run.ranks)} ranks"] if len(run.ranks) > 1 else []
    return said


def first_step(analysis: Analysis) -> Prescription | None:
    """What to do first: the patch that `hrmdoc apply` makes where it is for the leading cause, else that
    cause's first remedy; None where nothing is wrong."""
    if analysis.verdict not in SICK:
        return None
    offered = [analysis.prescriptions.get(one.cause, ()) for one in likely(analysis) if not one.benign]
    leading = next((group for group in offered if group), ())
    patch = first_patch({"": leading})
    return patch or next(iter(leading), None)


def must_be_gone(analysis: Analysis, offer: Prescription) -> list[str]:
    """By which symptoms one sees that a remedy helped: those of its list that show, else all of them."""
    gone, shown = offer.remedy.verify.gone, shown_ids(analysis)
    return [name for name in gone if name in shown] or list(gone)


def shown_ids(analysis: Analysis) -> set[str]:
    """The symptoms that a page of this run lists."""
    return {symptom.id for symptom in analysis.present}


def not_evaluated(analysis: Analysis) -> list[tuple[str, list[str]]]:
    """What was missing, each with the titles of the rules that would have needed it; what most need first."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for symptom in analysis.not_evaluated:
        groups[symptom.missing].append(symptom.title or symptom.id)
    ranked = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(", ".join(missing) or "more points", titles) for missing, titles in ranked]
