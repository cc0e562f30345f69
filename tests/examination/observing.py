"""What is observed of small runs, by tables that ask for all of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hrmdoc.examination.cases.notation import series_from
from hrmdoc.examination.derived import derived
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Rulebook
from hrmdoc.rulebook.schema.typical import Typical, TypicalRow, TypicalTable

OBSERVED = ("resumes", "first_share", "done", "last_step", "loss_level", "accuracy_share")
OBSERVED += ("gradient_before_break", "steps_to_break", "gained_before_resume", "lost_at_resume")
OBSERVED += ("silent_for", "silent_before_end")
TABLES = tuple(TypicalTable(name, (TypicalRow({f"seen.{name}": f"=observed.{name}"}),)) for name in OBSERVED)
BOOK = Rulebook(typical={"seen": Typical("seen", TABLES)})


def run_of(*records: Any, steps: Any = None, axis: Any = "step", **series: str) -> Run:
    run = Run("case", role_of=lambda name: RoleGuess(name))
    for name, notation in series.items():
        values = series_from(notation, seed=name)
        at = np.arange(len(values)) if steps is None else np.array(steps[: len(values)])
        role = name.replace("_", ".", 1) if name.split("_")[0] in ("train", "eval") else name
        run.add(Points(role, at, values, np.full(len(values), math.nan), "case.log", precision=3, axis=axis))
    run.extend(records)
    return run


def seen(run: Run, **facts: Any) -> dict[str, Any]:
    """What is observed and derived of a run, without the words that say which."""
    known = {name.replace("_", ".", 1): value for name, value in facts.items()}
    told = derived(run, known, BOOK)
    return {name.partition(".")[2]: value for name, value in told.items()}
