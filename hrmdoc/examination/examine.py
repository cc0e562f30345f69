"""Run -> symptoms. One path for live and post-mortem: `analyze` feeds everything and advances once, `watch`
advances often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from hrmdoc import roles
from hrmdoc.errors import RuleError
from hrmdoc.examination import ranks
from hrmdoc.examination.beside import beside, peer_of, settings_in
from hrmdoc.examination.course import COURSE, LOG_RATIO, course, log_ratio
from hrmdoc.examination.derived import derived, outdone_rate
from hrmdoc.examination.evidence import to_symptom
from hrmdoc.examination.nodes import Node, build
from hrmdoc.examination.outcome import ended_well, learned, solved, stands_still
from hrmdoc.examination.plan import Planned, plan_of
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.signatures import SignatureMatch, SignatureMatcher
from hrmdoc.examination.symptom import Symptom
from hrmdoc.examination.tracks import Rewinds, clock_restarts, rewinds
from hrmdoc.record.peer import Peer
from hrmdoc.record.records import Event, Fact, Line
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.rulebook import Rulebook, SymptomRule, When
from hrmdoc.rulebook.thresholds import resolve
from hrmdoc.text import patterns

_SIZE = patterns.lazy(r"([\d.]{1,12}) ?([KMGT])i?B")
_CLOCK = patterns.lazy(
    r"(?:time/)?(?:time|seconds|(?:time|seconds|wall|total)?[_/ ]?elapsed"
    r"|(?:elapsed|wall|total)[_/ ]?(?:time|s|seconds))",
    re.IGNORECASE,
)
"""What programs call the seconds that they have run."""
_GIB = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}


MOST_MATCHES = 100
"""Lines of a symptom that are kept of a run that is not to be examined any more."""


class Situation(Struct, frozen=True):
    """What kind of run this is, as far as the records tell: canonical facts, framework, kind, and why.

    Attributes:
        derived: the facts that nobody states: they follow from the records, or are what is usual.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    framework: str = "unknown"
    kind: str = "unknown"
    reason: str = ""
    derived: frozenset[str] = frozenset()


