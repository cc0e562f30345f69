"""Each part of the benchmark in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection

from benchmarks.trainer.gpu.settings import Part
from hrmdoc.errors import HrmdocError
from hrmdoc.trainer.devices.memory import out_of_memory

FORK = multiprocessing.get_context("fork")  # a new process has PyTorch loaded already


def alone(work: Callable[[], Part], seconds: float) -> Part:
    """Does `work` in a forked process that may take `seconds`; its result with a status, or why there is
    none.

    Nothing here may wake the device before: CUDA does not survive a fork.
    """
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_work, args=(work, there))
    process.start()
    there.close()
    try:
        result: Part = here.recv() if here.poll(seconds) else failed(f"not done within {seconds:.0f} s")
    except EOFError:
        process.join()
        result = failed(f"its process ended with status {process.exitcode} (negative: by that signal)")
    if process.is_alive():
        process.join(2 if result["status"] == "done" else 0)
    if process.is_alive():
        process.kill()
    process.join()
    return result


def _work(work: Callable[[], Part], there: Connection) -> None:
    try:
        result = {"status": "done", **work()}
    except HrmdocError as error:
        result = {"status": "skipped", "reason": error.what}
    except Exception as error:  # noqa: BLE001  # whatever a part dies of is its result
        why = str(error).strip().splitlines() or [""]
        result = failed(
            f"{'out of memory: ' if out_of_memory(error) else ''}{type(error).__name__}: {why[0]}"
        )
    there.send(result)


def failed(why: str) -> Part:
    """The result of a part that did not come to one."""
    return {"status": "failed", "reason": why}
