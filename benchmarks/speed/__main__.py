"""All speed benchmarks in one run; the report goes to runs/reports/speed.md. `--quick` takes one
to two minutes."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.revision import commit
from benchmarks.speed import analyze, events, follow, lines, rows, scale, text
from benchmarks.speed.harness import HERE, Section, options, rounds_of, show, workplace

PARTS: tuple[Callable[..., Section], ...] = tuple(
    part.measure for part in (analyze, events, rows, lines, text, follow, scale)
)
REPORT = HERE.parents[1] / "runs" / "reports" / "speed.md"


def main() -> None:
    """Measures part after part and writes the report."""
    quick = options(__doc__ or "").quick
    sections = []
    for part in PARTS:
        began = time.monotonic()
        with workplace() as folder:
            sections.append(part(Path(folder), quick=quick))
        print(show(sections[-1]), f"\n({time.monotonic() - began:.0f} s)\n", flush=True)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text("\n\n".join((_head(quick), *map(show, sections))) + "\n")


def _head(quick: bool) -> str:
    command = " ".join(("python -m benchmarks.speed", *sys.argv[1:]))
    rounds = rounds_of(3 if quick else 5)
    load = os.getloadavg()[0]
    return (
        "# Speed\n\n"
        f"Made by `{command}` at commit {commit()}, Python {sys.version.split()[0]}, "
        f"{platform.machine()}, {os.cpu_count()} cores, load average {load:.1f}.\n\n"
        f"CPU time is user + system of the whole process unless said otherwise, median of {rounds}, "
        f"contestants in "
        "turn. Peak memory is VmHWM as each process reports it of itself; the page cache was warm. Times "
        "of different tables "
        "were taken minutes apart on a machine with other work on it: compare ratios within a table."
    )


if __name__ == "__main__":
    main()
