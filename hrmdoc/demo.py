"""The demo: a real training run with a fault, the doctor at work, and the healthy rerun. Only the config is
staged."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import ActionError, HrmdocError

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.incidents import Incident
    from hrmdoc.remedies.prescribe import Prescription

INTRODUCTION = """\
HRM, the Hierarchical Reasoning Model, is a small network that thinks in rounds: one part plans, another
computes, until a third says that it is done. A tiny one now learns 4x4 Sudoku on this machine, really, but
somebody mistyped its learning rate. hrmdoc watches the run, stops it, says why it fails, mends one line of
the config and trains again. That takes about a minute.
"""
CONFIG = """\
# A tiny HRM on 4x4 Sudoku. Somebody mistyped the learning rate.
data_path: builtin:sudoku-4x4
global_batch_size: 32
epochs: 160
eval_interval: 16
max_steps: 2500
log_interval: 10

lr: 1.0              # meant to be 1e-3
lr_warmup_steps: 100
lr_min_ratio: 0.05
puzzle_emb_lr: 1e-3
weight_decay: 0.1

arch:
  hidden_size: 32
  H_layers: 1
  L_layers: 1
  num_heads: 2
  expansion: 2
  pos_encodings: learned
"""
PATIENCE_S = 180.0
UNSEEN = "puzzles that it never saw, solved"
ENOUGH_STEPS = 520
"""Steps after which a diagnosis stops the sick run: a curve that a person can judge, and one evaluation."""
SURE = 0.95
"""From this probability of a cause on the sick run is stopped."""


@dataclass(frozen=True, slots=True)
class Story:
    """What the demo leaves behind."""

    sick: Analysis
    healed: Analysis
    chosen: Prescription
    report: Path


class Demo:
    """Plays the demo in a folder.

    Args:
        folder: where `runs/` is made; what stands there is kept.
        out: a rich console.
    """

    def __init__(self, folder: Path, out: Any) -> None:
        self.runs = folder / "runs"
        self.config = self.runs / "demo.yaml"
        self._out = out

    def play(self) -> Story:
        """The whole story, as it happens.

        Raises:
            HrmdocError: the trainer did not start, or no remedy could be applied.
        """
        from hrmdoc.remedies import store
        from hrmdoc.reports import review

        self.runs.mkdir(parents=True, exist_ok=True)
        self.config.write_text(CONFIG, "utf-8")
        self._out.print(INTRODUCTION.replace("\n", " ").strip(), highlight=False)
        self._say("1. Training starts", f"hrmdoc train {self._name(self.config)}")
        sick = self._attend(stop_when_sick=True)
        self._say("2. The diagnosis", f"hrmdoc analyze {self._name(Path(sick.run.path))}")
        self._show(sick)
        chosen = self._choose(sick)
        run, config = self._name(Path(sick.run.path)), self._name(self.config)
        self._say("3. The patch", f"hrmdoc apply {run} --config {config} --write")
        assert chosen.patch is not None
        self._diff(chosen.diff)
        store.write(chosen.patch)
        self._say("4. The rerun", f"hrmdoc train {self._name(self.config)}")
        healed = self._attend(stop_when_sick=False)
        report = self.runs / "report.html"
        again = self._name(Path(healed.run.path))
        self._say("5. The rerun is looked at, too", f"hrmdoc analyze {again}")
        self._show(healed)
        self._say("6. The report", f"hrmdoc report {run} {again} -o {self._name(report)}")
        report.write_text(review.html([sick, healed]), "utf-8")
        self._compare(sick, healed, chosen)
        return Story(sick, healed, chosen, report)

    def _attend(self, *, stop_when_sick: bool) -> Analysis:
        """Starts a run, watches it live, reports incidents; the analysis of its end."""
        from hrmdoc.live.watch import Watch

        with self._training() as (process, run):
            watch = Watch(str(run), interval=0.3)
            told_stop = False
            analysis, evaluations = None, 0
            for look in watch.looks():
                analysis = look.analysis
                for incident in look.changes:
                    self._tell(incident)
                evaluations = self._report_evaluations(analysis, evaluations)
                step = max((int(s.steps[-1]) for s in analysis.run.series.values() if len(s)), default=0)
                if stop_when_sick and not told_stop and step >= ENOUGH_STEPS and _is_sure(analysis):
                    told_stop = True
                    self._stop(run)
                if process.poll() is not None:
                    watch.stop()
            assert analysis is not None
        return analysis

    @contextmanager
    def _training(self) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        before = _runs(self.runs)
        log = self.runs / "demo-output.log"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "hrmdoc", "train", str(self.config.resolve())],
                cwd=self.runs.parent,
                stdout=output,
                stderr=output,
                env=environment,
            )
        try:
            yield process, self._appeared(process, before, log)
            process.wait(timeout=30)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=30)

    def _appeared(self, process: subprocess.Popen[bytes], before: set[str], log: Path) -> Path:
        """The folder of the run just started, as soon as it describes itself."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for name in _runs(self.runs) - before:
                return self.runs / name
            if process.poll() is not None:
                break
            time.sleep(0.1)
        tail = log.read_text("utf-8", errors="replace").strip().splitlines()[-3:]
        raise HrmdocError("the training did not start: " + " / ".join(tail), file=log)

    def _stop(self, run: Path) -> None:
        from hrmdoc.remedies import actions

        try:
            answer = actions.send(run, "stop", reason="diagnosis", timeout=20)
            self._out.print(
                f"          the run is told to stop through its inbox: {answer.status} at step {answer.step}",
                style="dim",
            )
        except ActionError:
            return  # it had ended by itself

    def _choose(self, sick: Analysis) -> Prescription:
        from hrmdoc.remedies.prescribe import first_patch, prescribe

        offered = prescribe(sick.run, sick.situation, sick.diagnosis, sick.book, self.config)
        chosen = first_patch(offered)
        if chosen is None:
            raise HrmdocError("no remedy could be applied to the config", file=self.config)
        return chosen

    def _say(self, title: str, command: str) -> None:
        from rich.text import Text

        self._out.print()
        self._out.print(Text(title, style="bold").append(f"   $ {command}", style="dim"), soft_wrap=True)

    def _tell(self, incident: Incident) -> None:
        from hrmdoc.reports.terminal import show_incident

        show_incident(incident, self._out)

    def _report_evaluations(self, analysis: Analysis, reported: int) -> int:
        """Reports the evaluations beyond the first `reported`; how many there are."""
        from rich.text import Text

        solved = analysis.run.best("eval.exact_accuracy")
        if solved is None:
            return reported
        for step, share in zip(solved.steps[reported:], solved.values[reported:], strict=True):
            at = time.strftime("%H:%M:%S")
            said = f"    step {step:>4}: {share:.0%} of the {UNSEEN}"
            self._out.print(Text(at, style="dim").append(said, style="not dim"))
        return len(solved)

    def _compare(self, sick: Analysis, healed: Analysis, chosen: Prescription) -> None:
        """What the patch has changed: settings, curves, verdicts."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 3, 0, 2), title_justify="left")
        for heading in ("", "sick", "mended"):
            table.add_column(heading)
        for change in chosen.changes:
            table.add_row(change.path, f"{change.before:g}", f"{change.after:g}")
        for title, role, form in (("loss", "train.loss", ".2f"), (UNSEEN, "eval.exact_accuracy", ".0%")):
            ends = [_last(analysis, role) for analysis in (sick, healed)]
            table.add_row(title, *("-" if end is None else format(end, form) for end in ends))
        table.add_row("verdict", sick.verdict, healed.verdict)
        self._out.print(table)

    def _show(self, analysis: Analysis) -> None:
        from hrmdoc.reports.terminal import show

        show(analysis, self._out)

    def _diff(self, diff: str) -> None:
        from rich.text import Text

        for line in diff.splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            self._out.print(Text(line, style=style))

    def _name(self, path: Path) -> str:
        try:
            return str(path.resolve().relative_to(Path.cwd()))
        except ValueError:
            return str(path)


def _is_sure(analysis: Analysis) -> bool:
    """Whether the run is sick beyond doubt."""
    leading = analysis.diagnosis.hypotheses[:1]
    return analysis.verdict in ("warning", "critical") and any(one.probability >= SURE for one in leading)


def _last(analysis: Analysis, role: str) -> float | None:
    """Where a curve ends."""
    series = analysis.run.best(role)
    return float(series.values[-1]) if series is not None and len(series) else None


def _runs(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/run.json") if not path.parent.is_symlink()}
