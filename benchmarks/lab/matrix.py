"""Which runs there are: faults by program, healthy runs with odd shapes, and how many of them each matrix
takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, zip_longest
from typing import Literal

from benchmarks.lab.faults import FAULTS, Case
from benchmarks.lab.healthy import HEALTHY
from benchmarks.lab.spec import HRM_PROGRAMS, LIBRARIES, Spec, Value

Size = Literal["ci", "small", "full"]

CI_FAULTY = (
    ("gpt", "lr-too-high"),
    ("gpt", "token-out-of-range"),
    ("classifier", "wrong-targets"),
    ("regression", "malformed"),
    ("grpo", "reward-zero"),
    ("process", "disk-full"),
)
CI_HEALTHY = (
    ("gpt", ""),
    ("classifier", ""),
    ("regression", ""),
    ("grpo", ""),
    ("process", ""),
    ("classifier", "high-dropout"),
)
HEALTHY_SEEDS = {"small": 2, "full": 8}
HEALTHY_SLOW_SEEDS = {"small": 1, "full": 4}
FAULTY_SEEDS = {"small": 1, "full": 3}


def specs(size: Size) -> list[Spec]:
    """The runs of a matrix; every faulty one comes with its healthy twin."""
    if size == "ci":
        faulty, healthy = list(_chosen_faulty()), list(_chosen_healthy())
    else:
        faulty = [
            _faulty(name, case, seed)
            for name in FAULTS
            for seed in range(FAULTY_SEEDS[size])
            for case in FAULTS[name]
        ]
        healthy = [spec for name in FAULTS for spec in _healthy(name, size)]
    twins = {twin.key(): twin for twin in map(twin_of, faulty)}
    healthy = [*twins.values(), *healthy]
    return list(_mixed(faulty, healthy))


def twin_of(spec: Spec) -> Spec:
    """The same run without the fault."""
    settings = {key: value for key, value in spec.settings.items() if key != "limit_s"}
    if spec.program == "process" and spec.fault.startswith("ranks-"):
        settings["ranks"] = True
    return Spec(spec.program, seed=spec.seed, settings=settings, note="twin")


def _faulty(program: str, case: Case, seed: int) -> Spec:
    return Spec(program, case.fault, case.causes, seed, case.settings, case.strength, case.onset)


def _healthy(program: str, size: Size) -> Iterator[Spec]:
    seeds = HEALTHY_SLOW_SEEDS[size] if program in (*HRM_PROGRAMS, *LIBRARIES) else HEALTHY_SEEDS[size]
    for seed in range(seeds):
        for note, settings in HEALTHY[program].items():
            yield Spec(program, seed=100 + seed, settings=settings, note=note)


def _chosen_faulty() -> Iterator[Spec]:
    for program, fault in CI_FAULTY:
        case = next(case for case in FAULTS[program] if case.fault == fault)
        yield _faulty(program, case, 0)


def _chosen_healthy() -> Iterator[Spec]:
    for program, note in CI_HEALTHY:
        settings: dict[str, Value] = HEALTHY[program][note]
        yield Spec(program, seed=100, settings=settings, note=note)


def _mixed(faulty: list[Spec], healthy: list[Spec]) -> Iterator[Spec]:
    """Both kinds in turn, programs in turn, so that a matrix that is cut short is still one."""
    for kind in zip_longest(_by_program(faulty), _by_program(healthy)):
        yield from (spec for spec in kind if spec is not None)


def _by_program(found: list[Spec]) -> list[Spec]:
    """Programs in turn."""
    queues = {
        name: [spec for spec in found if spec.program == name]
        for name in dict.fromkeys(spec.program for spec in found)
    }
    turns = cycle(list(queues))
    order: list[Spec] = []
    while any(queues.values()):
        name = next(turns)
        order += [queues[name].pop(0)] if queues[name] else []
    return order
