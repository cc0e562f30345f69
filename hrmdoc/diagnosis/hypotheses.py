"""The causes worth naming, each with the evidence for and against it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hrmdoc.diagnosis.network import FloatArray, IntArray, Posterior
from hrmdoc.rulebook import EVERY_SYMPTOM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hrmdoc.diagnosis.circumstances import Circumstances
    from hrmdoc.diagnosis.clues import Clue, Clues
    from hrmdoc.rulebook import Cause, Severity

WORTH_NAMING = 0.02
AT_LEAST, AT_MOST = 3, 12
"""How many hypotheses are named, whatever their probability, and at most."""
WORTH_LISTING = 0.1
"""Evidence below this many nats is not listed."""


EVEN = 0.5
"""From this probability on a cause is more probable than all others together."""


def chance(probability: float) -> str:
    """How sure a cause is, in a word that stands before its name, the same wherever it is named."""
    return "most probably" if probability >= EVEN else "perhaps"


class Evidence(Struct, frozen=True):
    """How much one symptom moved the log-odds (in nats) of a hypothesis, and what was seen. A circumstance
    has no symptom: ""."""

    symptom: str
    log_odds: float
    text: str


class Hypothesis(Struct, frozen=True):
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

    def __repr__(self) -> str:
        """One line: the cause and what speaks for it."""
        for_ = ", ".join(one.symptom for one in self.for_[:3])
        return (
            f"<Hypothesis {self.rank}: {self.cause} {self.probability:.0%}{', for ' if for_ else ''}{for_}>"
        )


def worth_naming(
    causes: Sequence[Cause], present: FloatArray, posterior: Posterior, severities: Mapping[str, Severity]
) -> IntArray:
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


def hypothesis(
    rank: int,
    cause: Cause,
    probability: float,
    evidence: Sequence[Evidence],
    remedies: tuple[str, ...],
) -> Hypothesis:
    """What is said of a cause: what weighs too little is not listed."""
    return Hypothesis(
        rank=rank,
        cause=cause.id,
        title=cause.title,
        probability=probability,
        for_=tuple(one for one in evidence if one.log_odds >= WORTH_LISTING),
        against=tuple(one for one in evidence if one.log_odds <= -WORTH_LISTING),
        remedies=remedies,
        playbook=cause.playbook,
        benign=cause.benign,
    )


def evidence_for(
    cause: Cause, clues: Clues, shift: FloatArray, counter: FloatArray, circumstances: Circumstances
) -> list[Evidence]:
    """Every clue and circumstance with how far it moved the log-odds of `cause`, what weighs most first.

    Args:
        cause: the cause.
        clues: what shows and what does not.
        shift: how far each clue that shows moved it, in nats, shape [P].
        counter: how far each absent one did, shape [A].
        circumstances: facts and findings, for what is given of the cause.
    """
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
