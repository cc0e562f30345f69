"""What a training loop gives a monitor, as records; and whether a process is the one that speaks."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from hrmdoc.readers.support.flatten import flat_facts, plain_value
from hrmdoc.record.records import Event, Fact, Line, Record

VARIABLE = "HRMDOC_MONITOR"
"""`0` or `off` switches every monitor off, that of Lightning's entry point too."""
State = Literal["finished", "stopped", "crashed"]
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_TEXT = 200
"""Lines of a traceback that are looked at."""


class Row(NamedTuple):
    """Metrics of one step, as the training loop gave them; `time` is Unix seconds."""

    step: int
    time: float
    metrics: Mapping[str, Any]


def enabled() -> bool:
    """Whether monitors may run here."""
    return os.environ.get(VARIABLE, "").lower() not in ("0", "off", "false", "no")


def rank(stated: int | None = None) -> int:
    """The global rank of this process, 0 where nothing says it."""
    if stated is not None:
        return stated
    said = next((value for name in _RANKS if (value := os.environ.get(name, "")).isdigit()), "0")
    return int(said)


def step(stated: Any) -> int:
    """The step as a whole number.

    Raises:
        ValueError: it is none, or one that no counter reaches.
    """
    number = int(stated)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"step has {number.bit_length()} bits, and 63 are the most")
    return number


def copied(value: Any) -> Any:
    """A value as it is now: the loop may go on to change a tensor in place. No device is waited for."""
    detach = getattr(value, "detach", None)
    return value if detach is None else detach().clone()


def facts(config: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Record]:
    return [*flat_facts(config, ""), *(Fact(key, plain_value(value)) for key, value in facts.items())]


def weights(model: Any) -> dict[str, int]:
    """How many weights a model of torch has and how many of them learn, as facts; nothing where it holds none
    yet."""
    counts = [
        (int(getattr(one, "ds_numel", 0) or one.numel()), one.requires_grad) for one in model.parameters()
    ]
    total = sum(count for count, _ in counts)
    if not total:
        return {}
    return {"model.parameters": total, "model.trainable_parameters": sum(n for n, learns in counts if learns)}


def end(state: State, error: BaseException | None) -> list[Record]:
    """What the end of a run says; the traceback as lines of text, as a log would hold it."""
    now = time.time()
    text = "".join(traceback.format_exception(error)).splitlines() if error is not None else []
    lines = [Line(line, "", number, now) for number, line in enumerate(text[-_TEXT:], 1)]
    failed = [Event("exception", time=now, detail=type(error).__name__)] if state == "crashed" else []
    return [*lines, *failed, Event("end", time=now, detail=state)]
