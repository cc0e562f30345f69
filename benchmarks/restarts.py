"""How often the verdict for restarts is wrong: `python -m benchmarks.restarts FOLDER...`.

FOLDER holds `manifest.csv` (file, and labels or classes) and labelled logs. Of a log nothing is known but the
log: neither how its process ended nor an attempt before. A wrong restart starts again what would fail again,
or what is over; a withheld one keeps a run down that would have gone on.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from benchmarks.lab.metrics import wilson
from benchmarks.wild import is_open
from hrmdoc.analysis import analyze
from hrmdoc.errors import HrmdocError
from hrmdoc.settings import Settings
from hrmdoc.supervision.verdict import STATUS, verdict

Need = Literal["fix", "passes", "over", "breaks off", "undecided"]
NEEDS: tuple[tuple[Need, str], ...] = (
    ("undecided", r"unknown-cause|ambiguous"),
    ("passes", r"slurm-timelimit|nccl-remote-exit|nccl-timeout|nccl-init|cause-network|preempt"),
    (
        "fix",
        r"oom-|shm-|dataloader-worker|nccl-aborted|hang-uneven|device-assert|cublas|activation-ckpt|zero3|deepspeed-config"
        r"|fsdp|gradscaler|scale-minimum|ckpt-state|disk-full|flash-attn|module-not|config-error|pad-token|unsupported-op"
        r"|slurm-oom|truncated-crash|autograd|crash|loss-nan|grad-nonfinite|loss-divergence",
    ),
    ("breaks off", r"truncated"),
)
"""What a label asks for; the first that fits. What bears none of them is over, or nothing that ends a run."""
RESTARTS = ("RESTART", "RESTART ELSEWHERE")


def need(labels: str) -> Need:
    """What has to be done about a run with these labels."""
    fits = (name for name, pattern in NEEDS if re.search(pattern, labels))
    first = next(fits, "over")
    return "fix" if first == "passes" and "hang-uneven" in labels else first


def labelled(folder: Path) -> Iterator[tuple[Path, str]]:
    """The logs of a folder that may be looked at, and their labels."""
    with (folder / "manifest.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if "repo" not in row or is_open(row["repo"]):
                yield folder / row["file"], row.get("labels") or row.get("classes") or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--verbose", action="store_true", help="each log on which it is wrong")
    options = parser.parse_args()
    counts: dict[Need, Counter[str]] = {
        name: Counter() for name in ("fix", "passes", "over", "breaks off", "undecided")
    }
    for folder in options.folders:
        for path, labels in labelled(folder):
            try:
                found = verdict(analyze(path, settings=Settings()))
            except HrmdocError:
                continue  # nothing to read: no verdict
            needed = need(labels)
            counts[needed][found.call] += 1
            if options.verbose and (found.call in RESTARTS) != (needed in ("passes", "breaks off")):
                print(f"{needed:10} {labels:40} {found.line}  {path}")
    print(f"| needed | logs | {' | '.join(STATUS)} |\n|---|{'---|' * (len(STATUS) + 1)}")
    for name, calls in counts.items():
        print(f"| {name} | {calls.total()} | {' | '.join(str(calls[call]) for call in STATUS)} |")
    wrong = sum(counts["fix"][call] + counts["over"][call] for call in RESTARTS)
    of = counts["fix"].total() + counts["over"].total()
    share = wilson(wrong, of)
    print(f"\nwrong restarts: {share}")
    print(f"of those that come back: {sum(counts['fix'][call] for call in RESTARTS)}/{counts['fix'].total()}")
    kept = counts["passes"].total() - sum(counts["passes"][call] for call in RESTARTS)
    print(f"withheld: {kept}/{counts['passes'].total()}")


if __name__ == "__main__":
    main()
