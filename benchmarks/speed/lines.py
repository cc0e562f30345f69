"""Metric lines of several frameworks: how many the text reader understands in a second."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import Section, compare, options, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """One log a framework, of metric lines alone. `folder` takes the generated files."""
    lines = 30_000 if quick else 100_000
    programs = {
        form: task("reader_only", "text", data.metric_lines(folder / f"{form}.log", form, lines))
        for form in data.LINES
    }
    found = compare({**programs, "start": task("bare", "hrmdoc.readers.text")}, 3 if quick else 5)
    start = found.pop("start").cpu
    rows = [
        (
            form,
            f"{one.cpu - start:.2f}",
            f"{lines / (one.cpu - start):,.0f}",
            f"{one.said['points'] / lines:.0f}",
        )
        for form, one in found.items()
    ]
    return Section(
        "Metric lines",
        f"{lines:,} lines, every one a record; the start of Python ({start:.2f} s) is taken off. The bar "
        f"is redrawn "
        "at each step.",
        [table(("form", "CPU s", "lines/s", "points a line"), rows)],
    )


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
