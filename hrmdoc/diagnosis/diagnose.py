"""Symptoms -> ranked causes, with the evidence for and against each, what remains of each symptom's severity,
and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec.structs import replace

from hrmdoc.diagnosis.circumstances import Circumstances
from hrmdoc.diagnosis.clues import Clue, Clues, gather, weights
from hrmdoc.diagnosis.network import FloatArray, Posterior, benign_share, infer, leave_one_out
from hrmdoc.diagnosis.next_check import next_check
from hrmdoc.examination.symptom import LADDER
from hrmdoc.rulebook import EVERY_SYMPTOM, good_signs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.record.records import Value
    from hrmdoc.rulebook import Cause, Rulebook, Severity

Verdict = Literal["healthy", "info", "warning", "critical", "no_data"]

UNKNOWN = ("", "unknown")
BENIGN_SHARE = 0.5
"""A symptom that benign causes explain with at least this probability is no more than information."""
JOINED = 0.5
"""Hints that one cause explains together are a warning when that cause is at least so probable."""
HINTS = 2
"""How many clues it must explain: one oddity alone stays an oddity, however well a cause fits it."""
TELLING = 0.1
"""A clue counts as explained by a cause that produces it at least so often."""
KIND_UNSAID = 0.1
"""What remains of the prior of a cause of some kinds of runs where the kind is not known: such runs mostly
show their kind."""
WORTH_NAMING = 0.02
AT_LEAST, AT_MOST = 3, 12
"""How many hypotheses are named, whatever their probability, and at most."""
RIVALS = 4
"""How many causes the next check tries to tell apart."""
WORTH_CHECKING = 0.1
"""Causes less likely than this are not asked after while others are likelier."""
WORTH_TELLING = 0.1
"""Evidence below this many nats is not listed."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How much one symptom moved the log-odds (in nats) of a hypothesis, and what was seen. A circumstance
    has no symptom: ""."""

    symptom: str
    log_odds: float
    text: str


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause that may be at work. `probability` is its marginal posterior; `for_` and `against` are
    strongest first."""

    rank: int
    cause: str
    title: str
    probability: float
    for_: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    remedies: tuple[str, ...]
    playbook: str
    benign: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is most probably wrong.

    Attributes:
        verdict: the highest effective severity; `no_data` when not one symptom could be evaluated.
        symptoms: as given.
        severities: effective severity of every symptom that is or was present.
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
    circumstances = Circumstances.of(symptoms, facts or {})
    seen = circumstances.found.keys()
    causes = [
        _weighed(cause, kind, circumstances)
        for cause in book.causes.values()
        if _applies(cause, kind, framework, phase) and _may_excuse(cause, signs, seen)
    ]
    clues = gather(symptoms, book)
    observed = clues.observed(causes)
    posterior = infer(observed)
    severities, excused = _effective(symptoms, causes, posterior, book)
    alone = severities
    severities = alone | _joined(clues, causes, observed.present, posterior, {*excused, *signs}, alone, book)
    verdict = _verdict(symptoms, severities, signs)
    findings = np.array([any(s.id not in signs for s in clue.symptoms) for clue in clues.shown], np.bool_)
    leading_by = alone if any(level != "info" for level in alone.values()) else severities
    named = _worth_naming(causes, observed.present[:, findings], posterior, leading_by)
    shift, counter = leave_one_out(observed, posterior, named)
    hypotheses = tuple(
        _hypothesis(
            rank=rank + 1,
            cause=causes[index],
            probability=float(posterior.marginal[index]),
            evidence=_evidence(causes[index], clues, shift[:, rank], counter[:, rank], circumstances),
            remedies=tuple(name for name in causes[index].remedies if _usable(name, book, framework)),
        )
        for rank, index in enumerate(named.tolist())
    )
    likely = [index for index in named.tolist() if posterior.marginal[index] >= WORTH_CHECKING]
    leading = _to_be_told_apart(causes, likely, severities)
    return Diagnosis(
        verdict=verdict,
        symptoms=symptoms,
        severities=severities,
        hypotheses=hypotheses,
        healthy=posterior.empty,
        truncated=posterior.truncated,
        next_check=next_check(causes, leading, clues.open, posterior) if hypotheses else "",
    )


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


