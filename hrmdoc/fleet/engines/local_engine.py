"""Runs examined by processes of this machine, one pool of one process for each core.

The standard library's pool breaks as a whole when one of its processes dies. A pool of one that breaks costs
the run that broke it, and a new one takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

import psutil

from hrmdoc import systems
from hrmdoc.fleet.engines import Limits
from hrmdoc.fleet.summary import failed
from hrmdoc.fleet.work import Done, Item, Request, examine, prepared
from hrmdoc.text.clean import duration

_LEAST_MEMORY = 2 << 30
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_requested: list[Request] = []
"""In a process of a pool: what is asked of every run."""


def run(items: Sequence[Item], request: Request, jobs: int, limits: Limits) -> Iterator[Done]:
    """Examines every run; one that ends its process, or takes too long, is reported as such."""
    waiting = deque(items)
    lanes = [_Lane(request, limits, _share(limits, jobs)) for _ in range(max(1, min(jobs, len(items))))]
    busy: dict[Future[Done], _Lane] = {}
    try:
        with _one_thread_each():
            for lane in lanes:
                busy[lane.begin(waiting.popleft())] = lane
            while busy:
                ended, _ = wait(busy, return_when=FIRST_COMPLETED)
                for future in ended:
                    lane = busy.pop(future)
                    done = lane.end(future)
                    if waiting:
                        busy[lane.begin(waiting.popleft())] = lane
                    yield done
    finally:
        for lane in lanes:
            lane.close()


class _Lane:
    """A process, and the run that it is at."""

    def __init__(self, request: Request, limits: Limits, memory: int) -> None:
        self._request, self._limits, self._memory = request, limits, memory
        self._pool: ProcessPoolExecutor | None = None
        self._process: BaseProcess | None = None
        self._item: Item | None = None
        self._begun = 0.0

    def begin(self, item: Item) -> Future[Done]:
        """Sets out on a run."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1,
                mp_context=_context(),
                initializer=_started,
                initargs=(self._request, self._memory, dict(os.environ)),
            )
        self._item, self._begun = item, time.monotonic()
        with systems.interrupts_held():
            future = self._pool.submit(_examined, item, self._limits.time_for(item))
        self._process = next(iter(self._pool._processes.values()), None)
        return future

    def end(self, future: Future[Done]) -> Done:
        """What became of it."""
        assert self._item is not None
        try:
            done = future.result()
        except BrokenProcessPool:
            done = Done(self._item.number, failed(self._item.group.folder, self._why()), lost=True)
            self.close()
        except Exception as error:  # noqa: BLE001 (what cannot be sent between processes is this run's own fault)
            what = f"a fault of hrmdoc itself: {type(error).__name__}: {error}"
            done = Done(self._item.number, failed(self._item.group.folder, what), lost=True)
        if done.memory > self._limits.recycle:
            self.close()
        return done

    def _why(self) -> str:
        """Why the process ended."""
        assert self._item is not None
        spent, allowed = time.monotonic() - self._begun, self._limits.time_for(self._item)
        if spent >= allowed:
            return f"examining it took more than {duration(allowed)} and was ended"
        assert self._pool is not None
        self._pool.shutdown(wait=True)  # its thread reads how the process ended, which can be read only once
        code = None if self._process is None else self._process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
            likely = ", as the system does where memory runs out" if name == "SIGKILL" else ""
            return f"the process that examined it was ended by {name}{likely}"
        return "the process that examined it ended without a word"

    def close(self) -> None:
        """Ends the process, wherever it is."""
        if self._pool is None:
            return
        process, pool = self._process, self._pool
        self._pool = self._process = None
        if process is not None:
            with suppress(ValueError, OSError):
                process.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _context() -> BaseContext:
    """Processes that inherit neither threads nor locks; where it exists, one server forks them all, with the
    modules loaded."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hrmdoc.fleet.preload"])
    resource_tracker.ensure_running()  # the fork server starts it, and then lets interrupts through again
    return context


def _share(limits: Limits, jobs: int) -> int:
    """Bytes of address space for each process."""
    if limits.memory:
        return limits.memory
    return max(_LEAST_MEMORY, psutil.virtual_memory().total // max(1, jobs))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started within get no threads of linear algebra: each has one core."""
    before = os.environ.get(_BLAS_THREADS)
    os.environ.setdefault(_BLAS_THREADS, "1")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_BLAS_THREADS, None)


def _started(request: Request, memory: int, environment: dict[str, str]) -> None:
    """Prepares a process for its runs. An interrupt of the user is the parent's to handle; the environment is
    that of now, not of when the server that forks was started."""
    import gc
    import warnings

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with suppress(ImportError, ValueError, OSError):
        import resource  # Windows has no such limits

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    os.environ.update(environment)
    gc.set_threshold(200_000)
    warnings.simplefilter("ignore")
    prepared(request.settings)
    _requested[:] = [request]


def _examined(item: Item, seconds: float) -> Done:
    """Examines a run; the process is ended when its time is over, whatever it is at then."""
    systems.end_after(seconds)
    try:
        return examine(item, _requested[0])
    finally:
        systems.end_after(0.0)
