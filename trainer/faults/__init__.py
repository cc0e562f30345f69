"""The fault lab's defects, by name. Put one into a run with `fault=<name>[:strength][@step]`."""

from __future__ import annotations

from .base import Fault, parse

FAULTS: dict[str, type[Fault]] = {}


def fault_of(text: str | None) -> Fault:
    """The fault that `text` names; None is one that does nothing."""
    return Fault() if text is None else parse(text, FAULTS)
