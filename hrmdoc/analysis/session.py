"""A run under examination, which may still grow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hrmdoc import readers
from hrmdoc.analysis.prepared import Prepared
from hrmdoc.analysis.result import Analysis
from hrmdoc.diagnosis.circumstances import facts_asked
from hrmdoc.diagnosis.diagnose import Diagnosis, Verdict, diagnose
from hrmdoc.diagnosis.run_state import run_state, says_too_little
from hrmdoc.errors import InputError
from hrmdoc.examination import flight
from hrmdoc.examination.beside import compared_by
from hrmdoc.examination.course import LOG_RATIO
from hrmdoc.examination.derived import outdone
from hrmdoc.examination.examine import Examination, Situation
from hrmdoc.examination.process import process_of
from hrmdoc.examination.symptom import Symptom
from hrmdoc.monitors import kept
from hrmdoc.paths import existing_kept_in
from hrmdoc.record.records import Damage, Tick
from hrmdoc.record.run import Run, Sighting
from hrmdoc.roles import RoleMap, absent_metrics, check_stated
from hrmdoc.roles.spelled import names_of_settings
from hrmdoc.rulebook.platforms import spoken
from hrmdoc.settings import Settings

if TYPE_CHECKING:
    from hrmdoc.remedies.prescribe import Prescription


class AnalysisSession:
    """A run under examination: feed it bytes or records, diagnose it when you like.

    Args:
        path: what the user named.
        settings: the user's settings; by default those nearest to the working folder.
        prepared: settings and rules that were loaded before, as for many runs; `settings` is not asked.
        facts: canonical facts that the user states, such as `run.kind`.
        metric_roles: metric name -> role, as the user states it.
        compare: the runs that lie beside a run that is read are read too, and it is judged by them.
    """

    def __init__(
        self,
        path: str,
        *,
        settings: Settings | None = None,
        facts: Mapping[str, Any] | None = None,
        metric_roles: Mapping[str, str] | None = None,
        prepared: Prepared | None = None,
        compare: bool = True,
    ) -> None:
        ready = prepared or Prepared.of(settings)
        self.settings, self.book, self.matcher = ready.settings, ready.book, ready.matcher
        self._peers = ready.peers
        self.names_of_settings = names_of_settings(self.book)
        origin = self.settings.origin or None
        check_stated(self.book, self.settings.roles, self.settings.facts, origin)
        check_stated(self.book, metric_roles or {}, facts or {})
        self.other_runs = ""
        self.on_read: Callable[[str, int], None] | None = None
        self._roles = {**self.settings.roles, **(metric_roles or {})}
        self._stated = {**self.settings.facts, **(facts or {})}
        self._disabled = frozenset(self.settings.disable)
        self._compares = compare
        self._group: readers.RunGroup | None = None
        self._compared = False
        self._spoken: object = None
        self._seen: tuple[object, ...] = ()
        self._facts: Mapping[str, Any] = {}
        self._diagnosis: Diagnosis | None = None
        self._examination = self._opened(path)
        self.run = self._examination.run

    def __repr__(self) -> str:
        """One line: what is examined, and how much of it was read."""
        return f"<AnalysisSession {self.run!r}>"

    def _opened(self, path: str) -> Examination:
        """The examination of a run of that name that holds nothing yet."""
        run = Run(path, RoleMap(self.book, self._roles))
        return Examination(run, self.book, matcher=self.matcher, disabled=self._disabled, facts=self._stated)

    def locate(self, group: readers.RunGroup) -> None:
        """Where the run lies: with the next diagnosis the runs beside it are read, if it is to be compared
        with them."""
        self._group = group if self._compares else None

    def _look_beside(self) -> None:
        """Reads the runs that lie beside the one that was read, once, for rules that compare it with them."""
        group, self._group = self._group, None
        if group is not None and not self._disabled.issuperset(compared_by(self.book)):
            stated = repr((self._roles, self._stated))
            found = self._peers.of(group, self._opened, self.names_of_settings, stated)
            self.run.peers = tuple(found)

    def read(self, paths: Sequence[str]) -> None:
        """Reads everything under `paths`; what could not be read becomes damage of the run.

        Where one path holds several runs, the newest is read, and `other_runs` names the rest.

        Raises:
            InputError: a path does not exist, or nothing at all could be read.
        """
        problems: list[Damage] = []
        if len(paths) == 1:
            groups = readers.runs_at(paths[0], problems)
            self.other_runs = readers.runs_note(groups)
            run = groups[-1]
        else:
            sources = readers.discover(paths, problems, unpacking=True)
            run = readers.RunGroup(paths[0], tuple(sources), 0.0)
        self.read_run(run, problems)

    def read_run(self, group: readers.RunGroup, problems: Sequence[Damage] = ()) -> None:
        """Reads one of the runs that `readers.runs_below` lists; `problems` are what it passed by.

        Raises:
            InputError: nothing at all could be read.
        """
        self.run.extend(problems)
        readers.read_into(
            self.run,
            group.sources,
            self.matcher.wanted,
            *filter(None, [self.on_read]),
            settings=self.names_of_settings,
        )
        self.run.extend(group.resumes(self.run.events))
        self.locate(group)
        self.sight(group, max((source.mtime for source in group.sources), default=0.0))

    def sight(self, group: readers.RunGroup, written: float) -> None:
        """Takes in when the run's files were written last, Unix seconds, and what watches measured beside it,
        in the place of what was taken in before."""
        self.run.sighting = Sighting(time.time(), written)
        self.run.measured.clear()
        for place in dict.fromkeys((group.folder, self.run.path)):
            folder = existing_kept_in(Path(place))
            if folder is not None and kept.load(self.run, folder / kept.FILE, written):
                break

    def try_to_read(self, paths: Sequence[str]) -> None:
        """As `read`, but paths that exist and hold nothing readable leave a run without data.

        Raises:
            InputError: a path does not exist.
        """
        try:
            self.read(paths)
        except InputError as error:
            if not all(path == "-" or os.path.lexists(path) for path in paths):
                raise
            self.note_nothing_read(error)

    def try_to_read_run(self, group: readers.RunGroup, problems: Sequence[Damage] = ()) -> None:
        """As `read_run`, but what holds nothing readable leaves a run without data."""
        self.other_runs = readers.runs_note([group])
        try:
            self.read_run(group, problems)
        except InputError as error:
            self.note_nothing_read(error)

    def note_nothing_read(self, error: InputError) -> None:
        """Keeps why nothing could be read; text that was read and says nothing is no damage."""
        damage = Damage(error.file or self.run.path, error.line, error.what)
        only_talk = "text" in self.run.formats and not self.run.damages
        known = {(one.file, one.line, one.what) for one in self.run.damages}
        if not only_talk and (damage.file, damage.line, damage.what) not in known:
            self.run.add(damage)

    def diagnose(self, *, closed: bool, prescriptions: bool = True) -> Analysis:
        """Examines what is there and ranks the causes. `closed`: the run has ended, nothing is waited for."""
        self._take_stock(closed=closed)
        self._look_beside()
        symptoms = self._examination.advance(closed=closed)
        situation = self._examination.situation
        self._speak(situation.facts.get("device.platform"))
        known = {a.symptom: a.reason for a in self.settings.acknowledge if a.holds(date.today())}
        judged = [replace(s, severity="info") if s.id in known else s for s in symptoms]
        named = "" if situation.framework == "unknown" else situation.framework
        result = self._diagnosed(judged, situation, named)
        if says_too_little(self.run, result.verdict, judged, closed=closed):
            result = replace(result, verdict="no_data")
        offered = self._prescribed(situation, result) if prescriptions else {}
        state = run_state(self.run, situation.facts, symptoms, self.book, closed=closed)
        notes = (*absent_metrics(self.run), *outdone(situation.facts)) if closed else ()
        return Analysis(self.run, self.book, situation, judged, result, state, offered, known, notes)

    def match_lines(self) -> tuple[int, int]:
        """How many symptoms have log lines that match so far, and how many lines those are."""
        return self._examination.match_lines()

    def course(self) -> dict[str, float]:
        """The course of the run as it was last diagnosed, in a few numbers (`hrmdoc.examination.course`)."""
        return self._examination.course()

    def rest(self, points: int, lines: int) -> None:
        """Keeps the last points of each series and the last log lines alone. A run of which that is left is
        read on and not diagnosed: for that it is read again, by another session."""
        self._examination.match_lines()
        self._examination.rest(self.run.forget_old(points, lines))
        self._seen, self._diagnosis = (), None

    def understand(self) -> None:
        """Gives the metrics of a run that has ended the roles that its framework gives their names; no rule
        is looked at."""
        self._take_stock(closed=True)
        self._examination.understand(closed=True)

    def _speak(self, platform: object) -> None:
        """Has causes and remedies say what they say in the words of the run's platform."""
        if platform != self._spoken:
            self._spoken = platform
            self.book = spoken(self.book, platform)

    def _take_stock(self, *, closed: bool) -> None:
        """Adds what the records say together, once all are there, and whether the process still lives."""
        if closed and not self._compared:
            self._compared = True
            self.run.extend(flight.compare(self.run))
        self.run.extend(fact for fact in process_of(self.run) if fact != self.run.fact(fact.key))
        if closed:
            self.run.add(replace(self.run.clock or Tick(), closed=True))

    def checks(self) -> Analysis:
        """Examines facts alone, before there is a run: the rules that are checks, and nothing else."""
        analysis = self.diagnose(closed=True, prescriptions=False)
        rules = {rule.id for rule in self.book.symptoms.values() if rule.when.only_checks}
        asked = [symptom for symptom in analysis.symptoms if symptom.id in rules]
        found = [analysis.severity(symptom) for symptom in asked if symptom.state == "present"]
        levels: tuple[Verdict, ...] = ("critical", "warning", "info")
        verdict: Verdict = next((level for level in levels if level in found), "healthy")
        config = Path(self.run.path) if self.run.path else None
        offered = self._prescribed(analysis.situation, analysis.diagnosis, config)
        diagnosis = replace(analysis.diagnosis, verdict=verdict)
        return replace(analysis, symptoms=asked, diagnosis=diagnosis, prescriptions=offered)

    def _prescribed(
        self, situation: Situation, diagnosis: Diagnosis, config: Path | None = None
    ) -> Mapping[str, Sequence[Prescription]]:
        """Prescriptions where there is a cause; what patches configs is loaded for those runs alone."""
        if not diagnosis.hypotheses:
            return {}
        from hrmdoc.remedies.prescribe import prescribe

        return prescribe(self.run, situation, diagnosis, self.book, config)

    def _diagnosed(self, symptoms: list[Symptom], situation: Situation, framework: str) -> Diagnosis:
        """The ranking, computed again only when a symptom or the situation changed."""
        states = tuple((s.id, s.state, s.severity, s.count) for s in symptoms)
        seen = (situation.kind, framework, states)
        if self._diagnosis is None or seen != self._seen or self._stated_anew(situation.facts):
            self._seen, self._facts = seen, situation.facts
            self._diagnosis = diagnose(
                symptoms, self.book, kind=situation.kind, facts=situation.facts, framework=framework
            )
        return self._diagnosis

    def _stated_anew(self, facts: Mapping[str, Any]) -> bool:
        """Whether circumstances of a cause, or what the course speaks for, changed since the last ranking."""
        known = self._facts
        return any(facts.get(name) != known.get(name) for name in (LOG_RATIO, *facts_asked(self.book)))
