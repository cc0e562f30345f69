"""Runs a command, and where it ends sick, patches its config by policy, runs it again, and takes back what
did not help."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hrmdoc.analysis import Analysis, AnalysisSession
from hrmdoc.live.actionlog import FILE
from hrmdoc.live.incidents import Incident
from hrmdoc.live.state import supervised_folder
from hrmdoc.live.taken import TakenAction
from hrmdoc.live.treatment import Treatment
from hrmdoc.live.watch import Observer
from hrmdoc.remedies import store
from hrmdoc.settings import Settings
from hrmdoc.supervision.supervise import NEVER, Outcome, StopPolicy, supervise

CONFIGS = (".yaml", ".yml", ".json")


def configs_in(command: Sequence[str]) -> list[Path]:
    """The config files that the words of a command name, also as `--config=FILE`."""
    named = [Path(word.rpartition("=")[2]) for word in command[1:]]
    return [path for path in named if path.suffix in CONFIGS and path.is_file()]


def heal(
    command: Sequence[str],
    log: Path,
    configs: Sequence[Path],
    settings: Settings,
    *,
    stop: StopPolicy = NEVER,
    report: Callable[[Incident], None] = lambda _: None,
    show_action: Callable[[TakenAction], None] = lambda _: None,
    observe: Observer = lambda *_: None,
) -> Outcome:
    """Supervises `command` until it ends without a fault, or until the policy allows no further remedy.

    Args:
        log: the output of the first run; the next ones are kept beside it, as `<name>-2.log` and so on.
        configs: the files that may be patched, read by the command each time it starts.
        report, show_action: called with every incident, and with everything that is done.
        observe: called with every look of the watch.

    Returns:
        The outcome of the last run, examined together with its config.

    Raises:
        UsageError: the command cannot be started, or a log cannot be written.
        InputError: a config cannot be read.
        PatchError: a patch cannot be taken back, because the file was edited meanwhile.
    """

    def run(number: int) -> Outcome:
        place = log if number == 1 else log.with_name(f"{log.stem}-{number}{log.suffix}")
        outcome = supervise(command, place, stop=stop, settings=settings, report=report, observe=observe)
        return replace(outcome, analysis=_examined(outcome.logs, configs, settings))

    treatment = Treatment(settings.policy, log, supervised_folder(log) / FILE)
    sick = last = run(1)
    number = 1
    while True:
        action = next(iter(treatment.look(sick.analysis, time.time(), closed=True)), None)
        if action is not None:
            show_action(action)
        if action is None or action.status != "written":
            return last
        number += 1
        last = run(number)
        showing = {symptom.id for symptom in last.analysis.symptoms if symptom.state == "present"}
        ineffective = last.status != 0 or not showing.isdisjoint(action.gone)
        if (
            ineffective
        ):  # the config is again what the sick run was examined with, so its other remedies still fit
            for file in action.files:
                store.undo(file)
        else:
            sick = last
        became = replace(action, status="ineffective" if ineffective else "helped", at=time.time())
        treatment.keep(became)
        show_action(became)


def _examined(logs: Sequence[Path], configs: Sequence[Path], settings: Settings) -> Analysis:
    session = AnalysisSession(str(logs[0]), settings=settings)
    session.try_to_read([*map(str, logs), *map(str, configs)])
    return session.look(closed=True)
