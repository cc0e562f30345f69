"""Whether cost grows linearly: points from 10^4 to 10^7, text from 1 MB to 4 GB."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import (
    Figure,
    Section,
    Target,
    compare,
    mb,
    options,
    show,
    table,
    task,
    workplace,
)


def measure(folder: Path, *, quick: bool) -> Section:
    """The sizes in turn, points first. `folder` takes the generated files: 5 GB of text at once."""
    points = (10_000, 100_000, 1_000_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    sizes = (1, 10, 100) if quick else (1, 10, 100, 1000, 4000)
    events = _costs(
        "analyze", {size: data.events(_file(folder, "events.out.tfevents.1", size), size) for size in points}
    )
    logs = {
        size: data.text_log(_file(folder, "train.log", size), size * 1_000_000, metric_every=1000)
        for size in sizes
    }
    text = _costs("hrmdoc_read", logs)
    rows = [
        (f"{size:,}", f"{one.cpu:.2f}", f"{1e6 * one.cpu / size:.2f}", mb(one.peak))
        for size, one in events.items()
    ]
    text_rows = [
        (f"{size:,} MB", f"{one.cpu:.2f}", f"{1e3 * one.cpu / size:.1f}", mb(one.peak))
        for size, one in text.items()
    ]
    section = Section(
        "How cost grows",
        "Points: an event file read and examined by all rules, in one process. Text: a log with metrics "
        "on every "
        "thousandth line, read with the whole signature catalogue. The constant part is the start of "
        "Python and the loading of "
        "the rules.",
        [
            table(("points", "CPU s", "µs/point", "peak MB"), rows),
            table(("text", "CPU s", "ms/MB", "peak MB"), text_rows),
        ],
    )
    for what, found in (("points", events), ("text", text)):
        growth = _growth([(size, one.cpu) for size, one in found.items()])
        section.targets.append(
            Target(f"cost of ten times the {what}: at most 11 times", f"{growth:.1f} times", growth <= 11)
        )
    return section


def _growth(costs: list[tuple[int, float]]) -> float:
    """Ten times what a unit costs between the two largest sizes, over what it costs between the smallest and
    the last but one."""
    (least, start), (less, before), (more, after) = costs[0], costs[-2], costs[-1]
    return 10 * ((after - before) / (more - less)) / ((before - start) / (less - least))


def _file(folder: Path, name: str, size: int) -> Path:
    """A place for a file of that size."""
    path = folder / name / str(size) / name
    path.parent.mkdir(parents=True)
    return path


def _costs(what: str, files: Mapping[int, Path]) -> dict[int, Figure]:
    """What each size costs. The sizes take turns, so that a load of the machine falls on all; the files are
    removed."""
    found = compare({str(size): task(what, path) for size, path in files.items()}, 3)
    for path in files.values():
        path.unlink()
    return {size: found[str(size)] for size in files}


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
