"""Whether cost grows linearly: points from 10^4 to 10^7, text from 1 MB to 4 GB."""

from __future__ import annotations

from pathlib import Path

import speed_data as data
from speed_harness import Section, Target, compare, mb, options, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """One size after the other, each file removed before the next. `folder` takes the generated files."""
    points = (10_000, 100_000, 1_000_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    sizes = (1, 10, 100) if quick else (1, 10, 100, 1000, 4000)
    rows, costs = [], []
    for count in points:
        path = data.events(folder / "events.out.tfevents.1.host", count)
        cpu, peak = _cost(task("analyze", path), 1 if count > 1_000_000 else 3)
        costs.append((count, cpu))
        rows.append((f"{count:,}", f"{cpu:.2f}", f"{1e6 * cpu / count:.2f}", mb(peak)))
        path.unlink()
    text_rows, text_costs = [], []
    for size in sizes:
        path = data.text_log(folder / "train.log", size * 1_000_000, metric_every=1000)
        cpu, peak = _cost(task("hrmdoc_read", path), 1 if size > 100 else 3)
        text_costs.append((size, cpu))
        text_rows.append((f"{size:,} MB", f"{cpu:.2f}", f"{1e3 * cpu / size:.1f}", mb(peak)))
        path.unlink()
    section = Section(
        "How cost grows",
        "Points: an event file read and examined by all rules, in one process. Text: a log with metrics on every "
        "thousandth line, read with the whole signature catalogue. The constant part is the start of Python and the loading of "
        "the rules.",
        [
            table(("points", "CPU s", "µs/point", "peak MB"), rows),
            table(("text", "CPU s", "ms/MB", "peak MB"), text_rows),
        ],
    )
    for what, found in (("points", costs), ("text", text_costs)):
        growth = _growth(found)
        section.targets.append(Target(f"cost of ten times the {what}: at most 11 times", f"{growth:.1f} times", growth <= 11))
    return section


def _growth(costs: list[tuple[int, float]]) -> float:
    """Ten times what a unit costs between the two largest sizes, over what it costs between the smallest and the last but one."""
    (least, start), (less, before), (more, after) = costs[0], costs[-2], costs[-1]
    return 10 * ((after - before) / (more - less)) / ((before - start) / (less - least))


def _cost(command: list[str], rounds: int) -> tuple[float, float | None]:
    found = compare({"one": command}, rounds)["one"]
    return found.cpu, found.peak


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
