"""Where the numbers of a line stand that the general reader understands, also of one that is written anew for
it."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise

from hrmdoc.readers.log.grammar.numbers import gaps_of, spans_of
from hrmdoc.readers.log.grammar.plainer import kept_of

Span = tuple[int, int]


def places_of(text: str, numbers: list[str], *, free: bool) -> tuple[list[Span], list[Span]] | None:
    """Where the numbers of a line stand, and what has no meaning; None where other digits in their places
    might be cut in another way. `free`: what stands between the numbers has none."""
    kept = kept_of(text)
    spans = spans_of(text if kept is None else "".join([text[slice(*part)] for part in kept]), numbers)
    if spans is None or kept is None:
        return None if spans is None else (spans, [])
    if len(kept) == 1:
        return spans, gaps_of(text, spans) if free else []
    before, places = [0, *accumulate(end - start for start, end in kept)], []
    for start, end in spans:
        part = bisect_right(before, start) - 1
        if end > before[part + 1]:
            return None
        behind = kept[part][0] - before[part]
        places.append((start + behind, end + behind))
    return places, [(one[1], other[0]) for one, other in pairwise(kept)]
