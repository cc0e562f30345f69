"""Runs programs in turn and compares what they cost: CPU time (user + system) of the whole process, and its
peak memory.

Contestants take turns (A B A B ...), so that a load on the machine falls on all of them; each figure is a
median.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_ROUNDS = "HRMDOC_SPEED_ROUNDS"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one program. `cpu` in seconds; `said`: what the program said of itself as JSON on its last
    line; `resident`: the most memory it held, in MB."""

    cpu: float
    said: Mapping[str, Any]
    resident: float = 0.0


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of several runs. `cpu` in seconds, `peak` in MB (the program's own VmHWM), None where it
    does not say."""

    cpu: float
    peak: float | None
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that was promised, as `text`, what was measured, and whether that keeps it (None: could not be
    measured)."""

    text: str
    measured: str
    kept: bool | None


@dataclass(slots=True)
class Section:
    """One part of the report: tables in Markdown and the targets that they decide."""

    title: str
    about: str
    tables: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)


def task(name: str, *arguments: object) -> list[str]:
    """The command that runs one function of `tasks` in a process of its own."""
    return [sys.executable, "-m", "benchmarks.speed.tasks", name, *map(str, arguments)]


def run(command: Sequence[str]) -> Sample:
    """Runs `command` once.

    Raises:
        RuntimeError: it failed; says how.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=_environment(), cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        lines = out.read().decode("utf-8", "replace").strip().splitlines()
        accepted = (
            (0,) if "benchmarks.speed.tasks" in command else (0, 1)
        )  # 1: rg found nothing, hrmdoc found a fault
        if process.returncode not in accepted:
            err.seek(0)
            raise RuntimeError(
                f"{' '.join(command)} ended with {process.returncode}: {err.read()[-2000:].decode()}"
            )
    said: Any = {}
    if lines and lines[-1].startswith("{"):
        said = json.loads(lines[-1])
    return Sample(usage.ru_utime + usage.ru_stime, said, usage.ru_maxrss / 1024)


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """The folder of compiled modules; it goes with this process."""
    return tempfile.TemporaryDirectory(prefix="hrmdoc-speed-pyc-")


def _environment() -> dict[str, str]:
    """One thread; compiled modules are kept as they are for any user, but in a folder of this run."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **ONE_THREAD, "PYTHONPYCACHEPREFIX": _compiled().name}


def compare(programs: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Figure]:
    """Runs the programs in turn, `rounds` times each or as often as `--rounds` allows."""
    samples: dict[str, list[Sample]] = {name: [] for name in programs}
    for _ in range(rounds_of(rounds)):
        for name, command in programs.items():
            samples[name].append(run(command))
    return {name: _figure(found) for name, found in samples.items()}


def _figure(samples: Sequence[Sample]) -> Figure:
    peaks = [float(sample.said["peak_mb"]) for sample in samples if "peak_mb" in sample.said]
    own = [float(sample.said["cpu"]) for sample in samples if "cpu" in sample.said]
    cpu = statistics.median(own) if own else statistics.median(sample.cpu for sample in samples)
    return Figure(cpu, statistics.median(peaks) if peaks else None, samples[-1].said)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)


def mb(peak: float | None) -> str:
    """Megabytes as shown in a table."""
    return "" if peak is None else f"{peak:.0f}"


def options(description: str) -> argparse.Namespace:
    """The options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="smaller inputs and 3 rounds: one to two minutes for all parts"
    )
    parser.add_argument("--rounds", type=int, help="at most so many rounds, whatever a part asks for")
    found = parser.parse_args()
    if found.rounds:
        os.environ[MOST_ROUNDS] = str(found.rounds)
    return found


def rounds_of(wanted: int) -> int:
    """`wanted`, or what `--rounds` allows."""
    return min(wanted, int(os.environ.get(MOST_ROUNDS, wanted)))


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder for generated inputs, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="hrmdoc-speed-") as folder:
        yield Path(folder)


def show(section: Section) -> str:
    """The section as Markdown."""
    verdict = {True: "met", False: "**missed**", None: "not measured"}
    rows = [(target.text, target.measured, verdict[target.kept]) for target in section.targets]
    parts = [f"## {section.title}", section.about, *section.tables]
    if rows:
        parts.append(table(("target", "measured", ""), rows))
    return "\n\n".join(parts)
