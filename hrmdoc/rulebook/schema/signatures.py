"""rules/signatures/: wordings of log lines, and the symptoms that one of them opens."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from hrmdoc.rulebook.schema.common import Severity, Status
from hrmdoc.rulebook.schema.symptoms import SymptomRule, Variant
from hrmdoc.rulebook.schema.when import LinesWhen, When

MESSAGE = When(lines=LinesWhen())
"""One line of one of its signatures is enough."""


class Message(Struct, forbid_unknown_fields=True, frozen=True):
    """A symptom that is there as soon as one of its signatures is, written beside them.

    `counterexamples`: logs, of one line or several, that must not open it. `run_state`: what has become of a
    run that its line ended, where it is no crash.
    """

    id: str
    title: str
    playbook: str
    severity: Severity = "warning"
    status: Status = "stable"
    group: str | None = None
    catch_all: bool = False
    launcher: bool = False
    run_state: Literal["hung", "stopped"] | None = None
    variants: tuple[Variant, ...] = ()
    summary: str = ""
    leak: float = 0.01
    formerly: tuple[str, ...] = ()
    falsepositives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()

    def rule(self) -> SymptomRule:
        """The same as any other symptom is written."""
        return SymptomRule(when=MESSAGE, evidence="{text}", **asdict(self))


class Signature(Struct, forbid_unknown_fields=True, frozen=True):
    """One wording of a log line. `literals`: every match holds at least one of them, so that a block can be
    searched fast.

    `examples`: what real programs wrote, one line each or the whole traceback that ends in it; `example` is a
    first one.

    `traceback`: the line counts only as the last of a traceback whose header and frames it matches, one `file
    function` a line. `quoted`: the same for the source that its innermost frame shows. `desync`: the line
    counts only when it and a line of another rank disagree about the collective (`sequence`, `op`, sizes).
    `fallback`: it is looked at only where no other signature matches the line, without what a launcher puts
    before it. `facts`: captured groups that are facts of the run, by canonical key; a size becomes a number
    of GiB.

    Roles after NVIDIA's attribution work: a `root` may be the first failure, a `cascade` is the consequence
    of another, a `confirmation` supports a root, a `note` is neither.
    """

    id: str
    symptom: str
    pattern: str
    literals: tuple[str, ...]
    example: str = ""
    examples: tuple[str, ...] = ()
    role: Literal["root", "cascade", "confirmation", "note"] = "root"
    fatal: bool = True
    means: str = ""
    traceback: str = ""
    desync: bool = False
    fallback: bool = False
    quoted: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    formerly: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def shown(self) -> tuple[str, ...]:
        """All its examples."""
        return (self.example, *self.examples) if self.example else self.examples


class SignatureFile(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/signatures/<subsystem>.yaml"""

    subsystem: str
    signatures: tuple[Signature, ...]
    symptoms: tuple[Message, ...] = ()
