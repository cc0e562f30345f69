"""Optuna: the SQLite store of its studies. A trial that reported values while it ran is a run; of several the
newest is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import plain_value
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.support.sqlite import MAGIC, Held, Stored, chosen, columns, held
from hrmdoc.readers.support.sqlite import rows as rows_of
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Event, Fact, Record

if TYPE_CHECKING:
    import sqlite3

NAME = "optuna"
TITLE = "Optuna studies (SQLite)"
WHOLE = True

_SPECIAL = {"NAN": math.nan, "INF_POS": math.inf, "INF_NEG": -math.inf}
"""Values that the store spells apart, since SQL has none of them."""
_METRICS = {"MINIMIZE": "objective_minimized", "MAXIMIZE": "objective_maximized"}
_ENDS = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "crashed"}
_TRIALS = (
    "SELECT t.trial_id, t.number, s.study_name FROM trials t JOIN studies s ON s.study_id = t.study_id "
    "WHERE EXISTS (SELECT 1 FROM trial_intermediate_values v WHERE v.trial_id = t.trial_id) "
    "ORDER BY t.trial_id"
)


def sniff(path: Path, head: bytes) -> float:
    """By the columns of its tables."""
    if not head.startswith(MAGIC):
        return 0.0
    return 0.95 if columns(path, "trial_intermediate_values") >= {"trial_id", "step"} else 0.0


def open_session(context: Context) -> Stored:
    """Starts to read one file."""
    return Stored(context, _tables)


def runs(path: str) -> list[str]:
    """The trials that reported values while they ran, the newest last."""
    return held(path, _runs)


def _runs(opened: sqlite3.Connection) -> list[Held]:
    found = list(opened.execute(_TRIALS))
    several = len({study for _, _, study in found}) > 1
    return [
        Held(str(trial), f"{study} trial {number}" if several else f"trial {number}")
        for trial, number, study in found
    ]


def _tables(context: Context, opened: sqlite3.Connection) -> Iterator[Record]:
    found = _runs(opened)
    if not found:
        count = next(iter(opened.execute("SELECT count(*) FROM trials")))[0]
        what = "which reported no value while they ran (trial.report): there is no curve to judge"
        yield Damage(context.path, None, f"holds {count:,} trials of Optuna, {what}")
        return
    trial = chosen(found, context.part, context.path).id
    yield Event("start", context.path)
    yield from _settings(context, opened, trial)
    yield from _values(context, opened, trial)
    for (state,) in opened.execute("SELECT state FROM trials WHERE trial_id = ?", (trial,)):
        if state in _ENDS:
            yield Event("end", context.path, detail=_ENDS[state])


def _values(context: Context, opened: sqlite3.Connection, trial: str) -> Iterator[Record]:
    typed = any(row[1] == "intermediate_value_type" for row in _columns(opened))
    kind = "intermediate_value_type" if typed else "'FINITE'"
    query = (
        f"SELECT step, intermediate_value, {kind} FROM trial_intermediate_values "  # noqa: S608 (one of two words)
        "WHERE trial_id = ? ORDER BY step"
    )
    metric = _metric(opened, trial)
    rows = Rows(context, precision=3)
    for place, (step, value, sort) in enumerate(rows_of(opened, query, (trial,), context.path), 1):
        stated = value if typed and sort == "FINITE" else _SPECIAL.get(str(sort), value)
        rows.add({"step": step, metric: math.nan if stated is None else stated}, place)
    yield from rows.points()
    yield from rows.rest()


def _metric(opened: sqlite3.Connection, trial: str) -> str:
    """The objective by its direction: the store does not say what it is."""
    query = (
        "SELECT d.direction FROM study_directions d JOIN trials t ON t.study_id = d.study_id "
        "WHERE t.trial_id = ? ORDER BY d.objective"
    )
    return next(
        (_METRICS.get(str(one), "objective") for (one,) in opened.execute(query, (trial,))), "objective"
    )


def _columns(opened: sqlite3.Connection) -> list[Any]:
    return list(opened.execute("PRAGMA table_info(trial_intermediate_values)"))


def _settings(context: Context, opened: sqlite3.Connection, trial: str) -> Iterator[Fact]:
    """What was chosen for the trial; of a choice the store keeps the number."""
    query = "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?"
    for name, value, stated in opened.execute(query, (trial,)):
        plain = plain_value(_meant(value, stated))
        if isinstance(name, str) and plain is not None:
            yield Fact(name, plain, "config", context.path)


def _meant(value: Any, stated: Any) -> Any:
    try:
        distribution = json_text.loads(str(stated).encode())
    except ValueError:
        return value
    choices = part(distribution, "attributes", "choices")
    if isinstance(choices, list) and isinstance(value, int | float) and 0 <= value < len(choices):
        return choices[int(value)]
    return int(value) if str(part(distribution, "name")).startswith("Int") and value == value else value
