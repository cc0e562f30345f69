"""The line above the table that transformers' Trainer draws in notebooks: `[500/1200 02:53 < 04:54, 2.88
it/s, Epoch 1.25/3]`. Its steps are those of the whole run; where the rows below it belong, they say."""

from __future__ import annotations

from hrmdoc.text import patterns

_TRACKER = patterns.lazy(
    r"\s{0,8}\[\s{0,4}\d{1,12}/(\d{1,12}) [\d:]{4,12}(?: < [^\[\]]{1,60})?, "
    r"Epoch [\d.]{1,12}/(\d{1,9})\]?\s{0,8}\Z"
)


def planned_in(text: str) -> tuple[tuple[str, int], ...]:
    """How many steps and epochs were planned, as facts; nothing for other lines."""
    found = _TRACKER.match(text) if ", Epoch " in text else None
    return () if found is None else (("run.total_steps", int(found[1])), ("run.epochs", int(found[2])))
