"""The closed loop: a fault that a config can mend, the diagnosis, its top remedy, the rerun, and whether that helped.

`python -m benchmarks.closed_loop` trains the reference patient (a tiny HRM on 4x4 Sudoku) with each fault in its config, applies
the first patch that the diagnosis offers, trains again, and asks the remedy's own `verify`. Where it does not help, the patch is
undone and that of the next hypothesis tried. Two baselines: no change, and a random remedy. Results go to closed_loop.md; runs
that are kept are not trained again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.errors import HrmdocError, PatchError
from hrmdoc.remedies import store
from hrmdoc.remedies.patch import Patch, plan
from hrmdoc.rulebook import Remedy
from hrmdoc.settings import Settings

HERE = Path(__file__).parent
RUNS = HERE.parent / "runs" / "closed-loop"
BASE = {
    "data_path": "builtin:sudoku-4x4", "epochs": "10", "eval_interval": "5", "global_batch_size": "32", "log_interval": "4",
    "lr": "3e-3", "lr_warmup_steps": "20", "lr_min_ratio": "1.0", "puzzle_emb_lr": "1e-3", "weight_decay": "0.1",
    "threads": "1", "arch.hidden_size": "32", "arch.H_layers": "1", "arch.L_layers": "1", "arch.num_heads": "4",
    "arch.expansion": "2", "arch.H_cycles": "1", "arch.halt_max_steps": "8", "arch.pos_encodings": "learned",
}  # fmt: skip
FAULTS: dict[str, tuple[str, dict[str, str]]] = {
    "rate 300 times too high": ("learning-rate-too-high", {"lr": "0.9", "puzzle_emb_lr": "0.3"}),
    "rate 30 times too high": ("learning-rate-too-high", {"lr": "0.09", "puzzle_emb_lr": "0.03"}),
    "rate 300 times too low": ("learning-rate-too-low", {"lr": "1e-5", "puzzle_emb_lr": "3e-6"}),
    "no warmup, rate 20 times too high": ("warmup-too-short", {"lr": "0.06", "puzzle_emb_lr": "0.02", "lr_warmup_steps": "0"}),
    "warmup longer than the run": ("lr-schedule-misconfigured", {"lr_warmup_steps": "100000"}),
}
"""Name -> the true cause, and what differs from the healthy config."""
ENOUGH = 1.1
"""A run has recovered when its final loss is at most so many times that of its healthy twin."""
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """One rerun after a patch."""

    remedy: str
    changes: str
    loss: float
    verified: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one fault. `place` is that of the true cause among the hypotheses, 0 when it is not named."""

    fault: str
    cause: str
    place: int
    sick: float
    healthy: float
    trials: tuple[Trial, ...]
    random: Trial | None

    def recovered(self, loss: float) -> bool:
        return bool(np.isfinite(loss)) and loss <= ENOUGH * self.healthy

    def gap_closed(self, loss: float) -> float:
        """Share of the distance between sick and healthy that was made good; 0 when it got worse."""
        return max(0.0, (self.sick - loss) / (self.sick - self.healthy)) if np.isfinite(loss) else 0.0


def config_text(changes: dict[str, str]) -> str:
    """The config as a person would write it, sections and all."""
    values = {**BASE, **changes}
    top = [f"{key}: {value}" for key, value in values.items() if "." not in key]
    arch = [f"  {key.removeprefix('arch.')}: {value}" for key, value in values.items() if key.startswith("arch.")]
    return "\n".join([*top, "arch:", *arch]) + "\n"


