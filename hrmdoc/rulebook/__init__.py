"""The rulebook: every symptom, signature, cause, remedy and framework, loaded from YAML and checked.

The classes of `hrmdoc.rulebook.schema` say what a file may hold: an unknown key is refused with file, line,
nearest valid word.
"""

from __future__ import annotations

from hrmdoc.rulebook.checking import check
from hrmdoc.rulebook.formerly import current, named
from hrmdoc.rulebook.loading import load, ship, state_of
from hrmdoc.rulebook.parsing import parse
from hrmdoc.rulebook.schema.book import FOLDERS, Rulebook
from hrmdoc.rulebook.schema.causes import EVERY_SYMPTOM, Cause, Given, Restart
from hrmdoc.rulebook.schema.common import Applies, Severity
from hrmdoc.rulebook.schema.families import Family
from hrmdoc.rulebook.schema.frameworks import ConfigKey, Framework, Resume
from hrmdoc.rulebook.schema.remedies import Change, Remedy, Verify
from hrmdoc.rulebook.schema.signatures import MESSAGE, Signature
from hrmdoc.rulebook.schema.symptoms import SymptomRule, Variant
from hrmdoc.rulebook.schema.when import EventWhen, LinesWhen, SilenceWhen, When

__all__ = [
    "EVERY_SYMPTOM",
    "FOLDERS",
    "MESSAGE",
    "Applies",
    "Cause",
    "Change",
    "ConfigKey",
    "EventWhen",
    "Family",
    "Framework",
    "Given",
    "LinesWhen",
    "Remedy",
    "Restart",
    "Resume",
    "Rulebook",
    "Severity",
    "Signature",
    "SilenceWhen",
    "SymptomRule",
    "Variant",
    "Verify",
    "When",
    "check",
    "current",
    "good_signs",
    "load",
    "named",
    "parse",
    "ship",
    "state_of",
]

_MOSTLY = 0.5
"""A cause mostly shows what it produces at least so often."""


def good_signs(book: Rulebook) -> frozenset[str]:
    """Info symptoms that only benign causes produce, such as `learns-well`: no findings, but reasons to take
    others lightly. A setting that such a cause excuses, and shows now and then, remains a finding; what it
    mostly shows, or a message that is always harmless, is none."""
    if not _newest or _newest[0][0] is not book:
        _newest[:] = [(book, _good_signs(book))]
    return _newest[0][1]


_newest: list[tuple[Rulebook, frozenset[str]]] = []
"""The rulebook that was asked last, of all runs that follow one another with it."""


def _good_signs(book: Rulebook) -> frozenset[str]:
    messages = {signature.symptom for signature in book.signatures.values()}
    by_benign = {
        symptom
        for cause in book.causes.values()
        if cause.benign
        for symptom, w in cause.produces.items()
        if w >= _MOSTLY or symptom in messages
    }
    by_real = {symptom for cause in book.causes.values() if not cause.benign for symptom in cause.produces}
    return frozenset(
        name
        for name in by_benign - by_real
        if name in book.symptoms and book.symptoms[name].severity == "info"
    )
