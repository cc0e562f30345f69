"""All rules together, and which folder holds which sort."""

from __future__ import annotations

from msgspec import Struct, field

from hrmdoc.rulebook.schema.causes import Cause
from hrmdoc.rulebook.schema.experience import Experience
from hrmdoc.rulebook.schema.families import Family
from hrmdoc.rulebook.schema.frameworks import Framework
from hrmdoc.rulebook.schema.quantities import Quantities
from hrmdoc.rulebook.schema.remedies import Remedy
from hrmdoc.rulebook.schema.signatures import Signature, SignatureFile
from hrmdoc.rulebook.schema.symptoms import SymptomRule
from hrmdoc.rulebook.schema.typical import Typical

RuleFile = (
    SymptomRule | SignatureFile | Cause | Remedy | Framework | Family | Quantities | Typical | Experience
)
FOLDERS: dict[str, type[RuleFile]] = {
    "symptoms": SymptomRule,
    "signatures": SignatureFile,
    "causes": Cause,
    "remedies": Remedy,
    "frameworks": Framework,
    "families": Family,
    "quantities": Quantities,
    "typical": Typical,
    "experience": Experience,
}


class Rulebook(Struct, frozen=True):
    """All rules by id, and what is usual. `formerly`: ids of before, and those of the rules that stand for
    them now (`hrmdoc.rulebook.formerly`)."""

    symptoms: dict[str, SymptomRule] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    remedies: dict[str, Remedy] = field(default_factory=dict)
    frameworks: dict[str, Framework] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    quantities: dict[str, Quantities] = field(default_factory=dict)
    typical: dict[str, Typical] = field(default_factory=dict)
    experience: dict[str, Experience] = field(default_factory=dict)
    formerly: dict[str, tuple[str, ...]] = field(default_factory=dict)
