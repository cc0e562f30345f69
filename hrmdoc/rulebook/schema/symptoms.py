"""rules/symptoms/: what a run may show."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from hrmdoc.rulebook.schema.common import Applies, Number, Severity, Status
from hrmdoc.rulebook.schema.when import When


class Variant(Struct, forbid_unknown_fields=True, frozen=True):
    """Other thresholds for other kinds of runs or frameworks; what is left out stays as in `when`."""

    kinds: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    with_: dict[str, Any] = field(name="with", default_factory=dict)
    enter: Number | None = None
    leave: Number | None = None
    patience: int | None = None
    min_points: int | None = None
    severity: Severity | None = None


class Needs(Struct, forbid_unknown_fields=True, frozen=True):
    """What must be known for the rule to be evaluated. `any_role`: one of them is enough."""

    roles: tuple[str, ...] = ()
    any_role: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class SymptomRule(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/symptoms/<id>.yaml

    `presupposes`: one of these has to show before the question of this symptom arises: where none does, its
    absence says nothing; where one does, this symptom qualifies that one and is no finding beside it.
    `after`: other symptoms whose state its checks ask for. It is looked at behind all of them.
    `run_state`: what has become of a run that shows it, where the symptom says so. `catch_all`: it says that
    something failed and not what. `launcher`: its lines are those of a launcher, not of any rank. `scope`: it
    says of which run in a file all else is said, so that it is always told.
    `alarms: outcome`: it is information while the run ends well all the same; `unsolved`: while a score
    stands near its ceiling, or the evaluation has learned; `joined`: while no finding of another
    family stands beside it that is a warning by its own rule, over or not.
    `weighed`: a warning of it is information where experience with labelled runs speaks against a fault of a
    run with such a course (`rules/experience/`) and nothing worse shows.
    """

    id: str
    title: str
    when: When
    playbook: str
    status: Status = "stable"
    severity: Severity = "warning"
    alarms: Literal["always", "outcome", "unsolved", "joined"] = "always"
    weighed: bool = False
    group: str | None = None
    after: tuple[str, ...] = ()
    presupposes: tuple[str, ...] = ()
    run_state: Literal["hung", "stopped"] | None = None
    catch_all: bool = False
    launcher: bool = False
    scope: bool = False
    applies: Applies = Applies()
    variants: tuple[Variant, ...] = ()
    needs: Needs = Needs()
    evidence: str = ""
    summary: str = ""
    leak: float = 0.01
    formerly: tuple[str, ...] = ()
    falsepositives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
