"""What things mean: metric names -> roles, config values -> canonical facts, which framework, what kind of
run, which phase.

The knowledge is data, in rules/frameworks/*.yaml; this package applies it.
"""

from __future__ import annotations

from hrmdoc.roles.canonical import canonical
from hrmdoc.roles.families import Families, classify
from hrmdoc.roles.framework import detect
from hrmdoc.roles.kind import by_settings, infer_kind, infer_phase
from hrmdoc.roles.metrics import RoleMap, settle
from hrmdoc.roles.quantities import Meanings
from hrmdoc.roles.stated import absent_metrics, check_stated
from hrmdoc.roles.sweeps import Tables

__all__ = [
    "Families",
    "Meanings",
    "RoleMap",
    "Tables",
    "absent_metrics",
    "by_settings",
    "canonical",
    "check_stated",
    "classify",
    "detect",
    "infer_kind",
    "infer_phase",
    "settle",
]
