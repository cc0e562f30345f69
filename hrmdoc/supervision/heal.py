"""Runs a command, and where it ends sick, patches its config by policy, runs it again, and takes back what
did not help."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.live.actionlog import FILE
from hrmdoc.live.incidents import Incident
from hrmdoc.live.notes import note
from hrmdoc.live.taken import TakenAction
from hrmdoc.live.treatment import Treatment
from hrmdoc.live.watch import Observer
from hrmdoc.paths import supervised_folder
from hrmdoc.record.records import Fact, Line
from hrmdoc.remedies import store
from hrmdoc.remedies.files import digest
from hrmdoc.remedies.overridden import overridden
from hrmdoc.remedies.patch import Patch
from hrmdoc.remedies.prescribe import prescribe
from hrmdoc.settings import Settings
from hrmdoc.supervision.ending import told
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
    measure: float | None = None,
) -> Outcome:
    """Supervises `command` until it ends without a fault, or until the policy allows no further remedy.

    Args:
        log: the output of the first run; the next ones are kept beside it, as `<name>-2.log` and so on.
        configs: the files that may be patched, read by the command each time it starts.
        report, show_action: called with every incident, and with everything that is done.
        observe: called with every update of the watch.
        measure: seconds between two samples of the machine; None: it is not measured.

    Returns:
        The outcome of the last run, examined together with its config.

    Raises:
        UsageError: the command cannot be started, or a log cannot be written.
        InputError: a config cannot be read.
        PatchError: a patch cannot be taken back, because the file was edited meanwhile.
    """

    def run(number: int) -> Outcome:
        place = log if number == 1 else log.with_name(f"{log.stem}-{number}{log.suffix}")
        patcher.starting()
        outcome = supervise(
            command, place, stop=stop, settings=settings, report=report, observe=observe, measure=measure
        )
        ended = [] if outcome.stopped_by is not None else told(outcome.status if outcome.seen else None)
        return replace(outcome, analysis=_examined(outcome.logs, configs, settings, command, ended))

    patcher = Patcher(log, configs, settings, show_action, command)
    number = 1
    while True:
        last = run(number)
        number += 1
        if not patcher.after(last):
            return last


class Patcher:
    """Changes the config of a command between two tries as far as the policy allows it, and takes back
    what did not help.

    Args:
        log: the output of the first try, beside which what is done is recorded.
        configs: the files that may be patched.
        show_action: called with everything that is done.
        command: what is run; what its words set is not changed in a config, where it does nothing.
    """

    def __init__(
        self,
        log: Path,
        configs: Sequence[Path],
        settings: Settings,
        show_action: Callable[[TakenAction], None],
        command: Sequence[str] = (),
    ) -> None:
        self._configs, self._show, self._command = configs, show_action, command
        self._started: dict[Path, str] = {}
        self._given: dict[str, Fact] = {}
        self._settings = Prepared.of(settings).settings
        self._treatment = Treatment(self._settings.policy, log, supervised_folder(log) / FILE)
        self._sick: Analysis | None = None
        self._tried: TakenAction | None = None

    def starting(self) -> None:
        """Notes what the configs say as a try begins: one that somebody changes meanwhile is not what it
        ran with."""
        self._started = {path.resolve(): _state(path) for path in self._configs}

    def after(self, outcome: Outcome, *, finished: bool = False) -> bool:
        """Takes in how a try ended; whether the config was changed for the next one. `finished`: there
        will be none."""
        analysis = _examined(outcome.logs, self._configs, self._settings, self._command)
        self._given = overridden(self._command, analysis.book)
        if self._tried is None or self._helped(self._tried, outcome, analysis) or self._sick is None:
            self._sick = analysis
        self._tried = None
        if finished:
            return False
        done = self._treatment.treat(self._sick, time.time(), closed=True, changeable=self._hindrance)
        action = next(iter(done), None)
        if action is None:
            return False
        self._show(action)
        self._tried = action if action.status == "written" else None
        return self._tried is not None

    def _hindrance(self, patch: Patch) -> str:
        """Why a patch would not do what it should: its file is not what the try began with, or the command
        says otherwise."""
        for edit in patch.edits:
            if self._started.get(edit.path.resolve(), digest(edit.before)) != digest(edit.before):
                return f"{edit.path.name} was changed by somebody else while this run went on"
        for change in patch.changes:
            if (said := self._given.get(change.key)) is not None:
                return f"the command itself sets {change.key} to {said.value}, whatever the config says"
        return ""

    def _helped(self, action: TakenAction, outcome: Outcome, analysis: Analysis) -> bool:
        """Whether a patch helped. One that did not is taken back: the config is again what the sick run was
        examined with, so that its other remedies still fit."""
        showing = {symptom.id for symptom in analysis.symptoms if symptom.state == "present"}
        helped = outcome.status == 0 and showing.isdisjoint(action.gone)
        for file in () if helped else action.files:
            self._take_back(Path(file), action)
        became = replace(action, status="helped" if helped else "ineffective", at=time.time())
        self._treatment.keep(became)
        self._show(became)
        return helped

    def _take_back(self, file: Path, action: TakenAction) -> None:
        """Undoes our own patch. One that another actor made on top of it is left alone, and so is ours."""
        newest = store.history(file)[-1:]
        if any(entry.remedy != action.remedy or entry.time < action.at for entry in newest):
            return
        entry = store.undo(file)
        note(entry.file, entry.remedy, file.name, "taken back", kind="by policy")
        self._started[file.resolve()] = _state(file)


def _state(path: Path) -> str:
    try:
        return digest(path.read_bytes())
    except OSError:
        return ""


def _examined(
    logs: Sequence[Path],
    configs: Sequence[Path],
    settings: Settings,
    command: Sequence[str] = (),
    ended: Sequence[Line] = (),
) -> Analysis:
    session = AnalysisSession(str(logs[0]), settings=settings)
    session.try_to_read([*map(str, logs), *map(str, configs)])
    for key, fact in overridden(command, session.book).items():
        session.run.add(Fact(key, fact.value))
    session.run.extend(ended)
    if len(configs) != 1:
        return session.diagnose(closed=True)
    found = session.diagnose(closed=True, prescriptions=False)
    offered = prescribe(found.run, found.situation, found.diagnosis, found.book, configs[0])
    return msgspec.structs.replace(found, prescriptions=offered)
