"""Runs examined by the tasks of a Ray cluster, one task a run; its machines must see the paths.

A task that kills its worker is not tried again: it costs its own row. Where RAY_ADDRESS names no cluster, Ray
is started on this machine.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

from hrmdoc.errors import UsageError
from hrmdoc.fleet.engines import Limits
from hrmdoc.fleet.summary import failed
from hrmdoc.fleet.work import Done, Item, Request, examine
from hrmdoc.text.clean import duration

_AHEAD = 2
"""Tasks that are handed over for each core, so that none waits for the next."""
_LOOK = 5.0
_RECYCLE = 500
"""Runs after which Ray replaces a process, which gives its memory back."""


def run(items: Sequence[Item], request: Request, jobs: int, limits: Limits) -> Iterator[Done]:
    """Examines every run; one that ends its worker, or takes too long, is reported as such.

    Raises:
        UsageError: Ray is not installed, or its cluster cannot be reached.
    """
    with redirect_stdout(sys.stderr):  # Ray says there what became of its workers
        yield from _examined(items, request, jobs, limits)


def _examined(items: Sequence[Item], request: Request, jobs: int, limits: Limits) -> Iterator[Done]:
    ray, started = _connected(jobs)
    try:
        task = ray.remote(max_retries=0, max_calls=_RECYCLE, num_cpus=1)(examine)
        asked = ray.put(request)
        waiting, under_way = deque(items), dict[Any, tuple[Item, float]]()
        most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", jobs)))
        while waiting or under_way:
            while waiting and len(under_way) < most:
                item = waiting.popleft()
                under_way[task.remote(item, asked)] = (item, time.monotonic())
            ended, _ = ray.wait(list(under_way), num_returns=1, timeout=_LOOK)
            for reference in ended:
                item, _ = under_way.pop(reference)
                yield _done(ray, reference, item)
            yield from _late(ray, under_way, limits)
    finally:
        if started:
            ray.shutdown()


def _connected(jobs: int) -> tuple[Any, bool]:
    """Ray, and whether it was started here."""
    try:
        import ray
    except ImportError as error:
        raise UsageError("--engine ray needs Ray", hint="pip install 'hrmdoc[ray]'") from error
    if ray.is_initialized():
        return ray, False
    import os

    here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"the Ray cluster cannot be reached: {error}") from error
    return ray, True


def _done(ray: Any, reference: Any, item: Item) -> Done:
    """What became of a task."""
    try:
        done: Done = ray.get(reference)
    except ray.exceptions.RayError as error:
        what = f"the worker that examined it ended: {type(error).__name__}"
        return Done(item.number, failed(item.group.folder, what), lost=True)
    return done


def _late(ray: Any, under_way: dict[Any, tuple[Item, float]], limits: Limits) -> Iterator[Done]:
    """Ends tasks that have had their time, and as long again to be begun."""
    now = time.monotonic()
    for reference, (item, begun) in list(under_way.items()):
        if now - begun > 2 * limits.time_for(item):
            del under_way[reference]
            ray.cancel(reference, force=True)
            what = f"examining it took more than {duration(limits.time_for(item))} and was ended"
            yield Done(item.number, failed(item.group.folder, what), lost=True)