def _worth_naming(
    causes: Sequence[Cause], present: FloatArray, posterior: Posterior, severities: Mapping[str, Severity]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Indices of the causes to name. `present`: w for what shows, good signs left out.

    Only causes that produce something of it have anything to explain. Most probable first; while something is
    worse than info, the faults that may be behind it come before what is harmless. What is in no rule can be
    looked for nowhere, so it stands behind the faults with a name, however probable it is.
    """
    serious = {name for name, severity in severities.items() if severity != "info"}
    last = np.array([_turn(cause, serious) for cause in causes], np.int64)
    active = np.flatnonzero((present > 0).any(axis=1))
    order = active[np.lexsort((-posterior.marginal[active], last[active]))]
    worth = (posterior.marginal[order] >= WORTH_NAMING) | (np.arange(len(order)) < AT_LEAST)
    return order[worth][:AT_MOST]


def _turn(cause: Cause, serious: set[str]) -> int:
    """Which causes are named first: faults that may be behind what is serious, the unknown one, and then all
    others."""
    if EVERY_SYMPTOM in cause.produces:
        return 1
    behind = not serious or (not cause.benign and bool(serious & cause.produces.keys()))
    return 0 if behind else 2


def _hypothesis(
    *, rank: int, cause: Cause, probability: float, evidence: Sequence[Evidence], remedies: tuple[str, ...]
) -> Hypothesis:
    return Hypothesis(
        rank=rank,
        cause=cause.id,
        title=cause.title,
        probability=probability,
        for_=tuple(one for one in evidence if one.log_odds >= WORTH_TELLING),
        against=tuple(one for one in evidence if one.log_odds <= -WORTH_TELLING),
        remedies=remedies,
        playbook=cause.playbook,
        benign=cause.benign,
    )


def _evidence(
    cause: Cause, clues: Clues, shift: FloatArray, counter: FloatArray, circumstances: Circumstances
) -> list[Evidence]:
    found = [_seen(clue, cause, float(moved)) for clue, moved in zip(clues.shown, shift, strict=True)]
    alone: list[Evidence] = []
    for given in circumstances.holding(cause):
        said = Evidence("", math.log(given.odds), given.text)
        at = next((at for at, clue in enumerate(clues.shown) if clue.has_any(given.about)), None)
        if at is None:
            alone.append(said)
        else:
            found[at] = _together(found[at], said)
    missed = [_missed(clue, cause, float(moved)) for clue, moved in zip(clues.absent, counter, strict=True)]
    return sorted([*alone, *found, *missed], key=lambda one: -abs(one.log_odds))


def _together(symptom: Evidence, circumstance: Evidence) -> Evidence:
    """A symptom and what qualifies it: one piece of evidence, in the words of what weighs more."""
    total = symptom.log_odds + circumstance.log_odds
    said = symptom if abs(symptom.log_odds) >= abs(circumstance.log_odds) else circumstance
    return Evidence(symptom.symptom, total, said.text)


def _seen(clue: Clue, cause: Cause, moved: float) -> Evidence:
    symptom = clue.speaker(cause)
    text = symptom.evidence or symptom.title or symptom.id
    return Evidence(symptom.id, moved, text if moved >= 0 else f"{text} (another cause explains this better)")


def _missed(clue: Clue, cause: Cause, moved: float) -> Evidence:
    symptom = clue.speaker(cause)
    text = f"{symptom.title or symptom.id}: not seen"
    return Evidence(symptom.id, moved, text if moved <= 0 else f"{text}, as a rival would have it")


def _arguable(cause: Cause) -> bool:
    """A fault with a name: there is no looking for an unknown one, and a benign one needs no confirming."""
    return not cause.benign and EVERY_SYMPTOM not in cause.produces


def _usable(remedy_id: str, book: Rulebook, framework: str) -> bool:
    remedy = book.remedies.get(remedy_id)
    return remedy is not None and (not remedy.frameworks or not framework or framework in remedy.frameworks)


def _effective(
    symptoms: Sequence[Symptom], causes: Sequence[Cause], posterior: Posterior, book: Rulebook
) -> tuple[dict[str, Severity], set[str]]:
    """What remains of each severity: nothing but information where benign causes explain it, one level less
    once it is over.

    A message from before the first step, after which training began all the same, is information: a package
    that was tried and done without, or an attempt to start that the next one made good.

    Returns:
        Severities by symptom, and the symptoms that benign causes explain.
    """
    seen = [symptom for symptom in symptoms if symptom.seen]
    alone = [Clue((symptom,), shows=True, leak=_leak_of(symptom, book)) for symptom in seen]
    benign = np.array([cause.benign for cause in causes], np.bool_)
    share = benign_share(
        posterior, weights(causes, alone), np.array([clue.leak for clue in alone], np.float64), benign
    )
    severities: dict[str, Severity] = {}
    excused: set[str] = set()
    for symptom, explained in zip(seen, share.tolist(), strict=True):
        level = LADDER.index(symptom.severity)
        if explained >= BENIGN_SHARE or symptom.got_over:
            level = 0
            excused.add(symptom.id)
        elif symptom.state == "resolved":
            done_without = symptom.signature_role is not None and symptom.first_step is None
            level = 0 if done_without else max(level - 1, 0)
        known = severities.get(symptom.id, "info")
        severities[symptom.id] = LADDER[max(level, LADDER.index(known))]
    return severities, excused


def _joined(
    clues: Clues,
    causes: Sequence[Cause],
    present: FloatArray,
    posterior: Posterior,
    harmless: set[str],
    severities: Mapping[str, Severity],
    book: Rulebook,
) -> dict[str, Severity]:
    """Hints that become warnings: each is information alone, but one fault explains several of them and is
    probably at work.

    A symptom that presupposes another one that shows, as `spike-isolated` does `loss-spike`, is no hint of
    its own.
    """
    shown_ids = {s.id for clue in clues.shown for s in clue.symptoms}
    qualified = {rule.id for rule in book.symptoms.values() if not shown_ids.isdisjoint(rule.presupposes)}
    harmless = harmless | (qualified & shown_ids)
    counted = np.array([any(s.id not in harmless for s in clue.symptoms) for clue in clues.shown], np.bool_)
    raised: dict[str, Severity] = {}
    for index in np.flatnonzero(posterior.marginal >= JOINED).tolist():
        explains = np.flatnonzero(counted & (present[index] >= TELLING))
        if len(explains) >= HINTS and _arguable(causes[index]):
            shown = [s for at in explains.tolist() for s in clues.shown[at].symptoms if s.id not in harmless]
            hints = [
                s.id
                for s in shown
                if s.state == "present" and s.severity == "info" and severities[s.id] == "info"
            ]
            raised |= dict.fromkeys((name for name in hints if name in causes[index].produces), "warning")
    return raised


def _leak_of(symptom: Symptom, book: Rulebook) -> float:
    rule = book.symptoms.get(symptom.id)
    return rule.leak if rule else 0.01


def _verdict(
    symptoms: Sequence[Symptom], severities: Mapping[str, Severity], signs: frozenset[str]
) -> Verdict:
    if all(symptom.state == "not_evaluated" for symptom in symptoms):
        return "no_data"
    levels = [LADDER.index(severity) for name, severity in severities.items() if name not in signs]
    return LADDER[max(levels)] if levels else "healthy"


def _to_be_told_apart(
    causes: Sequence[Cause], named: Sequence[int], severities: Mapping[str, Severity]
) -> list[int]:
    """The named causes that may be behind the worst of what shows, most probable first."""
    highest = max((LADDER.index(severity) for severity in severities.values()), default=0)
    worst = {name for name, severity in severities.items() if LADDER.index(severity) == highest}
    return [index for index in named if _arguable(causes[index]) and worst & causes[index].produces.keys()][
        :RIVALS
    ]
