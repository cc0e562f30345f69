"""How other symptoms stand. An expression names them in quotes, and its rule does under `after` or
`presupposes`; of several, each function says how they are taken together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hrmdoc.measures.function import function


class State(Protocol):
    """How a symptom stands, as far as anybody knows at the moment that is asked about."""

    @property
    def state(self) -> str: ...
    @property
    def first_step(self) -> int | None: ...
    @property
    def count(self) -> int: ...
    @property
    def values(self) -> Mapping[str, Any]: ...


@function("symptom")
def present(*symptoms: State | None) -> bool | None:
    """Whether one of the symptoms shows now; unknown where none could be evaluated."""
    known = [one.state for one in symptoms if one is not None and one.state != "not_evaluated"]
    return "present" in known if known else None


@function("symptom")
def seen(*symptoms: State | None) -> bool:
    """Whether one of the symptoms shows or did before; never unknown."""
    return any(one is not None and one.state in ("present", "resolved") for one in symptoms)


@function("symptom")
def began(*symptoms: State | None) -> int | None:
    """The step at which the first of the symptoms first showed."""
    steps = [one.first_step for one in symptoms if one is not None and one.first_step is not None]
    return min(steps, default=None)


@function("symptom")
def episodes(*symptoms: State | None) -> int:
    """How often the symptoms opened so far, all together; never unknown."""
    return sum(one.count for one in symptoms if one is not None)


@function("symptom")
def peak(*symptoms: State | None) -> float | None:
    """The metric at its strongest, the highest of several."""
    known = [float(one.values["peak"]) for one in symptoms if one is not None and "peak" in one.values]
    return max(known, default=None)
