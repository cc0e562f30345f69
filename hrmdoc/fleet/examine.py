"""The runs below paths, examined by an engine: what `triage`, `report` and `analyze` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from hrmdoc.fleet.engines import Limits, Name, cores, engine
from hrmdoc.fleet.store import Store, keys
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.work import Done, Extra, Item, Request, are_compared, examine
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
    behind: int = 0,
) -> Iterator[Done]:
    """Examines every run, in the order in which they are done.

    Args:
        jobs: how many at once; by default as many as there are cores. Few runs are then examined in this
            process.
        limits: what one run may take.
        behind: the number of the first.
    """
    items = [Item(number, group) for number, group in enumerate(groups, behind)]
    if name == "local" and jobs is None and (len(items) <= FEW or any(map(is_stream, groups))):
        yield from (examine(item, request) for item in items)
        return
    yield from engine(name).run(_largest_first(items), request, jobs or cores(), limits or Limits())


def summaries(
    groups: Sequence[RunGroup],
    request: Request,
    store: Store,
    progress: Callable[[int], Callable[[str], None]],
    *,
    name: Name = "local",
    jobs: int | None = None,
    limits: Limits | None = None,
    extra: Extra = "",
    keep: Callable[[Done], object] = lambda _: None,
) -> tuple[list[Summary], int]:
    """What is known of every run, in the order of `groups`; those alone are examined that the store does not
    know as they are. The second value is how many it knew.

    Args:
        progress: takes how many there are to examine, and gives what is called as each is done.
        extra: what is wanted of sick runs beside the summary, as far as they are examined now.
        keep: gets each that is examined now.
    """
    request = replace(request, compare=are_compared(groups))
    names = keys(groups, request)
    kept = store.results([key for key, group in zip(names, groups, strict=True) if not is_stream(group)])
    found = {number: kept[key] for number, key in enumerate(names) if key in kept}
    known = len(found)
    waiting = [number for number in range(len(groups)) if number not in found]
    advance = progress(len(waiting)) if waiting else None
    asked = [groups[number] for number in waiting]
    wanted = replace(request, extra=extra, sick_alone=True) if extra else request
    for done in examined(asked, wanted, name=name, jobs=jobs, limits=limits):
        number = waiting[done.number]
        found[number] = done.summary
        keep(done)
        if not done.summary.fault and not is_stream(groups[number]):
            store.keep(names[number], done.summary, groups[number].changed)
        if advance is not None:
            advance(done.summary.path)
    return [found[number] for number in range(len(groups))], known


def is_stream(group: RunGroup) -> bool:
    """Whether it is read from standard input, once."""
    return any(source.path == "-" for source in group.sources)


def _largest_first(items: Sequence[Item]) -> list[Item]:
    """A long run that comes last would keep one core busy while the others wait."""
    return sorted(items, key=lambda item: -sum(source.size for source in item.group.sources))
