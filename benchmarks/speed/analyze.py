"""What a user waits for: `hrmdoc analyze` from start to end, and `hrmdoc --help`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import Section, Target, compare, options, show, table, task, workplace


def measure(folder: Path, *, quick: bool) -> Section:
    """Runs the command on a short log and on a million scalars. `folder` takes the generated files."""
    short = folder / "short.log"
    short.write_text("".join(data.huggingface_line(step) + "\n" for step in range(1, 201)))
    events = folder / "million"
    events.mkdir()
    data.events(events / "events.out.tfevents.1.host-49999", 1_000_000)
    hrmdoc = [sys.executable, "-m", "hrmdoc"]
    found = compare(
        {
            "hrmdoc --help": [*hrmdoc, "--help"],
            "hrmdoc analyze, 200 lines": [*hrmdoc, "analyze", str(short)],
            "hrmdoc analyze, 1,000,000 scalars": [*hrmdoc, "analyze", str(events)],
            "the same, no words": task("analyze", events),
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        },
        3 if quick else 5,
    )
    limits = {
        "hrmdoc --help": 0.25,
        "hrmdoc analyze, 200 lines": 0.5,
        "hrmdoc analyze, 1,000,000 scalars": 5.0,
    }
    section = Section(
        "From start to end",
        "The command itself, all rules, the report printed.",
        [table(("command", "CPU s"), [(name, f"{one.cpu:.2f}") for name, one in found.items()])],
    )
    for name, limit in limits.items():
        section.targets.append(
            Target(f"{name}: under {limit:g} s of CPU", f"{found[name].cpu:.2f} s", found[name].cpu < limit)
        )
    return section


if __name__ == "__main__":
    with workplace() as place:
        print(show(measure(place, quick=options(__doc__ or "").quick)))
