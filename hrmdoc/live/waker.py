"""Waits until something happens in some folders.

Of a run that writes several times a second every event would cost as much as the read that it calls for, and
says no more than the next poll will: while it does so, nothing is listened to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

BURST_S = 0.15
BUSY_S = 0.2
"""Seconds between two polls of a run that writes all the time."""
BUSY = 8
"""Polls in a row that found something, from which on it does."""


class Waker:
    """Waits for a change in some folders, or for a time-out. Without file events (NFS, limits) it only waits
    the time out.

    Folders below them count only when they are named: a log may lie at the top of a whole disk.
    """

    def __init__(self) -> None:
        import logging
        from threading import Event

        from watchdog import events
        from watchdog.observers import Observer

        self._changed = changed = Event()
        self._folders: set[str] = set()
        self._streak = 0
        logging.getLogger("watchdog").setLevel(logging.CRITICAL)  # it talks of its own threads at exit

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: events.FileSystemEvent) -> None:
                del event
                changed.set()

        self._handler = Handler()
        self._wanted: list[type[events.FileSystemEvent]] = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
            events.FileDeletedEvent,
            events.DirCreatedEvent,
            events.DirMovedEvent,
        ]
        """Not that a file is opened and closed, which the watch itself does at each read."""
        self._observer: BaseObserver | None = None
        with suppress(OSError, RuntimeError):  # no instance or thread is left: waiting alone finds everything
            observer = Observer()
            observer.start()
            self._observer = observer

    def listen(self, folders: Iterable[str], *, grew: bool = False) -> None:
        """Wakes for changes in these folders too. `grew`: whether the last poll found something."""
        self._streak = self._streak + 1 if grew else 0
        if self._observer is None:
            return
        if self._streak >= BUSY:
            if self._folders:
                self._folders.clear()
                self._observer.unschedule_all()
            return
        for folder in set(folders) - self._folders:
            self._folders.add(folder)
            # Polling alone finds everything, within its interval; not every name of a folder is UTF-8.
            with suppress(OSError, RuntimeError, UnicodeError):
                self._observer.schedule(self._handler, folder, event_filter=self._wanted)

    def wait(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Returns when something changed, at the latest after `seconds`; never before 0.15 s, so that bursts
        are read at once.

        `stopped` is asked twice a second: a signal handler may not set what this thread waits for.
        """
        time.sleep(min(BURST_S if self._streak < BUSY else BUSY_S, seconds))
        if self._streak >= BUSY:
            self._changed.clear()
            return
        until = time.monotonic() + seconds - BURST_S
        while (
            not stopped()
            and (rest := until - time.monotonic()) > 0
            and not self._changed.wait(min(0.5, rest))
        ):
            continue
        self._changed.clear()

    def close(self) -> None:
        """Stops listening."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=2)
