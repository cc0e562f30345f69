"""The templates of the served pages, and the board drawn with them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment

from hrmdoc import __version__
from hrmdoc.reports import html
from hrmdoc.reports.verdict import SEVEREST, SICK
from hrmdoc.web.board import Board, Entry

HERE = Path(__file__).parent
WAITING = "waiting"
"""What stands in a verdict's place for a run that was not examined yet."""


def environment() -> Environment:
    """The templates of this room, and those of the reports."""
    return html.environment(str(HERE / "templates"))


def render(template: str, **words: Any) -> str:
    """One whole page."""
    return environment().get_template(template).render(version=__version__, **words)


def style() -> str:
    """The style sheet: that of the reports, and what only served pages have."""
    return html.style() + (HERE / "static" / "app.css").read_text("utf-8")


def board(board: Board, asked: Mapping[str, str]) -> str:
    """The overview. `asked`: `show` is the verdict to show alone, `q` words that a run's line has to hold."""
    every = board.ranked()
    counts = Counter(verdict_of(one) for one in every)
    show, words = asked.get("show", ""), asked.get("q", "").lower().split()
    shown = [
        one for one in every if show in ("", verdict_of(one)) and all(word in text_of(one) for word in words)
    ]
    return render(
        "board.html.j2",
        runs=shown,
        total=len(every),
        chips=[(name, counts[name]) for name in (*SEVEREST, WAITING) if counts[name]],
        show=show,
        asked=asked.get("q", ""),
        sick=sum(counts[name] for name in SICK),
        board=board,
        roots=board.roots.paths,
        ago=ago,
        stamp=stamp,
        text_of=text_of,
        verdict_of=verdict_of,
    )


def choices(board: Board, entry: Entry, taken: Sequence[str]) -> list[tuple[str, str]]:
    """The runs that may be laid over one: those of its own folder first, of them the healthy ones."""
    mine = entry.name.rpartition("/")[0]
    others = [one for one in board.entries.values() if one is not entry and one.key not in taken and one.row]

    def near(one: Entry) -> tuple[bool, bool, str]:
        healthy = one.row is not None and one.row.verdict in ("healthy", "info")
        return one.name.rpartition("/")[0] != mine, not healthy, one.name

    return [(one.key, f"{one.name} ({verdict_of(one)})") for one in sorted(others, key=near)[:60]]


def verdict_of(entry: Entry) -> str:
    """Its verdict as a word of the pages."""
    return WAITING if entry.row is None else entry.row.verdict


def text_of(entry: Entry) -> str:
    """What a search looks in."""
    row = entry.row
    return " ".join(
        [entry.name, *([row.verdict, row.said, row.cause, row.remedy, row.state] if row else [])]
    ).lower()


def ago(at: float) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int(time.time() - at))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def stamp(at: float) -> str:
    """A time as pages carry it for the script, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
