"""What POSIX systems have and others lack, in one place: flags of `open`, owners, rights, a limit of time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import signal


def flags(*names: str) -> int:
    """The flags of `os.open` by these names, without those that this system lacks; bytes stay as they are."""
    found = getattr(os, "O_BINARY", 0)
    for name in names:
        found |= getattr(os, name, 0)
    return int(found)


PLAIN = flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
"""No link is followed, no pipe waited for, and no child gets the file."""


def user() -> int:
    """Who runs this, as files state their owner; 0 where they state none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def permit(descriptor: int, mode: int) -> None:
    """Gives an open file these rights, where files have such."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def signals(*names: str) -> tuple[signal.Signals, ...]:
    """The signals of these names, without those that this system lacks."""
    import signal

    return tuple(one for one in signal.Signals if one.name in names)


def end_after(seconds: float) -> None:
    """Has this process ended in so many seconds, whatever it is at then, in C as well; 0 takes that back."""
    import faulthandler
    import signal

    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True, file=_nowhere())
    else:
        faulthandler.cancel_dump_traceback_later()


@cache
def _nowhere() -> IO[str]:
    return open(os.devnull, "w", encoding="utf-8")


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes that are started within never get the interrupt of a terminal, which goes to the whole group
    and is the parent's to handle; one that comes meanwhile reaches this thread behind it."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
