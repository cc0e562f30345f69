"""What seff prints of one job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hrmdoc.readers.jobs.row import Row, short, state_of

_SEFF = re.compile(r"(?m)^Job ID: (\d{1,12})\s*$")
_SEFF_STATE = re.compile(r"(?m)^State: (?P<state>[A-Z_]{4,20})[^(\n]{0,40}\(exit code (?P<code>[\d:]{1,7})\)")


def is_seff(text: str) -> bool:
    """Whether a text names a job and its state as seff does."""
    return bool(_SEFF.search(text) and _SEFF_STATE.search(text))


def rows(text: str) -> Iterator[Row]:
    """The job of a text of seff."""
    job, state = _SEFF.search(text), _SEFF_STATE.search(text)
    if job is None or state is None or not state_of(state["state"]):
        return
    cells = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    memory, _, _ = cells.get("Memory Utilized", "").partition(" (")
    asked = cells.get("Memory Efficiency", "").rpartition("% of ")[2].partition(" (")[0]
    code, place = state["code"], text.count("\n", 0, state.start()) + 1
    elapsed = cells.get("Job Wall-clock time", "")
    yield Row(
        job[1],
        "",
        state["state"],
        code,
        elapsed=short(elapsed),
        memory=short(memory),
        asked=short(asked),
        place=place,
    )
