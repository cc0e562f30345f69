"""The same runs read by other log doctors, each as its documentation says.

HRMDOC_PEERS_PYTHON names the interpreter of an environment that has them: `pip install runmedic trainspotter
gradsnitch tbparse`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lab.judge import Verdict
from benchmarks.lab.metrics import wilson
from benchmarks.lab.spec import RUNS, Spec

PEERS_PYTHON = "HRMDOC_PEERS_PYTHON"
KEPT = RUNS / "peers.json"
SCRIPT = Path(__file__).with_name("peers_read.py")
ALARMS = ("warning", "error", "critical")
NAMES = ("runmedic", "trainspotter", "gradsnitch")


@dataclass(frozen=True, slots=True)
class Answers:
    """`versions` by peer; `by_run`: key of a run -> peer -> what `peers_read` says."""

    versions: dict[str, str]
    by_run: dict[str, dict[str, Any]]


def ask(specs: Sequence[Spec], kept: Path = KEPT) -> Answers:
    """What the peers say of kept runs; what they said before is not asked again. Without an environment, only
    what is kept."""
    known = Answers(**json.loads(kept.read_text())) if kept.is_file() else Answers({}, {})
    python = os.environ.get(PEERS_PYTHON)
    if python is None:
        return known
    versions = json.loads(_peers(python, [])[0])
    by_run = dict(known.by_run) if versions == known.versions else {}
    waiting = [spec for spec in specs if spec.key() not in by_run]
    rows = _peers(python, [str(spec.folder()) for spec in waiting])[1:]
    by_run |= {spec.key(): json.loads(row) for spec, row in zip(waiting, rows, strict=True)}
    kept.write_text(json.dumps({"versions": versions, "by_run": by_run}))
    return Answers(versions, by_run)


def _peers(python: str, folders: Sequence[str]) -> list[str]:
    """Raises subprocess.CalledProcessError when the environment is broken."""
    asked = [python, str(SCRIPT)]
    done = subprocess.run(
        asked, input="".join(f"{one}\n" for one in folders), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def table(verdicts: Sequence[Verdict], answers: Answers) -> list[tuple[object, ...]]:
    """Rows: doctor, runs it can read, found of all harmful faults, found and alarms of what it reads, ours on
    the same."""
    rows: list[tuple[object, ...]] = [("hrmdoc", *_row(verdicts, lambda _: True, lambda v: v.detected), "")]
    for name in NAMES:
        if name not in answers.versions:
            rows.append((name, "not installed in the environment that was asked", "", "", "", ""))
            continue

        def read(v: Verdict, name: str = name) -> bool:
            return bool(answers.by_run.get(v.key, {}).get(name, {}).get("read"))

        def alarm(v: Verdict, name: str = name) -> bool:
            found = answers.by_run.get(v.key, {}).get(name, {}).get("findings", ())
            return any(severity in ALARMS for severity, _ in found)

        same = [v for v in verdicts if read(v)]
        ours = _row(same, lambda _: True, lambda v: v.detected)
        rows.append(
            (f"{name} {answers.versions[name]}", *_row(verdicts, read, alarm), f"{ours[2]}; {ours[3]}")
        )
    return rows


def _row(
    verdicts: Sequence[Verdict], read: Callable[[Verdict], bool], alarm: Callable[[Verdict], bool]
) -> tuple[object, object, object, object]:
    harmful = [v for v in verdicts if not v.spec.healthy and v.effect]
    healthy = [v for v in verdicts if v.spec.healthy and read(v)]
    of_all = wilson(sum(read(v) and alarm(v) for v in harmful), len(harmful))
    of_read = [v for v in harmful if read(v)]
    return (
        f"{sum(read(v) for v in verdicts)}/{len(verdicts)}",
        of_all,
        wilson(sum(alarm(v) for v in of_read), len(of_read)),
        wilson(sum(alarm(v) for v in healthy), len(healthy)),
    )
