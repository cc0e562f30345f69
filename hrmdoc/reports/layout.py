"""Lines that fit: text from runs made safe, words wrapped with a hanging indent, nothing padded: a pipe reads
well too."""

from __future__ import annotations

import os
import shlex

from hrmdoc.reports.ink import Surface, Text
from hrmdoc.rulebook import Remedy
from hrmdoc.text import patterns
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
WIDEST = 110
"""Longer lines are hard to read, however wide the window is."""
NARROWEST = 40
RISKS = {"safe": "safe to apply", "guarded": "check the diff first", "manual": "by hand"}
"""What the risk of a remedy asks of its reader."""
_EVENT_FILE = patterns.lazy(r"events\.out\.tfevents\.")


def asked(remedy: Remedy) -> str:
    """What a remedy asks of its reader; what is done by hand has no diff and nothing to apply."""
    return RISKS["manual" if remedy.kind == "manual" else remedy.risk]


def safe(text: str, limit: int = 300) -> str:
    """Text from a run as it may be shown to a person: one printable line, secrets removed."""
    return redact(clean(text, limit))


def cell(text: str) -> str:
    """Text for a cell of CSV: one that a spreadsheet would take for a formula is led by an apostrophe."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def short(file: str) -> str:
    """A path as a person would type it here: relative to the working folder where that is shorter; an
    address stays as it is."""
    if "://" in file:
        return safe(file, 200)
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        relative = file
    return safe(min(file, relative, key=len), 200)


def place(file: str, line: int | None) -> str:
    """`file:line`, ready to be opened in an editor; "" for event files, where an offset helps nobody: the
    step is the place."""
    if not file or _EVENT_FILE.search(file):
        return ""
    return short(file) + (f":{line}" if line is not None else "")


def typed(path: str) -> str:
    """A path as an argument that can be pasted into a shell."""
    return shlex.quote(clean(path, 4000))


def cut(text: str, limit: int) -> str:
    """`text` with at most `limit` characters, cut at a word where one ends near."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    word = head.rfind(" ")
    return (head[:word] if word > 0.7 * limit else head).rstrip(" ,;:") + "…"


def width(console: Surface) -> int:
    """Columns to write in."""
    return max(NARROWEST, min(console.width, WIDEST))


def put(console: Surface, body: Text, *, lead: Text | str = "") -> None:
    """Prints `lead` and `body`; further lines of `body` stand below its first one."""
    first = lead if isinstance(lead, Text) else Text(lead)
    room = max(20, width(console) - first.cell_len)
    for number, line in enumerate(body.wrap(room)):
        whole = Text().append_text(first if number == 0 else Text(" " * first.cell_len)).append_text(line)
        whole.rstrip()
        if whole.plain.lstrip().startswith("::"):  # in a build of GitHub a command, such as `::error::`
            whole = Text(": ").append_text(whole)
        console.print(whole, soft_wrap=True)
