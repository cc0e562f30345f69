"""Work in a process of its own: what it changes is gone with it, and it ends in time."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def apart(work: Callable[[], Any], limit_s: float = 0.0) -> Callable[[], Any]:
    """Begins the work in a child, quietly and with a folder of its own for temporary files; what is returned
    waits for the answer: None where the child did not come to its end, or not within the limit (seconds, 0:
    none). With a limit, what the child started ends with it."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    answer = Path(folder.name, "answer")
    child = os.fork()
    if not child:
        try:
            _settle(Path(folder.name), limit_s)
            answer.write_bytes(pickle.dumps(work()))
        finally:
            os._exit(0)

    def answered() -> Any:
        os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        try:
            return pickle.loads(answer.read_bytes())
        except (OSError, EOFError):
            return None
        finally:
            folder.cleanup()

    return answered


def _settle(folder: Path, limit_s: float) -> None:
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    files = folder / "files"
    files.mkdir()
    os.environ |= {"TMPDIR": str(files), "PYTEST_DEBUG_TEMPROOT": str(files)}
    tempfile.tempdir = None
    if limit_s:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
