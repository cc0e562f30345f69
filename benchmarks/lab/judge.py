"""What the doctor says of each run, beside what is true."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

import hrmdoc
from benchmarks.lab.effects import Outcome, effect, outcome_of
from benchmarks.lab.faults import onset_of
from benchmarks.lab.matrix import twin_of
from benchmarks.lab.metrics import delay, rank_of
from benchmarks.lab.misses import reason
from benchmarks.lab.spec import RUNS, Spec
from hrmdoc.diagnosis.diagnose import Diagnosis, diagnose
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Rulebook
from hrmdoc.settings import Settings

TABLE = RUNS / "verdicts.parquet"
SERIOUS = ("warning", "critical")
STEPS_PER_EPOCH = 40
"""Of the classifier, whose logs count epochs."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A run's symptoms and situation: enough to rank its causes."""

    key: str
    kind: str
    framework: str
    state: str
    facts: dict[str, Any]
    symptoms: tuple[Symptom, ...]
    steps: tuple[int, ...]
    points: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the table.

    Attributes:
        named: faults and benign causes as ranked, with their probabilities.
        faults: those of `named` that are faults.
        serious: symptoms whose effective severity is warning or critical.
        rank: place of the first true cause among `faults`.
        delay: logged points from the first one affected to the first serious symptom, None without detection.
        effect: what the fault visibly did beside its healthy twin, "" when nothing, None when there is no
            twin to compare with.
        reason: why a fault that did harm was missed; "" for what was found.
    """

    spec: Spec
    key: str
    verdict: str
    state: str
    kind: str
    framework: str
    named: tuple[tuple[str, float], ...]
    faults: tuple[tuple[str, float], ...]
    serious: tuple[str, ...]
    shown: tuple[str, ...]
    rank: int | None
    delay: int | None
    points: int
    evaluated: int
    effect: str | None = None
    reason: str = ""

    @property
    def detected(self) -> bool:
        return self.verdict in SERIOUS

    @property
    def top(self) -> str:
        return self.faults[0][0] if self.faults else ""


def judge(specs: Sequence[Spec], processes: int = 2) -> list[Verdict]:
    """Examines kept runs with the public `hrmdoc.analyze`."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from hrmdoc import rulebook

    book = rulebook.load()
    with ProcessPoolExecutor(processes) as pool:
        pairs = list(pool.map(examine, specs, chunksize=4))
    examined = [one for one, _ in pairs]
    outcomes = {one.key: outcome for one, outcome in pairs}
    effects = [_effect(spec, outcomes) for spec in specs]
    return [verdict_of(spec, one, book, did) for spec, one, did in zip(specs, examined, effects, strict=True)]


def _effect(spec: Spec, outcomes: dict[str, Outcome]) -> str | None:
    twin = None if spec.healthy else outcomes.get(twin_of(spec).key())
    return None if twin is None else effect(spec.fault, onset_of(spec), outcomes[spec.key()], twin)


def examine(spec: Spec) -> tuple[Examined, Outcome]:
    """Reads and examines one run, as a user's `hrmdoc analyze` does; also what the run came to."""
    analysis = hrmdoc.analyze(spec.folder(), settings=Settings())
    series = analysis.run.best("train.loss")
    facts = {
        key: value
        for key, value in analysis.situation.facts.items()
        if isinstance(value, str | int | float | bool)
    }
    examined = Examined(
        key=spec.key(),
        kind=analysis.situation.kind,
        framework=analysis.situation.framework,
        state=analysis.state,
        facts=facts,
        symptoms=tuple(_light(symptom) for symptom in analysis.symptoms),
        steps=tuple(int(step) for step in series.steps) if series is not None else (),
        points=sum(len(one) for one in analysis.run.series.values()),
    )
    return examined, outcome_of(spec.folder(), analysis.run)


def ranked(one: Examined, book: Rulebook) -> Diagnosis:
    """The diagnosis of an examined run by `book`."""
    framework = "" if one.framework == "unknown" else one.framework
    return diagnose(one.symptoms, book, kind=one.kind, facts=one.facts, framework=framework)


def verdict_of(spec: Spec, one: Examined, book: Rulebook, did: str | None = None) -> Verdict:
    """The row of one run. `did`: the visible effect of its fault, where a twin shows it."""
    result = ranked(one, book)
    faults = tuple(
        (h.cause, h.probability) for h in result.hypotheses if not h.benign and h.cause != "unknown"
    )
    seen = [symptom for symptom in one.symptoms if symptom.seen]
    serious = [symptom for symptom in seen if result.severities[symptom.id] in SERIOUS]
    row = Verdict(
        spec=spec,
        key=one.key,
        verdict=result.verdict,
        state=one.state,
        kind=one.kind,
        framework=one.framework,
        named=tuple((h.cause, h.probability) for h in result.hypotheses),
        faults=faults,
        serious=tuple(sorted({symptom.id for symptom in serious})),
        shown=tuple(sorted({symptom.id for symptom in seen})),
        rank=rank_of([cause for cause, _ in faults], spec.causes),
        delay=_delay(spec, one, serious, book),
        points=one.points,
        evaluated=sum(symptom.state != "not_evaluated" for symptom in one.symptoms),
        effect=did,
    )
    missed = not spec.healthy and not row.detected
    return replace(row, reason=reason(spec.causes, dict(faults), one.symptoms, book)) if missed else row


def save(verdicts: Iterable[Verdict]) -> None:
    """The table, one row a run."""
    import pandas as pd

    rows = [
        {
            "program": v.spec.program,
            "fault": v.spec.fault,
            "note": v.spec.note,
            "seed": v.spec.seed,
            "causes": list(v.spec.causes),
            **{
                name: getattr(v, name)
                for name in (
                    "key",
                    "verdict",
                    "state",
                    "kind",
                    "framework",
                    "rank",
                    "delay",
                    "points",
                    "evaluated",
                    "effect",
                    "reason",
                )
            },
            "named": [cause for cause, _ in v.named],
            "probabilities": [p for _, p in v.named],
            "serious": list(v.serious),
            "shown": list(v.shown),
        }
        for v in verdicts
    ]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(TABLE, index=False)


def _delay(spec: Spec, one: Examined, serious: Sequence[Symptom], book: Rulebook) -> int | None:
    if spec.healthy or not one.steps:
        return None
    onset = onset_of(spec) or 0
    if spec.program == "classifier" and spec.settings.get("logger", "keras") == "keras":
        onset //= STEPS_PER_EPOCH
    found = [
        delay(one.steps, onset, symptom.first_step, book.symptoms[symptom.id].when.patience)
        for symptom in serious
        if symptom.first_step is not None and symptom.id in book.symptoms
    ]
    return min((points for points in found if points is not None), default=None)


def _light(symptom: Symptom) -> Symptom:
    """Without what ranking does not need: less to hand from one process to the other."""
    role = symptom.values.get("role")
    return structs.replace(symptom, values={"role": role} if role else {}, score=None)
