"""What remains of each symptom's severity once the causes are ranked, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from hrmdoc.diagnosis.clues import Clue, Clues, leak_of, weights
from hrmdoc.diagnosis.network import FloatArray, Posterior, benign_share
from hrmdoc.examination.course import LOG_RATIO
from hrmdoc.examination.symptom import LADDER
from hrmdoc.rulebook import EVERY_SYMPTOM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.record.records import Value
    from hrmdoc.rulebook import Cause, Rulebook, Severity

Verdict = Literal["healthy", "info", "warning", "critical", "no_data"]

BENIGN_SHARE = 0.5
"""A symptom that benign causes explain with at least this probability is no more than information."""
JOINED = 0.5
"""Hints that one cause explains together are a warning when that cause is at least so probable."""
HINTS = 2
"""How many clues it must explain: one oddity alone stays an oddity, however well a cause fits it."""
TELLING = 0.1
"""A clue counts as explained by a cause that produces it at least so often."""


def effective(
    symptoms: Sequence[Symptom], causes: Sequence[Cause], posterior: Posterior, book: Rulebook
) -> tuple[dict[str, Severity], set[str]]:
    """What remains of each severity: nothing but information where benign causes explain it.

    Returns:
        Severities by symptom, and the symptoms that benign causes explain.
    """
    seen = [symptom for symptom in symptoms if symptom.seen]
    alone = [Clue((symptom,), shows=True, leak=leak_of(symptom, book)) for symptom in seen]
    benign = np.array([cause.benign for cause in causes], np.bool_)
    share = benign_share(
        posterior, weights(causes, alone), np.array([clue.leak for clue in alone], np.float64), benign
    )
    severities: dict[str, Severity] = {}
    excused: set[str] = set()
    for symptom, explained in zip(seen, share.tolist(), strict=True):
        harmless = explained >= BENIGN_SHARE or symptom.got_over
        if harmless:
            excused.add(symptom.id)
        level = 0 if harmless else _level(symptom)
        known = severities.get(symptom.id, "info")
        severities[symptom.id] = LADDER[max(level, LADDER.index(known))]
    return severities | _without_witness(seen, severities, book), excused


def _without_witness(
    seen: Sequence[Symptom], severities: Mapping[str, Severity], book: Rulebook
) -> dict[str, Severity]:
    """Weak rules (`alarms: joined`) that stand for themselves alone: information until a finding of another
    family joins that is a warning by its rule, over or not, or hints that one probable cause explains with
    them (`joined`)."""
    if len({one.group or one.id for one in seen if one.severity != "info"}) > 1:
        return {}
    weak = (name for name in severities if name in book.symptoms and book.symptoms[name].alarms == "joined")
    return dict.fromkeys(weak, "info")


def _level(symptom: Symptom) -> int:
    """How severe it is by itself: one level less once it is over, or where the training had come to its end
    before; none where that is in another cell of a notebook, which a person runs and sees.

    A message from before the first step, after which training began all the same, is information: a package
    that was tried and done without, or an attempt to start that the next one made good.
    """
    level = LADDER.index(symptom.severity)
    if symptom.behind:
        return 0 if symptom.behind == "cell" else max(level - 1, 0)
    if symptom.state != "resolved":
        return level
    done_without = symptom.signature_role is not None and symptom.first_step is None
    return 0 if done_without else max(level - 1, 0)


def joined(
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
    harmless = harmless | _qualifying(clues, book)
    counted = np.array([any(s.id not in harmless for s in clue.symptoms) for clue in clues.shown], np.bool_)
    raised: dict[str, Severity] = {}
    for index in np.flatnonzero(posterior.marginal >= JOINED).tolist():
        explains = np.flatnonzero(counted & (present[index] >= TELLING)).tolist()
        if len(explains) < HINTS or not arguable(causes[index]):
            continue
        shown = [s for at in explains for s in clues.shown[at].symptoms if s.id in causes[index].produces]
        hints = [s.id for s in shown if s.id not in harmless and _is_hint(s, severities, book)]
        raised |= dict.fromkeys(hints, "warning")
    return raised


def _qualifying(clues: Clues, book: Rulebook) -> set[str]:
    """The symptoms that show and presuppose another one that does."""
    shown = {symptom.id for clue in clues.shown for symptom in clue.symptoms}
    return {name for name in shown & book.symptoms.keys() if shown & {*book.symptoms[name].presupposes}}


def _is_hint(symptom: Symptom, severities: Mapping[str, Severity], book: Rulebook) -> bool:
    """Whether it shows and is information, by its rule and by what benign causes left of it."""
    if symptom.state != "present" or severities[symptom.id] != "info":
        return False
    rule = book.symptoms.get(symptom.id)
    return symptom.severity == "info" or (rule is not None and rule.alarms == "joined")


def doubted(
    symptoms: Sequence[Symptom],
    severities: Mapping[str, Severity],
    facts: Mapping[str, Value],
    book: Rulebook,
) -> dict[str, Severity]:
    """Warnings that become information since the course of the run as a whole speaks against a fault: where
    nothing is critical, and each of them is of a rule that is `weighed`."""
    ratio = facts.get(LOG_RATIO)
    if not isinstance(ratio, float) or ratio >= 0:
        return {}
    loud = {symptom.id for symptom in symptoms if severities.get(symptom.id, "info") != "info"}
    weighed = {name for name in loud if name in book.symptoms and book.symptoms[name].weighed}
    if weighed != loud or any(severities[name] == "critical" for name in loud):
        return {}
    return dict.fromkeys(loud, "info")


def arguable(cause: Cause) -> bool:
    """A fault with a name: there is no looking for an unknown one, and a benign one needs no confirming."""
    return not cause.benign and EVERY_SYMPTOM not in cause.produces


def verdict(
    symptoms: Sequence[Symptom], severities: Mapping[str, Severity], signs: frozenset[str]
) -> Verdict:
    if all(symptom.state == "not_evaluated" for symptom in symptoms):
        return "no_data"
    levels = [LADDER.index(severity) for name, severity in severities.items() if name not in signs]
    return LADDER[max(levels)] if levels else "healthy"