def train(config: Path, folder: Path) -> None:
    """Trains into `folder` unless a finished run of this very config stands there."""
    kept = folder.with_suffix(".yaml")
    text = config.read_text("utf-8")
    if kept.is_file() and kept.read_text("utf-8") == text:
        return
    command = [sys.executable, "-m", "hrmdoc", "train", str(config), f"run_dir={folder}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, timeout=600)
    kept.write_text(text, "utf-8")


def final_loss(analysis: Analysis) -> float:
    """Mean training loss of the last tenth of the run; infinite when there is none or it is not finite."""
    series = analysis.run.best("train.loss")
    if series is None or not len(series):
        return float("inf")
    tail = series.values[-max(1, len(series) // 10) :]
    return float(tail.mean()) if np.isfinite(tail).all() else float("inf")


def patches(analysis: Analysis) -> Iterator[Patch]:
    """The first patch of each hypothesis, the likeliest first, each kind of remedy once."""
    seen: set[str] = set()
    for offered in analysis.prescriptions.values():
        patch = next((one.patch for one in offered if one.patch is not None and one.patch.remedy not in seen), None)
        if patch is not None:
            seen.add(patch.remedy)
            yield patch


def verified(remedy: Remedy, before: Analysis, after: Analysis) -> bool:
    """Whether the symptoms that showed and that the remedy says must be gone are gone; not when it spoke of none that showed."""
    showed = {symptom.id for symptom in before.symptoms if symptom.state == "present"}
    shows = {symptom.id for symptom in after.symptoms if symptom.state == "present"}
    due = set(remedy.verify.gone) & showed
    return bool(due) and not due & shows


def look(run: Path, config: Path) -> Analysis:
    """The diagnosis of a run, with the remedies as they would change `config`."""
    from dataclasses import replace

    from hrmdoc.prescribe import prescribe

    found = analyze(run, settings=Settings())
    return replace(found, prescriptions=prescribe(found.run, found.situation, found.diagnosis, found.book, config))


def attempt(patch: Patch, sick: Analysis, config: Path, folder: Path) -> Trial:
    """Applies a patch, trains, judges, and takes the patch back."""
    before = config.read_bytes()
    store.write(patch)
    train(config, folder)
    store.undo(config)
    if config.read_bytes() != before:
        raise HrmdocError("the patch was not undone byte for byte", file=config)
    changes = ", ".join(f"{one.path} {one.before} -> {one.after}" for one in patch.changes)
    if not folder.is_dir():
        return Trial(patch.remedy, f"{changes}: refused by the trainer", float("inf"), verified=False)
    after = look(folder, config)
    return Trial(patch.remedy, changes, final_loss(after), verified(sick.book.remedies[patch.remedy], sick, after))


def random_patch(sick: Analysis, config: Path, without: str, seed: str) -> Patch | None:
    """A patch that could be applied to this config, drawn without regard to the diagnosis."""
    framework = sick.book.frameworks["hrm"]
    possible: list[Patch] = []
    for remedy in sick.book.remedies.values():
        if remedy.kind == "patch" and remedy.id != without:
            try:
                possible.append(plan(remedy, sick.situation.facts, framework, [config]))
            except PatchError:
                continue
    return random.Random(seed).choice(possible) if possible else None


def treat(name: str, healthy: float) -> Outcome:
    """The whole loop for one fault."""
    cause, changes = FAULTS[name]
    folder = RUNS / name.replace(",", "").replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.yaml"
    config.write_text(config_text(changes), "utf-8")
    train(config, folder / "sick")
    sick = look(folder / "sick", config)
    named = [one.cause for one in sick.diagnosis.hypotheses if not one.benign]
    trials: list[Trial] = []
    offered = list(patches(sick)) if sick.verdict in ("warning", "critical") else []
    for number, patch in enumerate(offered[:ATTEMPTS], 1):
        trials.append(attempt(patch, sick, config, folder / f"remedy-{number}"))
        if trials[-1].verified and trials[-1].loss <= ENOUGH * healthy:
            break
    drawn = random_patch(sick, config, offered[0].remedy if offered else "", name)
    chance = attempt(drawn, sick, config, folder / "random") if drawn else None
    place = named.index(cause) + 1 if cause in named else 0
    return Outcome(name, cause, place, final_loss(sick), healthy, tuple(trials), chance)


def report(outcomes: list[Outcome]) -> str:
    """The page."""
    first = [one for one in outcomes if one.trials and one.recovered(one.trials[0].loss)]
    best = [one for one in outcomes if any(one.recovered(trial.loss) for trial in one.trials)]
    none = [one for one in outcomes if one.recovered(one.sick)]
    chance = [one for one in outcomes if one.random and one.recovered(one.random.loss)]
    total = len(outcomes)
    lines = [
        "# The closed loop\n",
        "Written by `python -m benchmarks.closed_loop`: a tiny HRM on 4x4 Sudoku, one fault in its config at a time. Loss is the "
        f"mean of the last tenth of the run; recovered means at most {ENOUGH:g} times that of the healthy twin.\n",
        "| | recovered |\n|---|---|",
        f"| top remedy | {len(first)} of {total} |",
        f"| top remedy, else that of the second hypothesis | {len(best)} of {total} |",
        f"| no change | {len(none)} of {total} |",
        f"| a random remedy | {len(chance)} of {total} |",
        "\n| fault | cause, place | healthy | sick | remedy | changes | loss | gap closed | verified | recovered |",
        "|---" * 10 + "|",
    ]
    for one in outcomes:
        rows = [(trial.remedy, trial) for trial in one.trials]
        rows = rows or [("none offered", Trial("", "the verdict was no warning", one.sick, verified=False))]
        rows += [(f"random: {one.random.remedy}", one.random)] if one.random else []
        for number, (remedy, trial) in enumerate(rows):
            head = [one.fault, f"`{one.cause}`, {one.place or 'not named'}", f"{one.healthy:.3f}", f"{one.sick:.3f}"]
            marks = [f"{one.gap_closed(trial.loss):.0%}", "yes" if trial.verified else "no"]
            marks.append("yes" if one.recovered(trial.loss) else "no")
            cells = [*(head if not number else [""] * 4), remedy, trial.changes, f"{trial.loss:.3f}", *marks]
            lines.append("| " + " | ".join(cells) + " |")
    lines.append(
        "\nNot tried: faults that no key of the config mends (labels, data, system), and clipping, since HRM's optimizer bounds "
        "each update whatever the gradient.\n"
    )
    return "\n".join(lines)


def main() -> int:
    """Runs the loop for all faults, or for those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2)
    workers = parser.parse_args().workers
    RUNS.mkdir(parents=True, exist_ok=True)
    config = RUNS / "healthy-config.yaml"
    config.write_text(config_text({}), "utf-8")
    train(config, RUNS / "healthy")
    healthy = final_loss(look(RUNS / "healthy", config))
    with ThreadPoolExecutor(workers) as pool:
        outcomes = list(pool.map(lambda name: treat(name, healthy), FAULTS))
    text = report(outcomes)
    (HERE / "closed_loop.md").write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
