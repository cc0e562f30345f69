"""Keeps what comes through a pipe in a file that can be followed, and examined again when the pipe is
gone."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from hrmdoc.errors import UsageError


def keep(log: Path) -> Callable[[Callable[[], None]], None]:
    """Opens `log` for what standard input brings.

    Returns:
        A function that starts to copy, in a thread, and calls what it is given when the input ends.

    Raises:
        UsageError: standard input is a terminal, or the file cannot be written.
    """
    if sys.stdin is None or sys.stdin.isatty():
        hint = "kubectl logs -f POD | hrmdoc watch -"
        what = "closed" if sys.stdin is None else "a terminal"
        raise UsageError(f"standard input is {what}; `watch -` wants a log piped into it", hint=hint)
    source = sys.stdin.fileno()
    try:
        file = log.open("xb", buffering=0)
    except OSError as error:
        raise UsageError(f"what comes through the pipe cannot be kept: {error.strerror}", file=log) from error

    def copy(done: Callable[[], None]) -> None:
        with file:
            while block := os.read(
                source, 1 << 16
            ):  # a buffered reader would hold its lock when the interpreter ends
                try:
                    file.write(block)
                except OSError as error:
                    print(f"hrmdoc: {log}: cannot keep more: {error.strerror}", file=sys.stderr)  # noqa: T201
                    break
        done()

    return lambda done: threading.Thread(target=copy, args=(done,), daemon=True).start()
