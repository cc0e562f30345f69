"""The runs below paths, examined by an engine: what `triage`, `report` and `analyze` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrmdoc.fleet.engines import Limits, Name, cores, engine
from hrmdoc.fleet.work import Done, Item, Request, examine
from hrmdoc.readers import RunGroup

FEW = 4
"""Runs that are examined here at once, since starting processes would take longer."""


def examined(
    groups: Sequence[RunGroup],
    request: Request,
    *,
    name: Name = "local",
    jobs: int | None = None,
    limits: Limits | None = None,
) -> Iterator[Done]:
    """Examines every run, in the order in which they are done.

    Args:
        jobs: how many at once; by default as many as there are cores. Few runs are then examined in this
            process.
        limits: what one run may take.
    """
    items = [Item(number, group) for number, group in enumerate(groups)]
    if name == "local" and jobs is None and (len(items) <= FEW or any(map(_is_stream, groups))):
        yield from (examine(item, request) for item in items)
        return
    yield from engine(name).run(_largest_first(items), request, jobs or cores(), limits or Limits())


def _is_stream(group: RunGroup) -> bool:
    return any(source.path == "-" for source in group.sources)


def _largest_first(items: Sequence[Item]) -> list[Item]:
    """A long run that comes last would keep one core busy while the others wait."""
    return sorted(items, key=lambda item: -sum(source.size for source in item.group.sources))
