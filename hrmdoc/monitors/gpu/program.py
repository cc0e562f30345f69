"""What a program that knows the GPUs prints. Any program of that name on the PATH may be broken or hostile:
it gets some seconds and some room, and leaves no process behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from contextlib import suppress

from hrmdoc.monitors.sensor import Absent

PATIENCE_S = 20.0
MOST = 8 << 20
"""Bytes that are read. A machine of eight GPUs is told in some ten thousand."""


def asked(program: str, *words: str, patience: float = PATIENCE_S) -> str:
    """What a program prints.

    Raises:
        Absent: there is none, or it fails, does not answer in so many seconds, or prints without end.
    """
    if shutil.which(program) is None:
        raise Absent(program)
    try:
        process = subprocess.Popen(
            [program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise Absent(f"{program} ({type(error).__name__})") from error
    said: list[bytes] = []
    pipe = process.stdout
    assert pipe is not None
    reader = threading.Thread(target=lambda: said.append(pipe.read(MOST + 1)), name=program, daemon=True)
    reader.start()
    reader.join(patience)
    answered = bool(said)  # as it stands now: the end of the program lets the reader go on
    text = said[0] if answered else b""
    if not answered or len(text) > MOST:
        _end(process)
        raise Absent(f"{program} (it {'prints without end' if answered else 'does not answer'})")
    try:
        if process.wait(patience):
            raise Absent(f"{program} (it failed with status {process.returncode})")
    except subprocess.TimeoutExpired as error:
        _end(process)
        raise Absent(f"{program} (it does not end)") from error
    finally:
        pipe.close()
    return text.decode("utf-8", "replace").replace("\r\n", "\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program with all that it started, which may hold its output open."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait()
