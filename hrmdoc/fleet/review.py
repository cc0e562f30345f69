"""The reliability review of many runs as HTML, Markdown, JSON or PDF: the figures and what to do on the first
screen, each run behind it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from hrmdoc import __version__
from hrmdoc.errors import UsageError
from hrmdoc.fleet.chapters import Reviewed
from hrmdoc.fleet.reliability import reliability
from hrmdoc.fleet.summary import Incident, Summary
from hrmdoc.reports.html import environment, style
from hrmdoc.reports.review import markdown_safe

SCHEMA = "hrmdoc.review/1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MOST_ROWS = 2000
"""Rows of the list of runs: a browser shows so many at once."""
_SECONDS = 120


def html(found: Reviewed) -> str:
    """The review as one page that loads nothing. Chapters come in the order of the runs, the worst first."""
    template = environment().get_template("fleet.html.j2")
    chapters = [Markup(done.extra) for done in found.chapters]  # noqa: S704 (escaped when it was made)
    return template.render(**_page_words(found), chapters=chapters, style=Markup(style()), moment=moment)  # noqa: S704 (own file)


def markdown(found: Reviewed) -> str:
    """The review as Markdown."""
    template = environment().overlay(autoescape=False).get_template("fleet.md.j2")
    text = template.render(
        **_page_words(found), chapters=[done.extra for done in found.chapters], md=markdown_safe
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def as_json(found: Reviewed) -> str:
    """The figures and every run as JSON, schema `hrmdoc.review/1`."""
    runs = found.runs
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "reliability": msgspec.to_builtins(reliability(runs)),
        "runs": msgspec.to_builtins(runs),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def browser() -> str:
    """The browser that prints.

    Raises:
        UsageError: none is installed.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        hint = "install chromium, or write .html and print it from any browser"
        raise UsageError("a PDF needs chromium or another browser, and none is installed", hint=hint)
    return found


def pdf(page: str, target: Path) -> None:
    """Prints a page through a browser that is installed.

    Raises:
        UsageError: there is none, or it fails.
    """
    program = browser()
    with tempfile.TemporaryDirectory(prefix="hrmdoc-") as folder:
        source, made = Path(folder) / "review.html", Path(folder) / "review.pdf"
        source.write_text(page, "utf-8", "backslashreplace")
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--no-sandbox")  # root has none; the page holds no script
        command = [program, *words, f"--print-to-pdf={made}", source.as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
            shutil.copyfile(made, target)
        except (subprocess.SubprocessError, OSError) as error:
            raise UsageError(f"{program} could not print it: {error}", file=target) from error


def _page_words(found: Reviewed) -> dict[str, Any]:
    """What every form of the review says."""
    return {
        "r": reliability(found.runs),
        "runs": found.runs[:MOST_ROWS],
        "more": max(0, len(found.runs) - MOST_ROWS),
        "numbers": {done.summary.path: done.number + 1 for done in found.chapters},
        "incidents": _incidents(found.runs),
        "version": __version__,
        "created": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _incidents(runs: Sequence[Summary]) -> list[tuple[Summary, Incident]]:
    """All of them, critical ones first, then as they opened."""
    found = [(run, one) for run in runs for one in run.incidents]
    return sorted(found, key=lambda pair: (pair[1].severity != "critical", pair[1].opened or 0.0))


def moment(step: int | None, at: float | None) -> str:
    """A step and a time, as far as they are known."""
    clock = time.strftime("%Y-%m-%d %H:%M", time.gmtime(at)) if at is not None and 1e8 < at < 1e11 else ""
    return " ".join(filter(None, ("" if step is None else f"step {step:,}", clock))) or "not known"
