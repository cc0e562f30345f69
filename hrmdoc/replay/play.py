"""Plays an incident: a healthy twin, the run with the fault, the doctor at work, the healed run, one page.
Only the config is staged."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import ActionError, HrmdocError, PatchError
from hrmdoc.replay.story import Role, Story
from hrmdoc.replay.telling import Teller

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.remedies.choice import Choice

PATIENCE_S = 180.0


@dataclass(frozen=True, slots=True)
class Ending:
    """What a replay leaves behind. `choices` are the patches that were made; `twin` is None where none was
    trained."""

    story: Story
    sick: Analysis
    healed: Analysis
    twin: Analysis | None
    choices: Sequence[Choice]
    report: Path

    @property
    def left(self) -> list[str]:
        """Symptoms that the healed run still shows."""
        return _alarms(self.healed)

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
        self.story, self.tell = story, Teller(story, out)
        self.runs = folder / "runs"
        self.config = self.runs / f"{story.name}.yaml"

    def play(self, *, twin: bool = True) -> Ending:
        """The whole story, as it happens.

        Args:
            twin: trains the healthy twin first.

        Raises:
            HrmdocError: the program did not start, or no remedy could be applied.
        """
        from hrmdoc.reports import review
        from hrmdoc.reports.twins import companion_of

        self.runs.mkdir(parents=True, exist_ok=True)
        self.tell.out.print(self.story.introduction, highlight=False)
        healthy = self._train("twin", "The healthy twin") if twin else None
        self.config.write_text(self.story.config, "utf-8")
        sick = self._train("sick", "Training starts")
        self.tell.chapter("The diagnosis", f"hrmdoc analyze {self._run(sick)}")
        self.tell.diagnosis(sick)
        healed, choices = self._heal(sick)
        self.tell.chapter("The rerun is looked at, too", f"hrmdoc analyze {self._run(healed)}")
        self.tell.diagnosis(healed)
        every_run = [one for one in (sick, healed, healthy) if one is not None]
        report = self.runs / f"{self.story.name}.html"
        named = " ".join(self._run(one) for one in every_run)
        self.tell.chapter("The report", f"hrmdoc report {named} -o {self._name(report)}")
        overlaid = [companion_of(sick, one) for one in every_run[1:]]
        report.write_text(review.html(every_run, overlaid), "utf-8")
        changes = [change for one in choices for change in one.prescription.changes]
        self.tell.comparison(every_run, changes)
        return Ending(self.story, sick, healed, healthy, choices, report)

    def _heal(self, sick: Analysis) -> tuple[Analysis, list[Choice]]:
        """Patches the config and trains again, as often as the story allows; the last run, the patches."""
        choices = [self._patch(sick)]
        healed = self._train("healed", "The rerun")
        while _alarms(healed) and len(choices) < self.story.rungs:
            try:
                choices.append(self._patch(healed))
            except PatchError:
                break
            healed = self._train("healed", "The rerun")
        return healed, choices

    def _patch(self, analysis: Analysis) -> Choice:
        """Writes the patch that the diagnosis of a run calls for."""
        from hrmdoc.remedies import store
        from hrmdoc.remedies.choice import choose

        choice = choose(analysis, None, self.config, every=self.story.every)
        every = " --all" if self.story.every else ""
        command = f"hrmdoc apply {self._run(analysis)}{every} --config {self._name(self.config)} --write"
        self.tell.chapter("The patch", command)
        self.tell.diff(choice.prescription.diff)
        store.write(choice.patch)
        return choice

    def _train(self, role: Role, title: str) -> Analysis:
        """Starts a run, watches it live, reports incidents; the analysis of its end."""
        from hrmdoc.live.watch import Watch

        config = self.config
        if role == "twin":
            config = self.config.with_name(f"{self.story.name}-twin.yaml")
            config.write_text(self.story.twin_config, "utf-8")
        folder = _free(self.runs / f"{self.story.name}-{role}")
        words = [*self.story.program, str(config.resolve()), f"run_dir={folder.resolve()}"]
        shown = [*_typed(self.story.program), self._name(config), f"run_dir={self._name(folder)}"]
        self.tell.chapter(title, " ".join(shown))
        with self._training(words, folder) as process:
            watch = Watch(str(folder), interval=0.3)
            told_stop = False
            analysis, evaluations = None, 0
            for update in watch.updates():
                analysis = update.analysis
                for incident in update.changes:
                    self.tell.incident(incident)
                evaluations = self.tell.evaluations(analysis, evaluations)
                if role == "sick" and not told_stop and self._is_enough(analysis):
                    told_stop = True
                    self._stop(folder)
                if process.poll() is not None:
                    watch.stop()
            assert analysis is not None
        return analysis

    @contextmanager
    def _training(self, words: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        several = "torch.distributed.run" in self.story.program  # then what it says belongs to the run
        log = folder / "output.log" if several else self.runs / f"{folder.name}-output.log"
        log.parent.mkdir(exist_ok=True)
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
        hint = "pip install 'hrmdoc[replay]'" if "No module named" in " ".join(tail) else None
        raise HrmdocError("the training did not start: " + " / ".join(tail), file=log, hint=hint)

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
            self.tell.out.print(
                f"          the run is told to stop through its inbox: {answer.status} at step {answer.step}",
                style="dim",
            )
        except ActionError:
            return  # it had ended by itself

    def _run(self, analysis: Analysis) -> str:
        return self._name(Path(analysis.run.path))

    def _name(self, path: Path) -> str:
        try:
            return str(path.resolve().relative_to(Path.cwd()))
        except ValueError:
            return str(path)


def _free(folder: Path) -> Path:
    """The folder, or where one of that name exists, the next one that is free."""
    number, free = 2, folder
    while free.exists():
        free, number = folder.with_name(f"{folder.name}-{number}"), number + 1
    return free


def _typed(program: Sequence[str]) -> list[str]:
    """A program as a person would start it."""
    short = {"hrmdoc": ["hrmdoc"], "torch.distributed.run": ["torchrun"]}
    return [*short.get(program[2], ["python", "-m", program[2]]), *program[3:]]


def _alarms(analysis: Analysis) -> list[str]:
    """Symptoms for which a run is no healthy one."""
    return sorted(
        one.id
        for one in analysis.present
        if one.state == "present" and analysis.severity(one) in ("warning", "critical")
    )
