"""Jupyter notebooks: what their cells printed, tables that they drew, errors, and the settings in their code.

Streams, errors and tables (the progress of transformers' Trainer and of fastai is an HTML table) are read in
their order as the plain text log that a terminal would have shown; a place is a line of that text. Nothing of
the code is run. Where a cell that trains begins and ends is said by events, so that a message of another cell
is not taken for one of the training.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.readers.log.session import TextSession
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.training_cells import Cell, trainings
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.record.records import Damage, Event, Fact, Record
from hrmdoc.text import patterns

NAME = "notebook"
TITLE = "Jupyter notebooks (printed output, drawn tables, errors)"
WHOLE = True

_MOST_CELLS = 10_000
_MOST_REDRAWN = 8
"""Outputs behind a table in which it may stand again, longer."""
_LONGEST_TABLE = 8 << 20  # characters
_ROW_END = patterns.lazy(r"<(?:/?tr|/?div|/?p|/?table)\b[^<>]{0,500}>", re.IGNORECASE)
_CELL_END = patterns.lazy(r"</t[dh]\s{0,9}>", re.IGNORECASE)
_TAIL = 200
_INTERRUPTED = patterns.lazy(r"(?:(?:\A|\n)KeyboardInterrupt|\^C)\s{0,80}\Z")
_TAG = patterns.lazy(r"<[^<>]{0,500}>")


def sniff(path: Path, head: bytes) -> float:
    """By the keys that every notebook begins with; what a front end keeps of its widgets may stand before the
    cells."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"{":
        return 0.0
    if path.suffix == ".ipynb" and any(key in head for key in (b'"cells"', b'"nbformat"', b'"metadata"')):
        return 0.95
    return 0.95 if b'"cells"' in head and b'"cell_type"' in head else 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return json_session(context, _read)


def _read(context: Context, tree: Any) -> Iterator[Record]:
    cells = tree.get("cells") if isinstance(tree, dict) else None
    code = [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
    if (more := len(code) - _MOST_CELLS) > 0:
        yield Damage(context.path, None, f"{more:,} more cells were left out", left_out=more, incomplete=True)
        del code[_MOST_CELLS:]
    yield from _settings(context, code)
    text = TextSession(context)
    printed: list[Cell] = []
    read: list[Record] = []
    for cell, running in zip(code, _uncounted(code), strict=True):
        first, failed, stopped = text.lines + 1, None, False
        for one, error in _shown(cell):
            if error is not None and failed is None:
                failed, stopped = text.lines + 1, error == "KeyboardInterrupt"
            read += text.feed(f"{one.rstrip()}\n".encode("utf-8", "replace"))
        if text.lines >= first:
            source = _joined_lines(cell.get("source"))
            printed.append(Cell(source, first, text.lines, failed, stopped, running))
    read += text.close()
    yield from trainings(context.path, printed, read)
    # cells tell what is a launch, not a line that comes again because its cell was run again
    yield from (one for one in read if not (isinstance(one, Event) and one.kind == "launch"))


def _uncounted(cells: list[dict[str, Any]]) -> list[bool]:
    """Which cells the kernel did not count, as it does once a cell has come to its end, though it counted
    others; some front ends forget the numbers of old ones."""
    numbers = [cell.get("execution_count") for cell in cells]
    counted = any(type(number) is int for number in numbers)
    return [counted and number is None for number in numbers]


def _shown(cell: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What a cell printed and drew, each with the name of the error that it is, None where it is none."""
    outputs = cell.get("outputs")
    known = [output for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []
    texts = [_printed(output) for output in known]
    failed = False
    for place, (output, one) in enumerate(zip(known, texts, strict=True)):
        if not one or any(_redrawn(one, later) for later in texts[place + 1 : place + 1 + _MOST_REDRAWN]):
            continue
        error = _error_of(output, one)
        # that the kernel of a cell which was broken off went away, too, is no second failure
        if not (error == "" and failed):
            yield one, error
        failed = failed or error is not None


def _error_of(output: dict[str, Any], printed: str) -> str | None:
    """The name of the error that an output is; a program that a cell had started may have printed that it was
    broken off."""
    if output.get("output_type") == "error":
        return str(output.get("ename") or "")
    return "KeyboardInterrupt" if _INTERRUPTED.search(printed[-_TAIL:]) else None


def _redrawn(table: str, later: str) -> bool:
    """Whether `later` is the same table with more rows: some front ends keep every state of a progress
    display."""
    rows = table[table.find("\n", 0, table.find("\t") + 1) + 1 :]
    return "\t" in table and rows in later


def _settings(context: Context, cells: list[dict[str, Any]]) -> Iterator[Fact]:
    """Settings in code cells; a cell that is no Python by itself is passed over."""
    from hrmdoc.readers.support import python_settings  # few runs are notebooks

    sources = []
    for cell in cells:
        if cell.get("cell_type") == "code":
            lines = _joined_lines(cell.get("source")).split("\n")
            source = "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines)
            try:
                python_settings.read(source, context.path)
            except InputError:
                continue
            sources.append(source)
    # The call in front makes a program of cells that only give values to names: what is set twice is not
    # sure.
    try:
        found = python_settings.read("\n".join(["print()", *sources]), context.path).values
    except InputError:
        return
    for route, one in found.items():
        yield Fact(".".join(map(str, route)), one.value, "config", context.path)


def _printed(output: dict[str, Any]) -> str:
    """The text of one output, "" for pictures and the like."""
    kind = output.get("output_type")
    if kind == "stream":
        return _joined_lines(output.get("text"))
    if kind == "error":
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return "\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    drawn = _joined_lines(data.get("text/html"))
    if "<table" in drawn[:_LONGEST_TABLE]:
        return _tabled(drawn[:_LONGEST_TABLE])
    return _joined_lines(data.get("text/plain"))


def _joined_lines(lines: Any) -> str:
    """Notebooks hold text as one string or as a list of lines."""
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


def _tabled(drawn: str) -> str:
    """Rows of tables as lines of cells parted by tabs, and the text around them."""
    import html

    text = _CELL_END.sub("\t", _ROW_END.sub("\n", " ".join(drawn.split())))
    lines = (html.unescape(_TAG.sub("", line)).strip() for line in text.split("\n"))
    return "\n".join("\t".join(cell.strip() for cell in line.split("\t")) for line in lines if line)
