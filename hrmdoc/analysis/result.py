"""What an examination gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

import hrmdoc
from hrmdoc import rulebook
from hrmdoc.diagnosis.diagnose import Diagnosis
from hrmdoc.diagnosis.run_state import RunState
from hrmdoc.examination.beside import compared_by
from hrmdoc.examination.examine import Situation
from hrmdoc.examination.symptom import Symptom
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run
from hrmdoc.rulebook import Rulebook

if TYPE_CHECKING:
    from hrmdoc.remedies.prescribe import Prescription


class Analysis(Struct, frozen=True):
    """One examination of a run.

    Attributes:
        run: everything that was read.
        situation: kind of run, framework and canonical facts.
        symptoms: the state of every rule.
        diagnosis: the ranked causes.
        prescriptions: for each cause among the first three, its remedies as they apply to this run.
        acknowledged: symptoms that the user knows of, with the reason; they count as info.
        notes: what the user stated and the run does not bear out, a sentence each.
    """

    run: Run
    book: Rulebook
    situation: Situation
    symptoms: list[Symptom]
    diagnosis: Diagnosis
    state: RunState
    prescriptions: Mapping[str, Sequence[Prescription]] = field(default_factory=dict)
    acknowledged: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> str:
        """`healthy`, `info`, `warning`, `critical`; `no_data` when nothing could be read, and `incomplete`
        when no fault was found but evidence that may have held one could not be read."""
        found = self.diagnosis.verdict
        return "incomplete" if found in ("healthy", "info") and self.unread else found

    @property
    def unread(self) -> list[Damage]:
        """Places where evidence is missing: what was not read there may have held the fault."""
        return [damage for damage in self.run.damages if damage.incomplete]

    def __repr__(self) -> str:
        """One line: the run, its verdict and the leading causes."""
        causes = ", ".join(f"{one.cause} {one.probability:.0%}" for one in self.diagnosis.hypotheses[:3])
        found = f"{len(self.findings)} of {len(self.symptoms)} symptoms"
        return f"<Analysis {self.run.path!r}: {self.verdict}, {found}{'; ' if causes else ''}{causes}>"

    def _repr_html_(self) -> str:
        """How a notebook shows it, by the public name of what shows runs: that stands above this room."""
        return hrmdoc.card(self)

    @property
    def present(self) -> list[Symptom]:
        """Symptoms that are or were present: the most severe first, then what shows in the run before what
        others show of it, consequences of others behind their causes, and by time."""
        order = {"critical": 0, "warning": 1, "info": 2}
        comparing = compared_by(self.book)
        shown = [symptom for symptom in self.symptoms if symptom.seen]
        return sorted(
            shown,
            key=lambda s: (
                order[self.severity(s)],
                s.state != "present",
                s.signature_role == "cascade",
                s.id in comparing,
                s.first_step or 0,
                s.id,
            ),
        )

    @property
    def findings(self) -> list[Symptom]:
        """Those of `present` that are no good signs."""
        good = rulebook.good_signs(self.book)
        return [symptom for symptom in self.present if symptom.id not in good]

    @property
    def not_evaluated(self) -> list[Symptom]:
        """Symptoms that could not be judged, with what they would have needed."""
        return [symptom for symptom in self.symptoms if symptom.state == "not_evaluated"]

    def severity(self, symptom: Symptom) -> str:
        """What remains of a symptom's severity once benign causes and acknowledgements have spoken."""
        return self.diagnosis.severities.get(symptom.id, symptom.severity)
