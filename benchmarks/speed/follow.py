"""A file that grows by 1,000 lines a second: what it costs to follow it, and to watch it with all rules."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed import data
from benchmarks.speed.harness import ROOT, Section, Target, compare, options, show, table, task, workplace

RATE = 1000


def measure(folder: Path, *, quick: bool) -> Section:
    """Follows JSON lines and text logs while they are being written. `folder` takes the generated files."""
    seconds = 5 if quick else 10
    rows = []
    shares: dict[str, float] = {}
    for form, name in (("jsonl", "metrics.jsonl"), ("notices", "train.log"), ("huggingface", "metrics.log")):
        for what, interval in (("follow", 0.1), ("follow", 0.5), ("watch", 0.5)):
            path = folder / f"{what}-{interval}-{name}"
            with Writer(path, form):
                found = compare({"one": task(what, path, interval, seconds)}, 1)["one"]
            share = 100 * found.cpu / seconds
            shares[f"{what} {form} {interval}"] = share
            rows.append(
                (
                    form,
                    f"{what}, poll {interval:g} s",
                    f"{share:.1f} %",
                    found.said["points"],
                    found.said["updates"],
                )
            )
    section = Section(
        "Following a growing file",
        f"{RATE:,} lines a second for {seconds} s. *follow* reads what is new; *watch* also "
        "listens for file events and examines the run with all rules.",
        [table(("lines", "what", "share of a core", "points", "reads or updates"), rows)],
    )
    for form in ("jsonl", "notices", "huggingface"):
        share = shares[f"follow {form} 0.5"]
        section.targets.append(
            Target(f"following 1,000 {form} lines a second: under 2 % of a core", f"{share:.1f} %", share < 2)
        )
    return section


class Writer:
    """Appends lines to a file in a process of its own while the block runs, 50 times a second."""

    def __init__(self, path: Path, form: str) -> None:
        self._command = [sys.executable, "-m", "benchmarks.speed.follow", "--write", form, str(path)]
        self._path = path

    def __enter__(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=ROOT)
        while not self._path.exists() or not self._path.stat().st_size:
            if self._process.poll() is not None:
                raise RuntimeError("the writer ended before it wrote anything")
            time.sleep(0.01)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def write(form: str, path: Path) -> None:
    """Appends until it is stopped, at most for two minutes."""
    make = _maker(form)
    start, step = time.monotonic(), 0
    stopped = threading.Event()
    with path.open("ab", buffering=0) as file:
        while time.monotonic() < start + 120:
            due = int((time.monotonic() - start) * RATE) + 1
            file.write("".join(make(number) + "\n" for number in range(step, due)).encode())
            step = due
            stopped.wait(0.02)


def _maker(form: str) -> Callable[[int], str]:
    if form == "jsonl":
        import json

        return lambda step: json.dumps(
            {"step": step, "loss": 2 / (1 + step / 1e4), "lr": 3e-4, "grad_norm": 0.5}
        )
    if form == "notices":
        lines = data.text_block(0).decode().split("\n")
        return lambda step: lines[step % len(lines)]
    return data.LINES[form]


if __name__ == "__main__":
    if "--write" in sys.argv:
        write(sys.argv[2], Path(sys.argv[3]))
    else:
        with workplace() as place:
            print(show(measure(place, quick=options(__doc__ or "").quick)))
