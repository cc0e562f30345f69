"""A small invented rulebook, and symptoms for it."""

from __future__ import annotations

from hrmdoc.diagnosis.diagnose import Diagnosis, Hypothesis
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Applies, Cause, Remedy, Rulebook, SymptomRule, Verify, When

LEAK = 0.01
ANYWHERE = Applies()


def cause(
    name: str, prior: float = 0.02, *, benign: bool = False, applies: Applies = ANYWHERE, **produces: float
) -> Cause:
    return Cause(
        id=name,
        title=name.title(),
        prior=prior,
        produces={symptom.replace("_", "-"): w for symptom, w in produces.items()},
        playbook="page",
        benign=benign,
        check=f"Look for {name}.",
        applies=applies,
        remedies=(f"mend-{name}",),
    )


def book(*causes: Cause, good_sign: str = "") -> Rulebook:
    names = {symptom for one in causes for symptom in one.produces if symptom != "*"}
    rules = {
        name: SymptomRule(
            id=name,
            title=name.capitalize(),
            when=When(check="1"),
            playbook="page",
            severity="info" if name == good_sign else "warning",
            leak=LEAK,
        )
        for name in names
    }
    remedies = {
        name: Remedy(
            id=name, title=name, kind="manual", risk="safe", why="so", verify=Verify(), steps=("do",)
        )
        for one in causes
        for name in one.remedies
    }
    return Rulebook(symptoms=rules, causes={one.id: one for one in causes}, remedies=remedies)


def present(name: str, severity: str = "warning", **fields: object) -> Symptom:
    return Symptom(
        name,
        title=name.capitalize(),
        state="present",
        severity=severity,
        evidence=f"{name} at step 7",
        **fields,
    )  # type: ignore[arg-type]


def absent(name: str, **fields: object) -> Symptom:
    return Symptom(name, title=name.capitalize(), **fields)  # type: ignore[arg-type]


def unknown(name: str, *missing: str) -> Symptom:
    return Symptom(name, title=name.capitalize(), state="not_evaluated", missing=missing)


def probability(diagnosis: Diagnosis, name: str) -> float:
    return next((one.probability for one in diagnosis.hypotheses if one.cause == name), 0.0)


def first(diagnosis: Diagnosis) -> Hypothesis:
    return diagnosis.hypotheses[0]


RATES = cause("rate", spike=0.6, rise=0.6)
BATCH = cause("batch", spike=0.8)
NET = cause("net", hang=0.8, timeout=0.8)
UNKNOWN = Cause(id="unknown", title="Unknown", prior=0.01, produces={"*": 0.08}, playbook="page")
SMALL = book(RATES, BATCH, NET, UNKNOWN)
EXCUSED = book(RATES, cause("calm", prior=0.2, benign=True, learns=0.9, spike=0.4), good_sign="learns")
