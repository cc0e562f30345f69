"""JSON lines against orjson alone, tables against the C reader of pandas."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import Section, Target, compare, mb, options, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """Reads the same records as JSON lines and as a table. `folder` takes the generated files."""
    records = 300_000 if quick else 1_000_000
    lines, commas = (
        data.json_lines(folder / "metrics.jsonl", records),
        data.comma_table(folder / "metrics.csv", records),
    )
    found = compare(
        {
            "hrmdoc, JSON lines": task("reader_only", "jsonl", lines),
            "orjson alone": task("orjson_lines", lines),
            "hrmdoc, CSV": task("reader_only", "csv", commas),
            "pandas, C reader": task("pandas_table", commas),
        },
        3 if quick else 5,
    )
    rows = [
        (name, f"{one.cpu:.2f}", f"{records / one.cpu / 1e3:.0f}", mb(one.peak))
        for name, one in found.items()
    ]
    section = Section(
        "JSON lines and tables",
        f"{records:,} records of ten numbers; whole processes. orjson parses each line and drops it; "
        f"hrmdoc gives points of each "
        "metric with step, time and line.",
        [table(("what", "CPU s", "thousand records/s", "peak MB"), rows)],
    )
    for own, other in (("hrmdoc, JSON lines", "orjson alone"), ("hrmdoc, CSV", "pandas, C reader")):
        ratio = found[own].cpu / found[other].cpu
        section.targets.append(
            Target(f"{own}: within 1.5 times of {other}", f"{ratio:.2f} times", ratio <= 1.5)
        )
    return section


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
