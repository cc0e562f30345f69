"""Which files of one run count, and in which order they are read."""

from __future__ import annotations

import os

from hrmdoc.readers.sources.beginning import read_head
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.support import names
from hrmdoc.text import patterns

_STATE_STEP = patterns.lazy(rb'"global_step":\s*(\d+)')
_LATE_READERS = frozenset({"configs", "run_json"})
"""The file that a user edits has the last word on a config value."""


def ordered(found: list[Source]) -> list[Source]:
    """The sources of one run as they are to be read: without older states, configs last."""
    return sorted(_newest_states(found), key=_order)


def _newest_states(found: list[Source]) -> list[Source]:
    """Of several `trainer_state.json` of one run only the one that went furthest."""
    best: dict[str, tuple[int, Source]] = {}
    for source in found:
        if source.reader == "hf_state":
            step = _state_step(os.fspath(source.file))
            if source.logger not in best or step > best[source.logger][0]:
                best[source.logger] = step, source
    return [source for source in found if source.reader != "hf_state" or best[source.logger][1] is source]


def _state_step(path: str) -> int:
    try:
        step = _STATE_STEP.search(read_head(path))
    except OSError:
        return -1
    return int(step[1]) if step else -1


def _order(source: Source) -> tuple[bool, float, str, int, int, tuple[tuple[int, int, str], ...]]:
    """Configs last; else by start, then the parts of one logger from old to new."""
    late = source.reader in _LATE_READERS
    return (
        late,
        source.started,
        source.logger,
        names.attempt(source.path),
        -names.rotation(source.path),
        names.natural(source.path),
    )
