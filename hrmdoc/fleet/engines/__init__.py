"""Where runs are examined: `local` processes, or tasks of a `ray` cluster. Both call `fleet.work.examine`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol, cast

from msgspec import Struct

from hrmdoc.fleet.work import Done, Item, Request

Name = Literal["local", "ray"]
NAMES: tuple[Name, ...] = ("local", "ray")


class Limits(Struct, frozen=True):
    """What one run may take.

    Attributes:
        seconds: of wall clock, and `seconds_a_byte` beside them for what its files hold.
        memory: bytes of address space that a process may have, 0 for an even share of the machine's memory.
        recycle: bytes in use from which on a process is replaced by a new one.
    """

    seconds: float = 300.0
    seconds_a_byte: float = 2e-5
    memory: int = 0
    recycle: int = 1 << 30

    def time_for(self, item: Item) -> float:
        """Seconds that this run may take."""
        return self.seconds + self.seconds_a_byte * sum(source.size for source in item.group.sources)


class Engine(Protocol):
    """A module that examines runs."""

    def run(self, items: Sequence[Item], request: Request, jobs: int, limits: Limits) -> Iterator[Done]:
        """Each run once, in the order in which they are done."""
        ...


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def engine(name: Name) -> Engine:
    """The engine of that name."""
    return cast("Engine", importlib.import_module(f"{__name__}.{name}_engine"))
