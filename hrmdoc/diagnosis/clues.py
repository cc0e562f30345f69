"""Symptoms as findings of the belief network: one clue a group, cascades left out, the first failure before
its consequences."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hrmdoc.diagnosis.network import FloatArray, Observed
from hrmdoc.examination.symptom import LADDER
from hrmdoc.rulebook import EVERY_SYMPTOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.rulebook import Cause, Rulebook

CONSEQUENCE_LEAK = 0.1
"""How often a failure brings a second root signature in its wake: what breaks next within the same step is
weak evidence."""
ABSENCE = 0.8
"""What a missing finding counts for: where a fault is mild several are missing together, so that they are not
independent."""


class Clue(Struct, frozen=True):
    """Symptoms that answer one question and count once.

    Attributes:
        symptoms: for a clue that shows, its present and resolved members; for an absent one, those that were
            evaluated.
        shows: whether any member is or was present.
        leak: probability that it shows although no cause is at work.
    """

    symptoms: tuple[Symptom, ...]
    shows: bool
    leak: float

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether one of the symptoms of these ids is a member."""
        return not {symptom.id for symptom in self.symptoms}.isdisjoint(names)

    def speaker(self, cause: Cause) -> Symptom:
        """The member that tells most about `cause`."""
        return max(self.symptoms, key=lambda symptom: cause.produces.get(symptom.id, 0.0))


class Clues(Struct, frozen=True):
    """What shows, what does not, and what could not be evaluated."""

    shown: tuple[Clue, ...]
    absent: tuple[Clue, ...]
    open: tuple[Clue, ...]

    def observed(self, causes: Sequence[Cause]) -> Observed:
        """The numbers for inference over `causes`, in their order."""
        return Observed(
            prior=np.array([cause.prior for cause in causes], np.float64),
            present=weights(causes, self.shown),
            present_leak=np.array([clue.leak for clue in self.shown], np.float64),
            absent=1.0 - (1.0 - weights(causes, self.absent)) ** ABSENCE,
        )


def weights(causes: Sequence[Cause], clues: Sequence[Clue]) -> FloatArray:
    """w of each cause for each clue, shape [len(causes), len(clues)]: that of the member which the cause
    produces most reliably.

    What an unknown fault leaves untouched is unknown: `*` speaks of what shows only.
    """
    columns = {symptom.id: column for column, clue in enumerate(clues) for symptom in clue.symptoms}
    shows = [clue.shows for clue in clues]
    table = []
    for cause in causes:
        every = cause.produces.get(EVERY_SYMPTOM, 0.0)
        row = [every * shown for shown in shows]
        for symptom_id, w in cause.produces.items():
            column = columns.get(symptom_id)
            if column is not None:
                row[column] = max(row[column], w)
        table.append(row)
    return np.array(table, np.float64).reshape(len(causes), len(clues))


def gather(symptoms: Iterable[Symptom], book: Rulebook) -> Clues:
    """Groups symptoms into clues.

    A group shows when any member does, is absent when all evaluated members are, and is open when none could
    be evaluated. That a fatal message is missing is no evidence: what fills the memory has not ended the run
    yet, or another failure was faster.
    """
    groups: dict[str, list[Symptom]] = defaultdict(list)
    for symptom in symptoms:
        groups[symptom.group or symptom.id].append(symptom)
    among = _Shown.of([one for members in groups.values() for one in members if one.seen], book)
    shown: list[Clue] = []
    absent: list[Clue] = []
    unknown: list[Clue] = []
    for members in groups.values():
        if present := [symptom for symptom in members if symptom.seen]:
            shown += among.finding(present)
        elif missed := list(filter(among.is_missed, members)):
            absent.append(_unseen(missed, book))
        else:
            unknown.append(_unseen(members, book))
    return Clues(tuple(shown), tuple(absent), tuple(unknown))


def _unseen(members: Sequence[Symptom], book: Rulebook) -> Clue:
    return Clue(tuple(members), shows=False, leak=max(leak_of(symptom, book) for symptom in members))


