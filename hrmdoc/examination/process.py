"""Whether the process of a run still lives, where the run says which one it was and ran on this machine."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from typing import Any

from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run


def process_of(run: Run) -> Iterator[Fact]:
    """`run.process_alive`, or nothing where that cannot be known: another host, no process id, or an end that
    was told."""
    host, pid = run.fact("run.host"), run.fact("heartbeat.pid") or run.fact("run.pid")
    if host is None or pid is None or host.value != platform.node() or run.end is not None:
        return
    beat = run.fact("heartbeat.time")
    lives = _lives(pid.value, math.inf if beat is None else beat.value)
    if lives is not None:
        yield Fact("run.process_alive", lives, "run", pid.file)


def _lives(pid: Any, beat: Any) -> bool | None:
    """Whether the process of that id lives, None where nobody can say. One that began after the last `beat`,
    Unix seconds, has only inherited the number."""
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 2**31:
        return None
    import psutil

    try:
        process = psutil.Process(pid)
        inherited = isinstance(beat, int | float) and process.create_time() > beat + 1
        return process.status() != psutil.STATUS_ZOMBIE and not inherited
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OverflowError):
        return None  # it may belong to somebody else
