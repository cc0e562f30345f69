"""A million scalars in one event file: hrmdoc's reader, TensorBoard's EventAccumulator, TensorBoard's data
server."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import Section, Target, compare, mb, options, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """Reads the same scalars in three ways. `folder` takes the generated files."""
    scalars, sample = 1_000_000, 20_000 if quick else 100_000
    large, small = _folder(folder / "events", scalars), _folder(folder / "sample", sample)
    found = compare(
        {
            "hrmdoc": task("reader_into_run", "tfevents", _only(large)),
            "nothing": task("bare", "hrmdoc.readers.sources.feed", "hrmdoc.readers.tfevents"),
            "rustboard": task("rustboard", large),
            "rustboard --checksum": task("rustboard", large, "--checksum"),
            "EventAccumulator": task("event_accumulator", small),
            "TensorBoard, imported": task("bare", "tensorboard.backend.event_processing.event_accumulator"),
        },
        3 if quick else 5,
    )
    own, rust, checked = found["hrmdoc"], found["rustboard"], found["rustboard --checksum"]
    reading = max(own.cpu - found["nothing"].cpu, 1e-9)
    slow = (found["EventAccumulator"].cpu - found["TensorBoard, imported"].cpu) * scalars / sample
    rows = [
        ("hrmdoc, whole process", f"{own.cpu:.2f}", f"{scalars / own.cpu / 1e6:.2f}", mb(own.peak)),
        (
            "hrmdoc, start of Python taken off",
            f"{reading:.2f}",
            f"{scalars / reading / 1e6:.2f}",
            mb(own.peak),
        ),
        (
            "rustboard (the server process alone)",
            f"{rust.cpu:.2f}",
            f"{scalars / rust.cpu / 1e6:.2f}",
            mb(rust.peak),
        ),
        (
            "rustboard --checksum (the server process alone)",
            f"{checked.cpu:.2f}",
            f"{scalars / checked.cpu / 1e6:.2f}",
            mb(checked.peak),
        ),
        (
            f"EventAccumulator (scaled from {sample:,} events, start taken off)",
            f"{slow:.1f}",
            f"{scalars / slow / 1e6:.3f}",
            "",
        ),
    ]
    section = Section(
        "Event files",
        f"{scalars:,} scalars under 20 tags, one an event, in one file. hrmdoc and EventAccumulator "
        f"verify the CRCs of "
        "header and payload, rustboard verifies them with --checksum only. "
        "Points are kept in a run with steps, values, times and byte offsets.",
        [table(("reader", "CPU s", "million scalars/s", "peak MB"), rows)],
    )
    section.targets = [
        Target(
            "at least 30 times EventAccumulator (whole process)",
            f"{slow / own.cpu:.0f} times",
            slow / own.cpu >= 30,
        ),
        Target(
            "the same, start of Python taken off both", f"{slow / reading:.0f} times", slow / reading >= 30
        ),
        Target(
            "at least 1.5 times rustboard's load (whole process)",
            f"{rust.cpu / own.cpu:.2f} times",
            rust.cpu / own.cpu >= 1.5,
        ),
        Target(
            "the same against rustboard --checksum",
            f"{checked.cpu / own.cpu:.2f} times",
            checked.cpu / own.cpu >= 1.5,
        ),
        Target("peak memory under 220 MB", f"{mb(own.peak)} MB", (own.peak or 1e9) < 220),
    ]
    if not quick:
        section.targets.append(_bounded(folder))
    return section


def _bounded(folder: Path) -> Target:
    """Ten million scalars: what the reader itself holds while its records are taken away."""
    path = data.events(folder / "events.out.tfevents.1.host-499999", 10_000_000)
    peak = compare({"hrmdoc": task("reader_only", "tfevents", path)}, 1)["hrmdoc"].peak or 1e9
    path.unlink()
    return Target(
        "memory of the reader bounded at 10,000,000 scalars (under 220 MB)", f"{peak:.0f} MB", peak < 220
    )


def _folder(folder: Path, scalars: int) -> Path:
    """A log folder with one event file, whose name ends with its last step."""
    folder.mkdir()
    data.events(folder / f"events.out.tfevents.1.host-{scalars // 20 - 1}", scalars)
    return folder


def _only(folder: Path) -> Path:
    return next(folder.iterdir())


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
