"""What the runs beside a run say of it, as facts: how far it is behind them, and in which settings it differs
from the best of them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hrmdoc.measures.peers import Shortfall, shortfall
from hrmdoc.record.peer import Peer, Track
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.rulebook import Rulebook

_CHOSEN = (
    *("optimizer.", "schedule.", "data.", "model.", "train.", "lora.", "rl.", "loss.", "act."),
    "precision",
)
"""How the keys of settings begin that somebody chose."""
_COUNTED = {
    *("model.parameters", "model.trainable_parameters", "model.trained_in"),
    *("data.hash", "data.vocab_size"),
}
"""What a program counts of what it has: a fault may have changed it."""
_ALIKE = 0.05
"""Logged rates differ from those of the config by rounding and by the first steps of a schedule."""
_TOLD = 3
PEERS = "peers."
"""How the names of these facts begin."""
_FAMILIES = ("score", "error", "reward", "loss")
_OUTCOMES = ("eval.", "test.", "rl.reward")
"""Roles that say what came of a training, not how it went on."""


def compared_by(book: Rulebook) -> frozenset[str]:
    """The rules that compare a run with those beside it."""
    return frozenset(rule.id for rule in book.symptoms.values() if PEERS in (rule.when.check or ""))


def peer_of(run: Run, settings: Mapping[str, Any]) -> Peer:
    """A run whose metrics have their roles, as others of its program see it."""
    tracks: dict[str, Track] = {}
    for series in run.series.values():
        name, known = series.key.metric, tracks.get(series.key.metric)
        if len(series) and (known is None or len(known.values) < len(series)):
            tracks[name] = Track(series.steps, series.values, _family(series))
    return Peer(run.path, tracks, settings)


def _family(series: Series) -> str:
    outcome = series.nature.held_out or (series.role.role or "").startswith(_OUTCOMES)
    return series.nature.family if outcome and series.nature.family in _FAMILIES else ""


def settings_in(canonical: Mapping[str, Fact], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody chose for a run, by canonical key, numbers and words."""
    chosen = {key for key in canonical if key.startswith(_CHOSEN)} - _COUNTED | {"optimizer.lr"}
    return {key: facts[key] for key in sorted(chosen) if isinstance(facts.get(key), int | float | str)}


def beside(own: Peer, peers: Sequence[Peer]) -> dict[str, Any]:
    """Facts about `own` among the runs beside it; none where these say nothing of it."""
    found = shortfall(own, peers)
    if found is None:
        return {}
    theirs = dict(_theirs(own, found))
    said = theirs | {
        "count": found.count,
        "best": found.best,
        "metric": found.metric,
        "first": _from(own.path, found.among[0].path),
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "short": found.short,
        "apart": found.apart,
    }
    differing = [key for key, value in theirs.items() if _differs(own.settings[key], value)]
    if differing:
        said["differs"] = ", ".join(
            f"{key} {_spelled(own.settings[key])} (theirs {_spelled(theirs[key])})"
            for key in differing[:_TOLD]
        )
    return {PEERS + name: value for name, value in said.items()}


def _from(own: str, other: str) -> str:
    """The path of another run from the folder in which both lie."""
    here, there = os.path.realpath(own), os.path.realpath(other)
    return os.path.relpath(there, os.path.commonpath([here, there]))


def _theirs(own: Peer, found: Shortfall) -> Iterator[tuple[str, Any]]:
    """What the best ones have for each setting of the run: what it has where one of them has it, else what
    most of them have."""
    for key, value in own.settings.items():
        theirs = [peer.settings[key] for peer in found.among if key in peer.settings]
        if len(theirs) == len(found.among):
            same = [other for other in theirs if not _differs(value, other)]
            yield key, same[0] if same else _usual(theirs)


def _usual(values: Sequence[Any]) -> Any:
    """The middle one of numbers, the most frequent one of words."""
    if any(isinstance(value, str) for value in values):
        return Counter(values).most_common(1)[0][0]
    return sorted(values)[(len(values) - 1) // 2]


def _differs(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one != other)
    return not math.isclose(one, other, rel_tol=_ALIKE)


def _spelled(value: Any) -> str:
    return format(value, ".4g") if isinstance(value, float) else str(value)
