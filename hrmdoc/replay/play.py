"""Plays an incident: a healthy twin, the run with the fault, the doctor at work, the healed run, one page.
Only the config is staged."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import ActionError, HrmdocError
from hrmdoc.replay.story import Role, Story

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.incidents import Incident
    from hrmdoc.remedies.choice import Choice

PATIENCE_S = 180.0


@dataclass(frozen=True, slots=True)
class Ending:
    """What a replay leaves behind. `twin` is None where none was trained."""

    story: Story
    sick: Analysis
    healed: Analysis
    twin: Analysis | None
    choice: Choice
    report: Path

    @property
    def left(self) -> list[str]:
        """Symptoms that the healed run still shows."""
        return sorted(
            one.id
            for one in self.healed.present
            if one.state == "present" and self.healed.severity(one) in ("warning", "critical")
        )

    @property
    def cured(self) -> bool:
        """Whether the healed run is healthy, by the diagnosis and by the task's own metric."""
        return not self.left and self.story.reached(self.sick, self.healed)


class Replay:
    """Plays a story in a folder.

    Args:
        story: the incident.
        folder: where `runs/` is made; what stands there is kept.
        out: a rich console.
    """

    def __init__(self, story: Story, folder: Path, out: Any) -> None:
        self.story, self._out = story, out
        self.runs = folder / "runs"
        self.config = self.runs / f"{story.name}.yaml"
        self._chapter = 0

    def play(self, *, twin: bool = True) -> Ending:
        """The whole story, as it happens.

        Args:
            twin: trains the healthy twin first.

        Raises:
            HrmdocError: the program did not start, or no remedy could be applied.
        """
        from hrmdoc.remedies import store
        from hrmdoc.remedies.choice import choose
        from hrmdoc.reports import review
        from hrmdoc.reports.twins import companion_of

        self.runs.mkdir(parents=True, exist_ok=True)
        self._out.print(self.story.introduction, highlight=False)
        healthy = self._train("twin", "The healthy twin") if twin else None
        self.config.write_text(self.story.config, "utf-8")
        sick = self._train("sick", "Training starts")
        run, config = self._name(Path(sick.run.path)), self._name(self.config)
        self._say("The diagnosis", f"hrmdoc analyze {run}")
        self._show(sick)
        every = " --all" if self.story.every else ""
        self._say("The patch", f"hrmdoc apply {run}{every} --config {config} --write")
        choice = choose(sick, None, self.config, every=self.story.every)
        self._diff(choice.prescription.diff)
        store.write(choice.patch)
        healed = self._train("healed", "The rerun")
        again = self._name(Path(healed.run.path))
        self._say("The rerun is looked at, too", f"hrmdoc analyze {again}")
        self._show(healed)
        every_run = [one for one in (sick, healed, healthy) if one is not None]
        named = " ".join(self._name(Path(one.run.path)) for one in every_run)
        report = self.runs / f"{self.story.name}.html"
        self._say("The report", f"hrmdoc report {named} -o {self._name(report)}")
        overlaid = [companion_of(sick, one) for one in every_run[1:]]
        report.write_text(review.html(every_run, overlaid), "utf-8")
        ending = Ending(self.story, sick, healed, healthy, choice, report)
        self._compare(ending)
        return ending

    def _train(self, role: Role, title: str) -> Analysis:
        """Starts a run, watches it live, reports incidents; the analysis of its end."""
        from hrmdoc.live.watch import Watch

        config = self.config
        if role == "twin":
            config = self.config.with_name(f"{self.story.name}-twin.yaml")
            config.write_text(self.story.twin_config, "utf-8")
        folder = _free(self.runs / f"{self.story.name}-{role}")
        words = [*self.story.program, str(config.resolve()), f"run_dir={folder.resolve()}"]
        shown = ["hrmdoc" if words[2] == "hrmdoc" else "python -m " + words[2], *words[3:-2]]
        self._say(title, " ".join([*shown, self._name(config), f"run_dir={self._name(folder)}"]))
        with self._training(words, folder) as process:
            watch = Watch(str(folder), interval=0.3)
            told_stop = False
            analysis, evaluations = None, 0
            for update in watch.updates():
                analysis = update.analysis
                for incident in update.changes:
                    self._tell(incident)
                evaluations = self._report_evaluations(analysis, evaluations)
                if role == "sick" and not told_stop and self._is_enough(analysis):
                    told_stop = True
                    self._stop(folder)
                if process.poll() is not None:
                    watch.stop()
            assert analysis is not None
        return analysis

    @contextmanager
    def _training(self, words: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        log = self.runs / f"{folder.name}-output.log"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                words, cwd=self.runs.parent, stdout=output, stderr=output, env=environment
            )
        try:
            self._appeared(process, folder, log)
            yield process
            process.wait(timeout=30)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=30)

    def _appeared(self, process: subprocess.Popen[bytes], folder: Path, log: Path) -> None:
        """Waits until the run just started describes itself."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if (folder / "run.json").is_file():
                return
            if process.poll() is not None:
                break
            time.sleep(0.1)
        tail = log.read_text("utf-8", errors="replace").strip().splitlines()[-3:]
        raise HrmdocError("the training did not start: " + " / ".join(tail), file=log)

    def _is_enough(self, analysis: Analysis) -> bool:
        """Whether the sick run has shown what it has to show, and is sick beyond doubt."""
        step = max((int(s.steps[-1]) for s in analysis.run.series.values() if len(s)), default=0)
        leading = analysis.diagnosis.hypotheses[:1]
        sure = any(one.probability >= self.story.sure for one in leading)
        return step >= self.story.enough_steps and analysis.verdict in ("warning", "critical") and sure

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

    def _say(self, title: str, command: str) -> None:
        from rich.text import Text

        self._out.print()
        self._chapter += 1
        line = Text(f"{self._chapter}. {title}", style="bold").append(f"   $ {command}", style="dim")
        self._out.print(line, soft_wrap=True)

    def _tell(self, incident: Incident) -> None:
        from hrmdoc.reports.terminal import show_incident

        show_incident(incident, self._out)

    def _report_evaluations(self, analysis: Analysis, reported: int) -> int:
        """Reports the evaluations beyond the first `reported`, by the last goal; how many there are."""
        from rich.text import Text

        goal = self.story.goals[-1]
        reached = goal.curve(analysis)
        if reached is None:
            return reported
        for step, share in zip(reached.steps[reported:], reached.values[reported:], strict=True):
            said = f"    step {step:>4}: {share:{goal.form}} of the {goal.label}"
            self._out.print(Text(time.strftime("%H:%M:%S"), style="dim").append(said, style="not dim"))
        return len(reached)

    def _compare(self, ending: Ending) -> None:
        """What the patch has changed: settings, curves, verdicts."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 3, 0, 2), title_justify="left")
        runs = [one for one in (ending.sick, ending.healed, ending.twin) if one is not None]
        for heading in ("", "sick", "mended", "healthy twin")[: len(runs) + 1]:
            table.add_column(heading)
        for change in ending.choice.prescription.changes:
            table.add_row(change.path, _brief(change.before), _brief(change.after))
        for goal in self.story.goals:
            ends = [goal.at_end(one) for one in runs]
            table.add_row(goal.label, *("-" if end is None else format(end, goal.form) for end in ends))
        table.add_row("verdict", *(one.verdict for one in runs))
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


def _brief(value: object) -> str:
    """A setting as it is shown in the table."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _free(folder: Path) -> Path:
    """The folder, or where one of that name exists, the next one that is free."""
    number, free = 2, folder
    while free.exists():
        free, number = folder.with_name(f"{folder.name}-{number}"), number + 1
    return free
