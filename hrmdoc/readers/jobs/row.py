"""One job, or one step of it, as Slurm writes it."""

from __future__ import annotations

from typing import NamedTuple

STATES = """
    BOOT_FAIL CANCELLED COMPLETED COMPLETING CONFIGURING DEADLINE FAILED LAUNCH_FAILED NODE_FAIL
    OUT_OF_MEMORY PENDING PREEMPTED RECONFIG_FAIL REQUEUED REQUEUE_HOLD RESIZING REVOKED RUNNING
    SPECIAL_EXIT STOPPED SUSPENDED TIMEOUT
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
LONGEST = 120
"""Characters of a cell that are kept."""


class Row(NamedTuple):
    """A job, or one step of it, as Slurm writes it; "" for what it does not say."""

    job: str
    step: str
    state: str
    code: str = ""
    node: str = ""
    elapsed: str = ""
    limit: str = ""
    memory: str = ""
    asked: str = ""
    ended: str = ""
    by: str = ""
    place: int = 1


def state_of(word: str) -> str:
    """The whole name of a state, which a narrow column ends with a plus; "" where it is none."""
    word = word.strip().partition(" ")[0]
    if word.endswith("+") and len(word) > 4:
        return next((state for state in STATES if state.startswith(word[:-1])), "")
    return word if word in STATES else ""


def known(cell: str | None) -> str:
    return "" if (cell or "").startswith(("None", "Unknown")) else short(cell)


def short(cell: str | None) -> str:
    return (cell or "").strip()[:LONGEST]
