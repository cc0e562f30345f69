"""A command of the user's, which gets the alert as JSON on standard input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import IO

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access

TIMEOUT_S = 10.0
_SAID = 2000
"""Bytes of the end of standard error that are looked at."""


def send(message: Message, access: Access) -> Answer:
    """Runs the command; it has taken the message when it ends with 0. One that does not end is killed with
    all that it started."""
    words = shlex.split(access.command)
    body = json.dumps(message.plain()).encode()
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            return Answer(f"{words[0]}: {error.strerror}")
        try:
            process.communicate(body, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.communicate()
            return Answer(f"{words[0]} did not end within {TIMEOUT_S:g} s")
        except OSError:
            process.wait()  # it reads nothing; its exit status counts
        return Answer(_why(words[0], process.returncode, said) if process.returncode else "")


def _why(program: str, status: int, said: IO[bytes]) -> str:
    """How it ended, and the last line of what it said."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID))
    lines = said.read(_SAID).decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{program} exited with {status}" + (f": {last}" if last else "")
