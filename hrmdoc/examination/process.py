"""Whether the process of a run still lives, where the run says which one it was and ran on this machine."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run


def process_of(run: Run) -> Iterator[Fact]:
    """`run.process_alive`, or nothing where that cannot be known: another host, no process id, or an end that
    was told.

    A process that began after the run's last heartbeat has only inherited the number.
    """
    host, beat = run.fact("run.host"), run.fact("heartbeat.time")
    pid = run.fact("heartbeat.pid") or run.fact("run.pid")
    if host is None or pid is None or host.value != platform.node() or not isinstance(pid.value, int):
        return
    if (
        isinstance(pid.value, bool)
        or not 0 < pid.value < 2**31
        or any(event.kind == "end" for event in run.events)
    ):
        return
    import psutil

    try:
        process = psutil.Process(pid.value)
        lives = process.status() != psutil.STATUS_ZOMBIE
        inherited = (
            beat is not None
            and isinstance(beat.value, int | float)
            and process.create_time() > float(beat.value) + 1
        )
    except psutil.NoSuchProcess:
        lives = inherited = False
    except (psutil.Error, OverflowError):
        return  # it may belong to somebody else: then nothing is known
    yield Fact("run.process_alive", lives and not inherited, "run", pid.file)
