"""A command of the user's, which gets the alert as JSON on standard input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from contextlib import suppress

from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets.access import Access

TIMEOUT_S = 10.0


def send(message: Message, access: Access) -> Answer:
    """Runs the command; it has taken the message when it ends with 0. One that does not end is killed with
    all that it started."""
    words = shlex.split(access.command)
    body = json.dumps(message.plain()).encode()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
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
    return Answer(f"{words[0]} exited with {process.returncode}" if process.returncode else "")
