"""The heartbeats of many runs, read by one thread.

A place of many runs is a folder, in which each run has its own (`FOLDER/path/of/run/heartbeat.json`), or a
Redis, in which it has a key by its path below the root (`hrmdoc:heartbeat:path/of/run`) or, where no other
run is called so, by the name of its folder (`hrmdoc:heartbeat:run`). A run that never gave a sign there gives
none: nothing is known of it, and nothing is missed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from urllib.parse import urldefrag

from hrmdoc.beats import Sign, is_redis, target
from hrmdoc.errors import ConfigError
from hrmdoc.live.heartbeats import EVERY_S, Heartbeats

SPARE = 50
"""A round follows the one before after this many times the CPU time of that."""


class Beats:
    """Reads the heartbeats of the runs that are followed.

    Args:
        where: the place of them all.
        say: gets a line when it cannot be read.

    Attributes:
        elsewhere: the runs that other watchers follow, by their paths below the root.

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
        self._followed: list[tuple[Heartbeats, _Key | None]] = []
        self.elsewhere: tuple[str, ...] = ()
        self._failed, self._guard = False, threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeats", daemon=True)
        self._thread.start()

    def of(self, run: str, folder: str, inside: str = "") -> Heartbeats:
        """Those of a run, read until they are closed.

        Args:
            run: its path below the root.
            folder: its folder, or its log.
            inside: where its files lie in that folder, as `seed-0` of a run `x` that is alone in its sweep.
        """
        path = PurePath(run) if os.path.isdir(folder) else PurePath(run).with_suffix("")
        key = _Key(self._where, path, path / inside) if self._redis else None
        of = key or target(str(Path(self._where) / path), path.name)
        found = Heartbeats(of, self._complain, owed=False)
        with self._guard:
            self._followed.append((found, key))
        return found

    def close(self) -> None:
        """Reads no more."""
        self._done.set()

    def round(self) -> None:
        """Reads each once. A Redis that does not answer is asked for one run alone."""
        with self._guard:
            followed = self._followed = [pair for pair in self._followed if not pair[0].closed]
        self._share_names([key for _, key in followed if key is not None])
        well = True
        for one, key in list(followed):
            if key is not None and not well:
                one.fail()
            else:
                well = (one.read() or (key is not None and key.unknown)) and well
        self._failed = self._failed and not well

    def _share_names(self, keys: Sequence[_Key]) -> None:
        """Finds out which of the runs that are called alike give signs by their names alone."""
        others = [PurePath(run).name for run in self.elsewhere]
        called = Counter([*others, *(key.name for key in keys)])
        with suppress(Exception):  # the reading says what is wrong
            for key in keys:
                if called[key.name] > 1:
                    key.find_own()
        nameless = Counter([*others, *(key.name for key in keys if not key.has_own)])
        for key in keys:
            key.shared = nameless[key.name] > 1

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


class _Key:
    """The key of a run in Redis: that of its path, else that of its name.

    Attributes:
        name: of its folder.
        has_own: whether it gave a sign by its path.
        shared: whether another run that did not has the same name.
        unknown: whether the last reading could not tell whose sign it is.
    """

    def __init__(self, where: str, *paths: PurePath) -> None:
        self._path, self.name = paths[-1].as_posix(), paths[-1].name
        own = dict.fromkeys(path.as_posix() for path in paths)
        self._own = [target(where, path) for path in own if path != self.name]
        self._short = target(where, self.name)
        self.has_own = self.shared = self.unknown = False

    def write(self, text: str, expires_s: int) -> None:
        """Nothing: a watch gives no signs for others."""

    def find_own(self) -> Sign | None:
        """The sign that it gives by its path, where that is more than its name."""
        found = next((sign for one in self._own if (sign := one.read()) is not None), None)
        self.has_own = self.has_own or found is not None
        return found

    def read(self) -> Sign | None:
        """The sign of this run.

        Raises:
            LookupError: it gives none by its path, and another run has its name.
        """
        found = self.find_own()
        self.unknown = self.shared and not self.has_own
        if self.unknown:
            raise LookupError(
                f"several runs are called {self.name!r}: give each its path below the root,"
                f" as heartbeat(..., name={self._path!r})"
            )
        return found if self.has_own else self._short.read()
