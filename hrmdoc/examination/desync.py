"""Tells whether ranks wait for different collectives, from what their watchdogs report.

Ranks that wait for the same collective are held up by one that is late or dead; ranks that stand at different
ones ran different programs. Source: the checks that torch's flight recorder analyser makes on (sequence,
operation, size).
"""

from __future__ import annotations

from collections.abc import Mapping

_QUEUE = 8
"""Collectives that may be in flight at once, so that timeouts this close belong to one queue."""


class DesyncWatch:
    """Remembers what each rank waited for."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, int]] = {}
        self._forms: dict[int, dict[int, tuple[object, ...]]] = {}

    def take(self, rank: int | None, groups: Mapping[str, object]) -> bool:
        """Notes one report; says whether it and a report of another rank disagree.

        Args:
            rank: who reports, when `groups` holds no `on_rank`.
            groups: `sequence`, and `op`, `elements_in`, `elements_out` where known.
        """
        on_rank, sequence = groups.get("on_rank", rank), groups.get("sequence")
        if not isinstance(on_rank, int) or not isinstance(sequence, int):
            return False
        low, high = self._ranges.get(on_rank, (sequence, sequence))
        self._ranges[on_rank] = (min(low, sequence), max(high, sequence))
        form = tuple(groups.get(name) for name in ("op", "elements_in", "elements_out"))
        others = self._forms.setdefault(sequence, {})
        others[on_rank] = form
        return self._apart(on_rank) or any(
            _contradict(form, other) for rank_, other in others.items() if rank_ != on_rank
        )

    def _apart(self, rank: int) -> bool:
        low, high = self._ranges[rank]
        return any(
            low - other_high > _QUEUE or other_low - high > _QUEUE
            for other, (other_low, other_high) in self._ranges.items()
            if other != rank
        )


def _contradict(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return any(a != b for a, b in zip(one, other, strict=True) if a is not None and b is not None)
