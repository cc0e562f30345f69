"""How other symptoms stand. An expression names them in quotes, and its rule under `after` or
`presupposes`."""

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
def present(symptom: State | None) -> bool | None:
    """Whether the symptom shows now; unknown where it could not be evaluated."""
    return None if symptom is None or symptom.state == "not_evaluated" else symptom.state == "present"


@function("symptom")
def seen(symptom: State | None) -> bool:
    """Whether it shows or did before; never unknown. Of several, one is enough."""
    return symptom is not None and symptom.state in ("present", "resolved")


@function("symptom")
def began(symptom: State | None) -> int | None:
    """The step at which it first showed."""
    return None if symptom is None else symptom.first_step


@function("symptom")
def episodes(symptom: State | None) -> int:
    """How often it opened so far; never unknown."""
    return 0 if symptom is None else symptom.count


@function("symptom")
def peak(symptom: State | None) -> float | None:
    """The metric at its strongest."""
    return None if symptom is None or "peak" not in symptom.values else float(symptom.values["peak"])
