"""Symptoms -> ranked causes, with the evidence for and against each, what remains of each symptom's severity,
and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from hrmdoc.diagnosis.circumstances import Circumstances
from hrmdoc.diagnosis.clues import gather
from hrmdoc.diagnosis.hypotheses import Evidence, Hypothesis, evidence_for, hypothesis, worth_naming
from hrmdoc.diagnosis.network import infer, leave_one_out
from hrmdoc.diagnosis.next_check import next_check
from hrmdoc.diagnosis.severities import Verdict, arguable, doubted, effective, joined, verdict
from hrmdoc.examination.symptom import LADDER
from hrmdoc.rulebook import good_signs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.record.records import Value
    from hrmdoc.rulebook import Cause, Rulebook, Severity

__all__ = ["Diagnosis", "Evidence", "Hypothesis", "Verdict", "diagnose"]

UNKNOWN = ("", "unknown")
KIND_UNSAID = 0.1
"""What remains of the prior of a cause of some kinds of runs where the kind is not known: such runs mostly
show their kind."""
RIVALS = 4
"""How many causes the next check tries to tell apart."""
WORTH_CHECKING = 0.1
"""Causes less likely than this are not asked after while others are likelier."""


class Diagnosis(Struct, frozen=True):
    """What is most probably wrong.

    Attributes:
        verdict: the highest effective severity; `no_data` when not one symptom could be evaluated.
        symptoms: as given.
        severities: effective severity of every symptom that is or was present.
        doubted: warnings that became information since the course of the run speaks against a fault.
        hypotheses: most probable first.
        healthy: probability that no cause at all is at work.
        truncated: upper estimate of the probability that more than three causes are at work together.
        next_check: what to look at next, "" when the matter is decided.
    """

    verdict: Verdict
    symptoms: tuple[Symptom, ...]
    severities: dict[str, Severity]
    hypotheses: tuple[Hypothesis, ...]
    healthy: float
    truncated: float
    next_check: str
    doubted: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        """One line: the verdict and the ranked causes."""
        causes = ", ".join(f"{one.cause} {one.probability:.0%}" for one in self.hypotheses[:3])
        return f"<Diagnosis {self.verdict}{': ' if causes else ''}{causes}>"


def diagnose(
    symptoms: Iterable[Symptom],
    book: Rulebook,
    *,
    kind: str = "unknown",
    facts: Mapping[str, Value] | None = None,
    framework: str = "",
) -> Diagnosis:
    """Ranks the causes that `book` knows for a run of this kind and framework.

    Args:
        symptoms: the state of every symptom rule on the run.
        book: the rules.
        kind: run kind, such as `sft` or `hrm`.
        facts: canonical facts; `run.phase` limits causes to their phases.
        framework: id of the framework, "" or "unknown" when not known.
    """
    symptoms = tuple(symptoms)
    phase = str((facts or {}).get("run.phase", ""))
    signs = good_signs(book)
    circumstances = Circumstances.of(symptoms, facts or {}, book.formerly)
    causes = _possible(book, kind, framework, phase, signs, circumstances)
    clues = gather(symptoms, book)
    observed = clues.observed(causes)
    posterior = infer(observed)
    severities, excused = effective(symptoms, causes, posterior, book)
    alone = severities
    severities = alone | joined(clues, causes, observed.present, posterior, {*excused, *signs}, alone, book)
    outweighed = doubted(symptoms, severities, facts or {}, book)
    severities |= outweighed
    findings = np.array([any(s.id not in signs for s in clue.symptoms) for clue in clues.shown], np.bool_)
    leading_by = alone if {*alone.values()} - {"info"} else severities
    named = worth_naming(causes, observed.present[:, findings], posterior, leading_by)
    shift, counter = leave_one_out(observed, posterior, named)
    hypotheses = tuple(
        hypothesis(
            rank + 1,
            causes[index],
            float(posterior.marginal[index]),
            evidence_for(causes[index], clues, shift[:, rank], counter[:, rank], circumstances),
            _usable(causes[index].remedies, book, framework),
        )
        for rank, index in enumerate(named.tolist())
    )
    likely = [index for index in named.tolist() if posterior.marginal[index] >= WORTH_CHECKING]
    leading = _to_be_told_apart(causes, likely, severities)
    return Diagnosis(
        verdict=verdict(symptoms, severities, signs),
        symptoms=symptoms,
        severities=severities,
        doubted=frozenset(outweighed),
        hypotheses=hypotheses,
        healthy=posterior.empty,
        truncated=posterior.truncated,
        next_check=next_check(causes, leading, clues.open, posterior) if hypotheses else "",
    )


def _possible(
    book: Rulebook,
    kind: str,
    framework: str,
    phase: str,
    signs: frozenset[str],
    circumstances: Circumstances,
) -> list[Cause]:
    """The causes that such a run may have, each with its prior there."""
    trees = framework in book.frameworks and book.frameworks[framework].trees
    return [
        _weighed(cause, kind, circumstances)
        for cause in book.causes.values()
        if not (trees and cause.of_weights)
        and _applies(cause, kind, framework, phase)
        and _may_excuse(cause, signs, circumstances.found.keys())
    ]


def _applies(cause: Cause, kind: str, framework: str, phase: str) -> bool:
    """In doubt a cause stays in play, unless it would excuse something: a benign one needs to be known to
    apply."""
    where = cause.applies
    asked = ((where.kinds, kind), (where.frameworks, framework), (where.phases, phase))
    return kind not in where.not_kinds and all(
        not allowed or value in allowed or (value in UNKNOWN and not cause.benign) for allowed, value in asked
    )


def _weighed(cause: Cause, kind: str, circumstances: Circumstances) -> Cause:
    """The cause with its prior for this run. What shows nothing of a cause has no need of its
    circumstances."""
    asked = cause.applies.kinds
    unsaid = KIND_UNSAID if asked and kind in UNKNOWN and kind not in asked else 1.0
    prior = (
        circumstances.prior(cause)
        if cause.given and cause.produces.keys() & circumstances.found.keys()
        else cause.prior
    )
    return cause if prior * unsaid == cause.prior else replace(cause, prior=prior * unsaid)


def _may_excuse(cause: Cause, signs: frozenset[str], seen: Set[str]) -> bool:
    """A benign cause that has a good sign of its own, such as `learns-well`, needs to show it: without, it
    excuses nothing."""
    own = signs & cause.produces.keys() if cause.benign else frozenset()
    return not own or bool(own & seen)


def _to_be_told_apart(
    causes: Sequence[Cause], named: Sequence[int], severities: Mapping[str, Severity]
) -> list[int]:
    """The named causes that may be behind the worst of what shows, most probable first."""
    highest = max((LADDER.index(severity) for severity in severities.values()), default=0)
    worst = {name for name, severity in severities.items() if LADDER.index(severity) == highest}
    return [index for index in named if arguable(causes[index]) and worst & causes[index].produces.keys()][
        :RIVALS
    ]


def _usable(names: Iterable[str], book: Rulebook, framework: str) -> tuple[str, ...]:
    """The remedies among these that the framework takes."""
    known = [(name, remedy) for name in names if (remedy := book.remedies.get(name))]
    return tuple(
        name for name, one in known if not one.frameworks or not framework or framework in one.frameworks
    )