class _Shown(Struct, frozen=True):
    """What the symptoms that show say about all others.

    Attributes:
        names: their ids.
        late: those that are consequences of the first failure, or that training outlived before it ended.
        rooted: a root is among them, so that cascades say nothing more.
        ended: a message among them ended the run, so that others may not have come to be printed.
        fatal: the symptoms of signatures that end a run, whether they show or not.
    """

    book: Rulebook
    names: Set[str]
    late: Set[str]
    rooted: bool
    ended: bool
    fatal: Set[str]

    @classmethod
    def of(cls, seen: Sequence[Symptom], book: Rulebook) -> _Shown:
        """The same of these."""
        roles = ("root", "confirmation")
        return cls(
            book,
            names={symptom.id for symptom in seen},
            late=_consequences(seen, {rule.id for rule in book.symptoms.values() if rule.catch_all})
            | _outlived(seen),
            rooted=any(symptom.signature_role in roles for symptom in seen),
            ended=any(_ends(symptom) for symptom in seen),
            fatal={signature.symptom for signature in book.signatures.values() if signature.fatal},
        )

    def finding(self, present: Sequence[Symptom]) -> Iterator[Clue]:
        """The clue that the present members of a group are; none where all are cascades of a root."""
        telling = _worst([s for s in present if not (self.rooted and s.signature_role == "cascade")])
        if telling:
            leak = min(leak_of(symptom, self.book) for symptom in telling)
            floor = CONSEQUENCE_LEAK if all(symptom.id in self.late for symptom in telling) else 0.0
            yield Clue(tuple(telling), shows=True, leak=max(leak, floor))

    def is_missed(self, symptom: Symptom) -> bool:
        """Whether its absence counts against the causes that would bring it about."""
        if symptom.state != "absent" or not _arises(symptom, self.names, self.book):
            return False
        return not ((self.ended or symptom.id in self.fatal) and _is_message(symptom, self.book))


def _ends(symptom: Symptom) -> bool:
    """Whether it is a message that ended the run."""
    return (
        symptom.signature_role in ("root", "confirmation", "cascade")
        and symptom.state == "present"
        and symptom.severity != "info"
        and not symptom.behind
    )


def _worst(members: list[Symptom]) -> list[Symptom]:
    """The members of the highest severity: a group is one graded finding, and a cause explains the grade that
    was reached.

    A loss that went up for good is no spike, although it jumped on its way.
    """
    highest = max((LADDER.index(symptom.severity) for symptom in members), default=0)
    return [symptom for symptom in members if LADDER.index(symptom.severity) == highest]


def _is_message(symptom: Symptom, book: Rulebook) -> bool:
    """Whether only a log line can show it here. What ended the program kept it from printing more, and a
    pasted log holds a part of what was printed: once there is such a message, that others are missing tells
    nothing."""
    rule = book.symptoms.get(symptom.id)
    return (
        rule is not None
        and not symptom.metric
        and any(part.lines for part in (rule.when, *(rule.when.any or ())))
    )


def _arises(symptom: Symptom, seen: Set[str], book: Rulebook) -> bool:
    """Whether its question arises: how a loss broke is no matter where it did not break, which counts by
    itself."""
    rule = book.symptoms.get(symptom.id)
    return rule is None or not rule.presupposes or not seen.isdisjoint(rule.presupposes)


def leak_of(symptom: Symptom, book: Rulebook) -> float:
    """The probability that it shows although no cause is at work."""
    rule = book.symptoms.get(symptom.id)
    return rule.leak if rule else 0.01


def _consequences(seen: Iterable[Symptom], unnamed: Set[str]) -> set[str]:
    """Root candidates that came after the first with a name, without any training in between: what is to be
    explained is that.

    What comes behind an exception that no rule knows says more than it does.
    """
    roots = [symptom for symptom in seen if symptom.signature_role == "root"]
    if len(roots) < 2:
        return set()
    timed = all(symptom.first_time is not None for symptom in roots)
    one_file = len({symptom.file for symptom in roots}) == 1

    def moment(symptom: Symptom) -> tuple[float, float, float]:
        time = symptom.first_time if timed and symptom.first_time is not None else 0.0
        step = math.inf if symptom.first_step is None else symptom.first_step
        return time, step, symptom.line if one_file and symptom.line is not None else 0.0

    first = min([symptom for symptom in roots if symptom.id not in unnamed] or roots, key=moment)
    return {s.id for s in roots if moment(s) > moment(first) and not _survived(first, s)}


def _outlived(seen: Sequence[Symptom]) -> set[str]:
    """Messages that training outlived, where another one ended it: that one is to be explained."""
    messages = [symptom for symptom in seen if symptom.signature_role is not None]
    if not any(_ends(symptom) for symptom in messages):
        return set()
    return {symptom.id for symptom in messages if symptom.state == "resolved"}


def _survived(first: Symptom, later: Symptom) -> bool:
    """Training went on between the two, so the first was not what ended it."""
    return (
        first.first_step is not None and later.first_step is not None and later.first_step > first.first_step
    )
