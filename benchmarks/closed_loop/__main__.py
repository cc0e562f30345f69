"""The closed loop: a fault that a config can mend, the diagnosis, its top remedy, the rerun, and whether that
helped.

`python -m benchmarks.closed_loop` trains each program (see programs.py) with each fault in its config,
applies the first patch that the diagnosis offers, trains again, and asks the remedy's own `verify`. Where it
does not help, the patch is undone and that of the next hypothesis tried. Two baselines: no change, and a
random remedy. The report goes to runs/reports; runs that are kept are not trained again.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmarks.closed_loop.programs import PROGRAMS, Program
from benchmarks.closed_loop.report import Outcome, Trial, report
from hrmdoc.analysis import Analysis, analyze
from hrmdoc.errors import HrmdocError, PatchError
from hrmdoc.remedies import store
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.planner import plan
from hrmdoc.remedies.prescribe import prescribe
from hrmdoc.rulebook import Remedy
from hrmdoc.settings import Settings

KEPT = Path(__file__).parents[2] / "runs"
RUNS = KEPT / "closed-loop"
REPORT = KEPT / "reports" / "closed_loop.md"
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Loop:
    """One fault of one program with one seed, in a folder of its own."""

    program: Program
    fault: str
    seed: int

    @property
    def folder(self) -> Path:
        """Where config and runs lie."""
        return RUNS / self.program.name / f"{self.fault.replace(',', '').replace(' ', '-')}-{self.seed}"

    @property
    def config(self) -> Path:
        """The config file that is patched."""
        return self.folder / "config.yaml"

    def diagnosed(self, run: Path) -> Analysis:
        """The diagnosis of a run, with the remedies as they would change the config."""
        found = analyze(run, settings=Settings())
        return replace(
            found,
            prescriptions=prescribe(found.run, found.situation, found.diagnosis, found.book, self.config),
        )

    def attempt(self, patch: Patch, sick: Analysis, name: str) -> Trial:
        """Applies a patch, trains, judges, and takes the patch back."""
        before = self.config.read_bytes()
        store.write(patch)
        run = self.folder / name
        self.program.train(self.config, run, self.seed)
        store.undo(self.config)
        if self.config.read_bytes() != before:
            raise HrmdocError("the patch was not undone byte for byte", file=self.config)
        changes = ", ".join(f"{one.path} {one.before} -> {one.after}" for one in patch.changes)
        if not run.is_dir():
            return Trial(patch.remedy, f"{changes}: refused by the trainer", float("inf"), verified=False)
        after = self.diagnosed(run)
        return Trial(
            patch.remedy, changes, final_loss(after), verified(sick.book.remedies[patch.remedy], sick, after)
        )

    def treat(self, healthy: float) -> Outcome:
        """The whole loop."""
        cause, changes = {**self.program.faults, **self.program.milder}[self.fault]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text(self.program.config_text(changes), "utf-8")
        self.program.train(self.config, self.folder / "sick", self.seed)
        sick = self.diagnosed(self.folder / "sick")
        named = [one.cause for one in sick.diagnosis.hypotheses if not one.benign]
        offered = list(patches(sick)) if sick.verdict in ("warning", "critical") else []
        trials: list[Trial] = []
        for number, patch in enumerate(offered[:ATTEMPTS], 1):
            trials.append(self.attempt(patch, sick, f"remedy-{number}"))
            if trials[-1].verified:
                break
        drawn = self.random_patch(sick, offered[0].remedy if offered else "")
        chance = self.attempt(drawn, sick, "random") if drawn else None
        return Outcome(
            f"{self.program.name}: {self.fault}, seed {self.seed}",
            cause,
            named.index(cause) + 1 if cause in named else 0,
            sick.verdict,
            final_loss(sick),
            healthy,
            tuple(trials),
            chance,
        )

    def random_patch(self, sick: Analysis, without: str) -> Patch | None:
        """A patch that could be applied to this config, drawn without regard to the diagnosis."""
        framework = sick.book.frameworks[self.program.framework]
        possible: list[Patch] = []
        for remedy in sick.book.remedies.values():
            if remedy.kind == "patch" and remedy.id != without:
                try:
                    possible.append(plan(remedy, sick.situation.facts, framework, [self.config]))
                except PatchError:
                    continue
        return random.Random(f"{self.fault} {self.seed}").choice(possible) if possible else None


def final_loss(analysis: Analysis) -> float:
    """The last evaluation loss where there are three or more, else the mean training loss of the last tenth
    of the run.

    Infinite when there is none or it is not finite.
    """
    evaluated, trained = analysis.run.best("eval.loss"), analysis.run.best("train.loss")
    if evaluated is not None and len(evaluated) >= 3:
        tail = evaluated.values[-1:]
    elif trained is not None and len(trained):
        tail = trained.values[-max(1, len(trained) // 10) :]
    else:
        return float("inf")
    return float(tail.mean()) if np.isfinite(tail).all() else float("inf")


def patches(analysis: Analysis) -> Iterator[Patch]:
    """The first patch of each hypothesis that the doctor would apply itself, the likeliest first, each
    change once."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    for offered in analysis.prescriptions.values():
        for patch in (one.patch for one in offered if one.patch is not None and not one.unsure):
            what = tuple((change.path, str(change.after)) for change in patch.changes)
            if what not in seen:
                seen.add(what)
                yield patch
                break


def verified(remedy: Remedy, before: Analysis, after: Analysis) -> bool:
    """Whether the symptoms that showed and that the remedy says must be gone are gone; not when it spoke of
    none that showed."""
    showed = {symptom.id for symptom in before.symptoms if symptom.state == "present"}
    shows = {symptom.id for symptom in after.symptoms if symptom.state == "present"}
    due = set(remedy.verify.gone) & showed
    return bool(due) and not due & shows


def healthy_loss(program: Program, seed: int) -> float:
    """What the config reaches without a fault."""
    twin = RUNS / program.name / f"healthy-{seed}"
    twin.mkdir(parents=True, exist_ok=True)
    config = twin / "config.yaml"
    config.write_text(program.config_text({}), "utf-8")
    program.train(config, twin / "run", seed)
    return final_loss(analyze(twin / "run", settings=Settings()))


def main() -> int:
    """Runs the loop for all programs, faults and seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="one program")
    options = parser.parse_args()
    chosen = [program for program in PROGRAMS if options.only in (None, program.name)]
    outcomes: list[Outcome] = []
    milder: list[Outcome] = []
    with ThreadPoolExecutor(options.workers) as pool:
        for program in chosen:
            healthy = dict(
                zip(
                    program.seeds,
                    pool.map(lambda seed, p=program: healthy_loss(p, seed), program.seeds),
                    strict=True,
                )
            )
            for into, faults in ((outcomes, program.faults), (milder, program.milder)):
                loops = [Loop(program, fault, seed) for fault in faults for seed in program.seeds]
                into += pool.map(lambda loop, known=healthy: loop.treat(known[loop.seed]), loops)
    text = report(outcomes, milder, [program.title for program in chosen])
    if options.only is None:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
