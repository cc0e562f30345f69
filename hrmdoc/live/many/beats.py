"""The heartbeats of many runs, read by one thread.

A place of many runs is a folder, in which each run has its own (`FOLDER/path/of/run/heartbeat.json`), or a
Redis, in which it has a key by the name of its folder (`hrmdoc:heartbeat:NAME`). A run that never gave a
sign there gives none: nothing is known of it, and nothing is missed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from urllib.parse import urldefrag

from hrmdoc.beats import is_redis, target
from hrmdoc.errors import ConfigError
from hrmdoc.live.heartbeats import EVERY_S, Heartbeats

SPARE = 50
"""A round follows the one before after this many times the CPU time of that."""


class Beats:
    """Reads the heartbeats of the runs that are followed.

    Args:
        where: the place of them all.
        say: gets a line when it cannot be read.

    Raises:
        ConfigError: it is a place of one run, or none.
    """

    def __init__(self, where: str, say: Callable[[str], None]) -> None:
        self._redis = is_redis(where)
        one = urldefrag(where).fragment if self._redis else Path(where).is_file() or where.endswith(".json")
        if one:
            hint = "name a folder that holds FOLDER/RUN/heartbeat.json, or a Redis without #KEY"
            raise ConfigError("a heartbeat of one run cannot serve all runs", hint=hint)
        target(where, "run")  # an address that cannot be one is refused now
        self._where, self._say = where, say
        self._followed: list[Heartbeats] = []
        self._failed, self._guard = False, threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeats", daemon=True)
        self._thread.start()

    def of(self, run: str, folder: str) -> Heartbeats:
        """Those of a run, read until they are closed.

        Args:
            run: its path below the root.
            folder: its folder, or its log.
        """
        path = PurePath(run) if os.path.isdir(folder) else PurePath(run).with_suffix("")
        where = self._where if self._redis else str(Path(self._where) / path)
        found = Heartbeats(target(where, path.name), self._complain, owed=False)
        with self._guard:
            self._followed.append(found)
        return found

    def close(self) -> None:
        """Reads no more."""
        self._done.set()

    def round(self) -> None:
        """Reads each once. A Redis that does not answer is asked for one run alone."""
        with self._guard:
            followed = self._followed = [one for one in self._followed if not one.closed]
        well = True
        for one in list(followed):
            if self._redis and not well:
                one.fail()
            else:
                well = one.read() and well
        self._failed = self._failed and not well

    def _complain(self, words: str) -> None:
        if not self._failed:
            self._say(words)
        self._failed = True

    def _work(self) -> None:
        pause = EVERY_S / 4
        while not self._done.wait(pause):
            began = time.thread_time()
            self.round()
            pause = max(EVERY_S, SPARE * (time.thread_time() - began))
