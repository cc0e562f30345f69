"""Processes that examine runs, so that pages stay quick however large a run is, and memory is given back."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import ParamSpec, TypeVar

from hrmdoc import rulebook, systems
from hrmdoc.errors import HrmdocError
from hrmdoc.text.clean import duration

P = ParamSpec("P")
T = TypeVar("T")
TASKS = 200
"""Runs that one process examines before another takes its place."""


LONGEST_S = 120.0
"""Seconds for one run, many times what a large one needs."""
AGAIN_S = 5.0
"""Seconds after which work that took the end of its time for something else is broken off again."""


class WorkerDiedError(HrmdocError):
    """A process ended in the middle of its work, as one does that the kernel ends for its memory."""


class TooLongError(HrmdocError):
    """A piece of work was broken off, so that one run does not hold up the others."""


class Workers:
    """Some processes that wait for work.

    Args:
        number: how many.
        tasks: what each does before it is replaced.
        limit_s: seconds that a piece of work may take.
    """

    def __init__(self, number: int, tasks: int | None = TASKS, limit_s: float = LONGEST_S) -> None:
        self.number = number
        self._limit_s = limit_s
        self._tasks = tasks
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.number,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare,
            max_tasks_per_child=self._tasks,
        )

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `function` returns there.

        Raises:
            WorkerDiedError: its process ended; the next call gets another.
            TooLongError: it took more than its time, and was broken off.
        """
        pool = self._pool
        try:
            work: Callable[[], T] = partial(function, *args, **kwargs)
            return await asyncio.wrap_future(pool.submit(within, self._limit_s, work))
        except BrokenProcessPool as error:
            if pool is self._pool:
                self._pool = self._new()
            raise WorkerDiedError(
                "the process that examined it ended, probably for want of memory"
            ) from error

    def close(self) -> None:
        """Ends the processes, whatever they are at."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, if it does so in time; where there is no signal for that, the process ends."""
    if not hasattr(signal, "SIGALRM"):
        systems.end_after(seconds)
        try:
            return work()
        finally:
            systems.end_after(0.0)

    def too_long(number: int, frame: object) -> None:
        del number, frame
        raise TooLongError(f"it took more than {duration(seconds)} and was broken off")

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _prepare() -> None:
    """In the new process: ctrl-C is the server's affair, and where the server is gone this ends, too. Rules
    are loaded outside of any run's time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    rulebook.load(())


def _end_with_the_server() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
