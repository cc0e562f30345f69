"""A symptom: what `hrmdoc.examination.examine` found for one rule, and what `hrmdoc.diagnosis.diagnose`
reasons over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from hrmdoc.rulebook import Severity

State = Literal["present", "resolved", "absent", "not_evaluated"]
SignatureRole = Literal["root", "cascade", "confirmation", "note"]
LADDER: tuple[Severity, ...] = ("info", "warning", "critical")


class Symptom(Struct, frozen=True):
    """The state of one symptom rule on one run.

    Attributes:
        id: the rule's id.
        severity: the rule's own; what remains of it once benign causes have spoken is in
            `Diagnosis.severities`.
        state: `resolved` was present and is over, `not_evaluated` means that inputs are missing or that it is
            too early.
        role: role of the metric it was seen in, "" for symptoms in logs, facts and events.
        metric: that metric as the source spells it.
        first_step: step at which it began, None when unknown or when it was never present.
        last_step: last step at which it was seen.
        first_time: Unix seconds at which it began.
        count: how many episodes (metrics) or lines (logs).
        evidence: one sentence with the numbers, for people.
        values: numbers behind `evidence`. A log symptom puts the part its signature plays (`root`, `cascade`,
            `confirmation`, `note`) under `role`.
        file: where it was first seen, with `line` (1-based, or byte offset).
        missing: roles and facts that it would have needed.
        group: symptoms of one group are graded answers to one question and count as one.
        rank: global rank on which it was first seen.
        score: the detector's strongest score, if there is one.
        got_over: the run ended well all the same, so that it is no more than information.
    """

    id: str
    title: str = ""
    severity: Severity = "warning"
    state: State = "absent"
    role: str = ""
    metric: str = ""
    first_step: int | None = None
    last_step: int | None = None
    first_time: float | None = None
    count: int = 0
    evidence: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    playbook: str = ""
    missing: tuple[str, ...] = ()
    group: str | None = None
    rank: int | None = None
    score: float | None = None
    got_over: bool = False

    def __repr__(self) -> str:
        """One line: id, state and the numbers."""
        said = f": {self.evidence}" if self.evidence else ""
        return f"<Symptom {self.id} {self.state}, {self.severity}{said}>"

    @property
    def seen(self) -> bool:
        """It is or was present: evidence for what produces it."""
        return self.state in ("present", "resolved")

    @property
    def unit(self) -> str:
        """What `first_step` counts: `step`, `epoch`, `point` or `sample`."""
        return str(self.values.get("unit", "step"))

    @property
    def signature_role(self) -> SignatureRole | None:
        """The part that its log signature plays in a failure, None for symptoms that are no log lines."""
        role = self.values.get("role")
        return role if role in ("root", "cascade", "confirmation", "note") else None

    @property
    def behind(self) -> str:
        """Where a message stands behind the end of the training: `end`, or `cell` in a notebook; else ""."""
        return str(self.values.get("behind", ""))
