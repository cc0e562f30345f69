"""The schema of every rule file, one module for each sort of rule. An unknown key is refused by
`hrmdoc.rulebook`, with file, line and the nearest valid word."""

from __future__ import annotations

from msgspec import Struct, field

from hrmdoc.rulebook.schema.causes import EVERY_SYMPTOM, Cause, Given
from hrmdoc.rulebook.schema.common import Applies, Number, Phase, Severity, Status
from hrmdoc.rulebook.schema.frameworks import ConfigKey, Framework
from hrmdoc.rulebook.schema.remedies import Change, Fit, Remedy, Verify
from hrmdoc.rulebook.schema.signatures import MESSAGE, Message, Signature, SignatureFile
from hrmdoc.rulebook.schema.symptoms import Needs, SymptomRule, Variant
from hrmdoc.rulebook.schema.typical import Typical, TypicalRow, TypicalTable
from hrmdoc.rulebook.schema.when import EventWhen, LinesWhen, SilenceWhen, When

__all__ = [
    "EVERY_SYMPTOM",
    "MESSAGE",
    "Applies",
    "Cause",
    "Change",
    "ConfigKey",
    "EventWhen",
    "Fit",
    "Framework",
    "Given",
    "LinesWhen",
    "Message",
    "Needs",
    "Number",
    "Phase",
    "Remedy",
    "Rulebook",
    "Severity",
    "Signature",
    "SignatureFile",
    "SilenceWhen",
    "Status",
    "SymptomRule",
    "Typical",
    "TypicalRow",
    "TypicalTable",
    "Variant",
    "Verify",
    "When",
]


class Rulebook(Struct, frozen=True):
    """All rules by id, and what is usual."""

    symptoms: dict[str, SymptomRule] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    remedies: dict[str, Remedy] = field(default_factory=dict)
    frameworks: dict[str, Framework] = field(default_factory=dict)
    typical: dict[str, Typical] = field(default_factory=dict)
