"""The fault lab that is installed with hrmdoc: its HRM trainer with each of its faults, and the
diagnosis of each.

The trainer runs as a process of its own: the agent never imports it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hrmdoc.errors import UsageError

LIMIT_S = 180.0
LIST = (
    "import json; from hrmdoc.trainer.faults import FAULTS; print(json.dumps({n: f.cause for n, f in "
    "FAULTS.items()}))"
)


@dataclass(frozen=True, slots=True)
class Result:
    """What the diagnosis made of one fault. `rank` is the place of the true cause among the faults named,
    None when it is not."""

    fault: str
    cause: str
    verdict: str
    named: tuple[str, ...]
    rank: int | None

    @property
    def found(self) -> bool:
        return self.verdict in ("warning", "critical")

    def line(self) -> str:
        """One line for people."""
        place = (
            f"named at place {self.rank}"
            if self.rank
            else f"not named (first: {self.named[0] if self.named else 'nothing'})"
        )
        return f"{self.fault:24} {self.cause:28} {self.verdict:9} {place}"


def faults() -> dict[str, str]:
    """Names of the trainer's faults, and the cause that each is.

    Raises:
        UsageError: the trainer cannot be loaded, for want of torch for example.
    """
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"the trainer cannot be loaded: {last}", hint="pip install 'hrmdoc[train]'")
    known: dict[str, str] = json.loads(done.stdout)
    return known


def try_fault(name: str, cause: str, output: Path) -> Result:
    """Trains the demo with a fault in `output/<name>` and examines the run. A run that hangs is killed after
    three minutes."""
    folder = output / name
    words = [
        "preset=demo",
        "epochs=8",
        "eval_interval=2",
        "log_interval=8",
        "threads=1",
        f"fault={name}",
        f"run_dir={folder}",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "hrmdoc.trainer", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return examine(name, cause, folder)


def examine(name: str, cause: str, folder: Path) -> Result:
    """The diagnosis of a kept run beside what is true of it."""
    from hrmdoc.analysis import analyze
    from hrmdoc.settings import Settings

    analysis = analyze(folder, settings=Settings())
    named = tuple(h.cause for h in analysis.diagnosis.hypotheses if not h.benign and h.cause != "unknown")
    return Result(name, cause, analysis.verdict, named, named.index(cause) + 1 if cause in named else None)
