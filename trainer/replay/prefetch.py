"""Results that a thread makes ahead of their use."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def ahead(items: Iterable[A], make: Callable[[A], B]) -> Iterator[B]:
    """`make` of each item in order, made in a thread while the one before is used.

    Raises:
        Exception: whatever `make` raised.
    """
    made: queue.Queue[B | Exception | None] = queue.Queue(1)

    def work() -> None:
        try:
            for item in items:
                made.put(make(item))
            made.put(None)
        except Exception as error:  # noqa: BLE001  # it is raised again where the result is used
            made.put(error)

    threading.Thread(target=work, name="prefetch", daemon=True).start()
    while (result := made.get()) is not None:
        if isinstance(result, Exception):
            raise result
        yield result