class Examination:
    """Examines one run by one rulebook, and goes on where it stopped when the run has grown.

    Args:
        run: the run; the caller adds records to it.
        book: the rules.
        matcher: the signature matcher of the same rulebook.
        disabled: ids of symptoms that the user switched off.
        facts: canonical facts that the user states; they win over what is read.
    """

    def __init__(
        self,
        run: Run,
        book: Rulebook,
        *,
        matcher: SignatureMatcher | None = None,
        disabled: frozenset[str] = frozenset(),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.run = run
        self.book = book
        self.situation = Situation()
        self.closed = False
        self._families = roles.Families(book.families.values())
        self._meanings = roles.Meanings(book.quantities.values())
        self._signatures = (matcher or SignatureMatcher(book)).session()
        self._stated = dict(facts or {})
        self._plan = plan_of(book, disabled)
        self._nodes: dict[str, tuple[When, Node]] = {}
        self._matches: dict[str, list[tuple[Line, SignatureMatch]]] = {}
        self._lines_taken = 0
        self._named: tuple[object, ...] | None = None
        self._canonical: dict[str, Fact] = {}
        self._findings: dict[str, Finding] = {}
        self._unseen: dict[str, tuple[Planned, Finding, Symptom]] = {}

    def advance(self, *, closed: bool = False) -> list[Symptom]:
        """Takes in what the run got since the last call; the state of every rule, in the rulebook's order.

        Args:
            closed: the run has ended; nothing is waited for any more.
        """
        canonical = self.understand(closed=closed)
        self._with_restarts()
        self.situation = self._situate(canonical)
        scene = self._scene(self._with_rewinds(), canonical)
        self._findings.clear()
        symptoms: dict[str, Symptom] = {}
        for planned in self._plan.of(self.situation.kind, self.situation.framework):
            name = planned.rule.id
            finding = self._findings[name] = self._evaluate(planned, scene)
            symptoms[name] = self._symptom(planned, finding, scene)
        if any(one.seen and one.severity == "warning" for one in symptoms.values()):
            self._weigh(scene)
        scene.forget()
        return [symptoms[rule.id] for rule in self._plan.rules]

    def understand(self, *, closed: bool = False) -> dict[str, Fact]:
        """Takes in what the run got since the last call and gives its metrics their roles, which depend on
        the framework that wrote it; no rule is looked at.

        Returns:
            The canonical facts.
        """
        self.closed = closed
        self._match_lines()
        if closed:
            for line, match in self._signatures.close(self.run.line_count):
                self._matches.setdefault(match.signature.symptom, []).append((line, match))
            launchers = [rule.id for rule in self._plan.rules if rule.launcher]
            self.run.extend(ranks.facts(self.run, self._matches, launchers))
        seen = self._named_by()
        if seen != self._named:
            self._canonical = roles.canonical(self.run, self.book)
            known = self._known(self._canonical)
            framework = str(known.get("run.framework") or "unknown")
            roles.settle(self.run, framework, by_reward=roles.by_settings(known) is not None)
            roles.classify(self.run, self._families, self._meanings)
            self._named = seen
        self._plan.tables.leave_out(self.run)
        return self._canonical

    def as_peer(self) -> Peer:
        """The run, all of which was read, as others of its program see it."""
        canonical = self.understand(closed=True)
        return peer_of(self.run, settings_in(canonical, self._situate(canonical).facts))

    def _named_by(self) -> tuple[object, ...]:
        """All that canonical facts and roles follow from; it stands still while points alone are added."""
        run = self.run
        series = [*run.series.values(), *run.measured.values()]
        names = [
            (one.key, one.role, len(one.files), one.values[-1:].tobytes() * (one.key.metric in _PLANNED))
            for one in series
        ]
        tables = [one.steps[:1].tobytes() for one in series if one.axis == "epoch"]
        return run.stated, len(run.facts), names, tables, run.formats[:], len(run.lines)

    def _known(self, canonical: Mapping[str, Fact]) -> dict[str, Any]:
        return {key: _unquoted(fact.value) for key, fact in canonical.items()} | self._stated

    def _symptom(self, planned: Planned, finding: Finding, scene: Scene) -> Symptom:
        """The rule's words around a finding; of most rules nothing is seen, again and again."""
        rule = planned.rule
        if finding.state in ("present", "resolved"):
            symptom = to_symptom(rule, finding, self.situation.facts)
            return replace(symptom, got_over=True) if self._got_over(rule, finding, scene) else symptom
        known = self._unseen.get(rule.id)
        if known is not None and known[0] is planned and known[1] == finding:
            return known[2]
        symptom = to_symptom(rule, finding, self.situation.facts)
        self._unseen[rule.id] = planned, finding, symptom
        return symptom

    def _got_over(self, rule: SymptomRule, finding: Finding, scene: Scene) -> bool:
        """Whether a finding is harmless: over with a run before the last one, or in one that ended well, or
        of a curve that is judged by what became of it."""
        if finding.state == "resolved":
            over = finding.values.get("of_last_run") is False or rule.alarms == "outcome"
            return over or ended_well(scene, finding.role)
        if finding.state != "present" or rule.alarms not in ("outcome", "unsolved"):
            return False
        if stands_still(scene, finding.role) or solved(scene, finding.role):
            return True
        harmless = ended_well if rule.alarms == "outcome" else learned
        return harmless(scene, finding.role)

    def rest(self, gone: int) -> None:
        """Lets go what was found in a run of which old points and its first `gone` lines are no longer
        there: it is not to be examined any more. What came since is matched on."""
        self._lines_taken -= gone
        self._matches = {name: found[-MOST_MATCHES:] for name, found in self._matches.items()}
        self._nodes.clear()
        self._unseen.clear()
        self._findings.clear()

    def match_lines(self) -> tuple[int, int]:
        """Takes in the log lines that came since the last call: how many symptoms have matches now, and how
        many those are."""
        if self._lines_taken != len(self.run.lines):
            self._match_lines()
        return len(self._matches), sum(map(len, self._matches.values()))

    def _match_lines(self) -> None:
        for line in self.run.lines[self._lines_taken :]:
            for match in self._signatures.match(line):
                self.run.extend(facts_in(line, match))
                self._matches.setdefault(match.signature.symptom, []).append((line, match))
        self._lines_taken = len(self.run.lines)

    def _situate(self, canonical: Mapping[str, Fact]) -> Situation:
        facts = self._known(canonical)
        if "optimizer.lr" not in self._stated:
            facts |= outdone_rate(self.run, canonical.get("optimizer.lr"))
        framework = str(facts.get("run.framework") or "unknown")
        inferred, reason = roles.infer_kind(self.run, facts)
        kind = str(self._stated.get("run.kind") or inferred)
        if "run.kind" in self._stated:
            reason = "stated by the user"
        facts.setdefault("run.kind", kind)
        stated = frozenset(facts)
        facts |= derived(self.run, facts, self.book)
        if self.run.peers:
            facts |= beside(peer_of(self.run, settings_in(canonical, facts)), self.run.peers)
        return Situation(facts, framework, kind, reason, frozenset(facts.keys() - stated))

    def _with_restarts(self) -> None:
        """Adds a resume event for each place at which the steps go on while the seconds that the program has
        run begin anew, where no event of the log tells one."""
        series = self.run.best("train.loss")
        if series is None or any(self.run.events.of("resume", "restart")):
            return
        for clock in [one for one in self.run.series.values() if _CLOCK.fullmatch(one.key.metric)]:
            beside = clock.files == series.files and np.array_equal(clock.steps, series.steps)
            if not beside or rewinds(series.steps) != Rewinds():
                continue
            for index in clock_restarts(clock.values):
                self._resumed(series, index, int(series.steps[index - 1]), f"{clock.key.metric} began anew")

    def _with_rewinds(self) -> Run:
        """Adds a resume event for each fall to a checkpoint that no event of the log tells.

        A fall to the beginning is another run in the same file, not this one failing again.
        """
        series = self.run.best("train.loss")
        if series is None or any(self.run.events.of("resume", "restart")):
            return self.run
        falls = rewinds(series.steps)
        for index in (one for one in falls.resumed if series.steps[one] > series.steps[0]):
            step = int(series.steps[index])
            self._resumed(series, index, step, f"the step counter fell back to {step}")
        return self.run

    def _resumed(self, series: Series, index: int, step: int, detail: str) -> None:
        """Adds a resume event at a point of a series, from a checkpoint of a step."""
        file, line = series.place(index)
        self.run.events.append(Event("resume", file, line, step, float(series.times[index]), detail=detail))

    def course(self) -> dict[str, float]:
        """The measures of the course of the run as it was last examined."""
        return course(self._scene(self.run, self._canonical))

    def _scene(self, run: Run, canonical: Mapping[str, Fact]) -> Scene:
        return Scene(
            run,
            self.situation.facts,
            self._matches,
            self._findings.get,
            self._plan.groups,
            self.closed,
            {key: fact for key, fact in canonical.items() if fact.file},
            [self.book.typical["outcome"]] if "outcome" in self.book.typical else (),
        )

    def _weigh(self, scene: Scene) -> None:
        """Adds what experience says of a run with such a course."""
        experience = self.book.experience.get(COURSE)
        ratio = None if experience is None else log_ratio(scene, experience)
        if ratio is not None:
            self.situation = replace(self.situation, facts={**self.situation.facts, LOG_RATIO: ratio})

    def _evaluate(self, planned: Planned, scene: Scene) -> Finding:
        rule, when = planned.rule, planned.when
        if not planned.fits:
            return Finding("not_evaluated", missing=(f"a run of another kind than {self.situation.kind}",))
        missing = self._missing(rule, scene)
        if missing:
            return Finding("not_evaluated", missing=missing)
        try:
            when = when if planned.fixed else resolve(when, self.situation.facts)
        except KeyError as unknown:
            return Finding("not_evaluated", missing=(str(unknown.args[0]),))
        known = self._nodes.get(rule.id)
        if known is None or (known[0] is not when and known[0] != when):
            try:
                about = rule.needs.roles + rule.needs.any_role
                known = self._nodes[rule.id] = (when, build(when, rule.id, rule.applies.phases, about))
            except (ValueError, TypeError, RuleError) as error:
                if not planned.fixed:  # a run may state anything, "auto" where a number belongs too
                    return Finding("not_evaluated", missing=(str(error),))
                raise RuleError(f"symptom {rule.id}: {error}") from error
        return known[1].evaluate(scene)

    def _missing(self, rule: SymptomRule, scene: Scene) -> tuple[str, ...]:
        needs = rule.needs
        missing = [role for role in needs.roles if scene.run.best(role) is None]
        missing += [key for key in needs.facts if key not in scene.facts]
        if needs.any_role and all(scene.run.best(role) is None for role in needs.any_role):
            missing.append(" or ".join(needs.any_role))
        return tuple(missing)


_PLANNED = ("total_steps", "max_steps")
"""Metrics whose last value says how long the run is to be."""
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def facts_in(line: Line, match: SignatureMatch) -> Iterator[Fact]:
    """What a message says of the machine, such as the memory of its GPU in GiB."""
    for group, key in match.signature.facts.items():
        found = _SIZE.fullmatch(str(match.groups.get(group, "")))
        if found is not None:
            yield Fact(key, float(found[1]) * _GIB[found[2]], "run", line.file, line.line)


def _unquoted(value: Any) -> Any:
    """A word that spells a number as that number: environment variables and command lines know only words."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    return float(value) if any(c in value for c in ".eE") else int(value)
