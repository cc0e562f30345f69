"""What the course of a run tells of whether somebody should be alerted, counted on labelled runs:
`python -m benchmarks.experience FOLDER... [--write]`.

FOLDERs are samples as `benchmarks.wild` takes them; `--all` reads both halves of each. No rule has a part in
it: of each run the measures of `hrmdoc.examination.course` are taken, each is cut into five at its quantiles,
and a logistic regression gives every part its points. The shrinkage is that of the smallest log loss on
repositories left out. `--write` keeps it as `rules/experience/course.yaml`, which `hrmdoc` goes by.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.ratios import ordered
from benchmarks.revision import commit
from benchmarks.wild import ALARMING, is_open
from hrmdoc.analysis import AnalysisSession, Prepared
from hrmdoc.errors import HrmdocError
from hrmdoc.examination.course import COURSE, CURVES
from hrmdoc.paths import data_dir
from hrmdoc.record.records import FloatArray
from hrmdoc.rulebook.schema.experience import Experience, Steps
from hrmdoc.settings import Settings

FEWEST = 10
"""Runs beyond a limit, below which it is none."""
SHRINKAGES = (2.5, 5.0, 10.0, 20.0)
"""Penalties on the squares of all points that are tried."""
FOLDS = 8
PLAIN = 0.05
"""A measure whose points span less adds nothing that could be seen, and is left out."""


@dataclass(frozen=True, slots=True)
class Known:
    """A labelled run."""

    repo: str
    fault: bool
    measured: Mapping[str, float]


def known(folder: Path, row: Mapping[str, str], ready: Prepared) -> Known | None:
    """One log of a sample; None where it has no course."""
    session = AnalysisSession(str(folder / row["file"]), prepared=ready)
    try:
        session.read([str(folder / row["file"])])
    except HrmdocError:
        return None
    session.diagnose(closed=True, prescriptions=False)
    measured = session.course()
    return Known(row["repo"].lower(), row["level"] in ALARMING, measured) if measured else None


def limits(runs: Sequence[Known]) -> dict[str, list[float]]:
    """Where each measure is cut: at its quantiles, to two digits."""
    found: dict[str, list[float]] = {}
    for name in sorted({name for run in runs for name in run.measured}):
        values = np.array([run.measured[name] for run in runs if name in run.measured])
        cuts = sorted(
            {float(f"{cut:.2g}") for cut in np.quantile(values, (0.2, 0.4, 0.6, 0.8)) if np.isfinite(cut)}
        )
        found[name] = [cut for cut in cuts if FEWEST <= (values > cut).sum() <= len(values) - FEWEST]
    return found


def columns(runs: Iterable[Known], cuts: Mapping[str, Sequence[float]]) -> FloatArray:
    """Shape [runs, parts]: 1 where a curve is there, and for each limit that its measure is beyond."""
    rows = [
        [float(any(name.startswith(f"{curve}.") for name in run.measured)) for curve in CURVES]
        + [float(run.measured.get(name, -np.inf) > cut) for name, at in cuts.items() for cut in at]
        for run in runs
    ]
    return np.array(rows)


def regression(x: FloatArray, y: FloatArray, shrinkage: float) -> FloatArray:
    """Weights of a logistic regression with a ridge, by Newton's method, shape [parts + 1]; the last is the
    constant, which is not shrunk."""
    x = np.column_stack([x, np.ones(len(x))])
    ridge = np.diag([shrinkage] * (x.shape[1] - 1) + [1e-9])
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + ridge, x.T @ (y - p) - ridge @ w)
        w += step
        if np.abs(step).max() < 1e-8:
            break
    return w


def left_out(x: FloatArray, y: FloatArray, repos: Sequence[str], shrinkage: float) -> FloatArray:
    """The logarithm of the odds of each run by the runs of other repositories, shape [runs]."""
    fold = np.array([int(hashlib.sha256(b"fold " + repo.encode()).hexdigest(), 16) % FOLDS for repo in repos])
    said = np.zeros(len(y))
    for one in range(FOLDS):
        out = fold == one
        if out.any() and not out.all():
            w = regression(x[~out], y[~out], shrinkage)
            said[out] = x[out] @ w[:-1] + w[-1]
    return said


def log_loss(said: FloatArray, y: FloatArray) -> float:
    return float(np.mean(np.logaddexp(0, said) - y * said))


def experience(runs: Sequence[Known], shrinkage: float) -> Experience:
    """The points of every measure."""
    cuts = limits(runs)
    y = np.array([float(run.fault) for run in runs])
    w = regression(columns(runs, cuts), y, shrinkage)
    there = dict(zip(CURVES, w, strict=False))
    at, measures = len(CURVES), {}
    for name, above in cuts.items():
        curve = name.partition(".")[0]
        first = there.pop(curve, 0.0)  # of the curve itself, with the first of its measures
        points = first + np.concatenate([[0.0], np.cumsum(w[at : at + len(above)])])
        at += len(above)
        if first or np.ptp(points) >= PLAIN:
            measures[name] = Steps(tuple(above), tuple(round(float(one), 2) + 0.0 for one in points))
    faults = int(y.sum())
    return Experience(
        id=COURSE,
        title="What the course of a run tells of a fault",
        source=f"{len(runs)} labelled runs of {len({run.repo for run in runs})} public repositories",
        runs=len(runs),
        faults=faults,
        start=round(float(w[-1] - np.log(faults / (len(runs) - faults))), 2) + 0.0,
        measures=measures,
    )


def as_yaml(found: Experience) -> str:
    """The file as it is kept."""
    lines = [
        f"# Written by `python -m benchmarks.experience`, at {commit()}; not to be edited by hand.",
        f"id: {found.id}",
        f"title: {found.title}",
        f"source: {found.source}",
        f"runs: {found.runs}",
        f"faults: {found.faults}",
        f"start: {found.start:g}",
        "measures:",
    ]
    for name, steps in found.measures.items():
        above, points = (", ".join(f"{one:g}" for one in row) for row in (steps.above, steps.points))
        lines.append(f"  {name}: {{above: [{above}], points: [{points}]}}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--all", action="store_true", help="both halves, not the open one alone")
    parser.add_argument("--write", action="store_true", help="keep it")
    options = parser.parse_args()
    ready = Prepared.of(Settings())
    runs: list[Known] = []
    for folder in options.folders:
        with (folder / "manifest.csv").open(newline="") as file:
            rows = [one for one in csv.DictReader(file) if options.all or is_open(one["repo"])]
        runs += [one for row in rows if (one := known(folder, row, ready)) is not None]
    x, y = columns(runs, limits(runs)), np.array([float(run.fault) for run in runs])
    repos = [run.repo for run in runs]
    said = {one: left_out(x, y, repos, one) for one in SHRINKAGES}
    for penalty, odds in said.items():
        area = ordered(odds.tolist(), [run.fault for run in runs])
        sys.stdout.write(
            f"shrinkage {penalty:g}: log loss {log_loss(odds, y):.4f}, faults above others {area:.3f}\n"
        )
    found = experience(runs, min(said, key=lambda one: log_loss(said[one], y)))
    if options.write:
        target = data_dir("rules") / "experience" / f"{COURSE}.yaml"
        target.parent.mkdir(exist_ok=True)
        target.write_text(as_yaml(found))
    else:
        sys.stdout.write(as_yaml(found))


if __name__ == "__main__":
    main()
