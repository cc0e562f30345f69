"""What the remedies of a cause are aimed at: which come first, and whether a config may be changed for it."""

from __future__ import annotations

from collections.abc import Set

from hrmdoc.diagnosis.diagnose import Hypothesis
from hrmdoc.rulebook import Rulebook
from hrmdoc.rulebook.expressions import compile_expression

DECIDED = 0.5
"""From this probability on a cause is treated even where no setting of the run speaks for it."""
SETTINGS = (
    "optimizer.",
    "schedule.",
    "data.",
    "model.",
    "lora.",
    "precision",
    "rl.",
    "act.",
    "train.",
    "eval.",
)
"""How the canonical keys of what a config holds begin."""


def by_aim(cause: Hypothesis, shown: Set[str], book: Rulebook) -> list[str]:
    """The remedies of a cause: first those that are to end what the config itself gives as evidence, last
    those against what does not show, such as a model that is too large where nothing says so. Those against a
    message that nobody printed are left out. What shows may be against none of them, as a cause has more
    signs than a remedy names; then all stand as they are."""
    stated = _stated_for(cause, shown, book)

    def turn(name: str) -> int:
        gone = book.remedies[name].verify.gone if name in book.remedies else ()
        if not gone or not shown.isdisjoint(gone):
            return 1 if stated.isdisjoint(gone) else 0
        return 3 if all(_is_message(one, book) for one in gone) else 2

    fits = any(
        shown & set(book.remedies[name].verify.gone) for name in cause.remedies if name in book.remedies
    )
    return (
        sorted((name for name in cause.remedies if turn(name) < 3), key=turn)
        if fits
        else list(cause.remedies)
    )


def decided(cause: Hypothesis, shown: Set[str], book: Rulebook) -> bool:
    """Whether a config may be changed for this cause: it is likely, or part of its evidence is what the
    config says."""
    return cause.probability >= DECIDED or bool(_stated_for(cause, shown, book))


def _stated_for(cause: Hypothesis, shown: Set[str], book: Rulebook) -> set[str]:
    """What the config says for the cause. That a setting is not unusual may speak for it too, but names
    nothing to change."""
    return {one.symptom for one in cause.for_ if one.symptom in shown and is_setting(one.symptom, book)}


def is_setting(symptom: str, book: Rulebook) -> bool:
    """Whether it is seen in the config, such as a rate above the usual range: a check that reads a setting
    and no series.

    That may be one of several ways to see it, as a warmup that never ends is seen in the schedule or in the
    logged rate, and other checks may have to agree. Beside a detector it is the curve that is seen.
    """
    rule = book.symptoms.get(symptom)
    ways = () if rule is None else rule.when.any or (rule.when,)
    groups = (way.all or (way,) for way in ways)
    texts = [part.check for parts in groups if not any(part.detector for part in parts) for part in parts]
    checks = [compile_expression(text) for text in texts if text is not None]
    return any(
        set(check.calls) <= {"known"} and any(name.startswith(SETTINGS) for name in check.names)
        for check in checks
    )


def _is_message(symptom: str, book: Rulebook) -> bool:
    rule = book.symptoms.get(symptom)
    return rule is not None and any(part.lines for part in rule.when.walk())
