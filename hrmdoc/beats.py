"""Signs of life of a training run, written by itself: a file, or a key in Redis that expires, so that silence
shows even where nobody asks (extra `redis`).

    import hrmdoc
    with hrmdoc.heartbeat("runs/a") as beat:  # or "redis://host:6379/0#a"
        for step, batch in enumerate(batches):
            ...
            beat(step)
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urldefrag, urlsplit

from hrmdoc.errors import ConfigError
from hrmdoc.paths import open_kept, replace_file
from hrmdoc.text.redact import redact

VARIABLE = "HRMDOC_HEARTBEAT"
"""Says where heartbeats go: an address may hold a password, which belongs into no file."""
EXPIRES_S = 120
"""Seconds without a sign after which a run is taken for dead or stuck, and its key is gone."""
ENDED = ("finished", "stopped", "crashed")
"""States after which no sign is missed."""
KEPT_S = 7 * 86_400
"""Seconds for which Redis keeps that a run has ended."""
TIMEOUT_S = 2.0
LONGEST = 1 << 16
"""Bytes of a sign that are looked at."""
_SCHEMES = ("redis", "rediss", "unix")


class Target(Protocol):
    """Where signs go. Either method may raise any error of its own."""

    def write(self, text: str, expires_s: int) -> None: ...
    def read(self) -> Sign | None: ...


class Sign(NamedTuple):
    """What stands at a place: its words, their age in seconds, and what is another one for each sign."""

    text: str
    age_s: float
    stamp: object


class _File:
    """A file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str, expires_s: int) -> None:
        """Replaces it; a file expires by its age."""
        del expires_s
        if not replace_file(self._path, text + "\n"):
            raise OSError(f"{self._path} cannot be written")

    def read(self) -> Sign | None:
        """What stands there; a file of other words than ours gives a sign by being written."""
        try:
            with open_kept(self._path, linked=True) as file:
                status = os.fstat(file.fileno())
                text = file.read(LONGEST).decode("utf-8", "replace")
            return Sign(text, max(0.0, time.time() - status.st_mtime), status.st_mtime_ns)
        except FileNotFoundError:
            return None


class _Redis:
    """A key with an expiry."""

    def __init__(self, url: str, key: str) -> None:
        self._key, self._client = key, _client(url)

    def write(self, text: str, expires_s: int) -> None:
        """Sets the key."""
        self._client.set(self._key, text, ex=expires_s)

    def read(self) -> Sign | None:
        """The value, and its age in seconds by the server's clock."""
        value: Any = self._client.get(self._key)
        left: Any = self._client.pttl(self._key)
        if value is None:
            return None
        age = EXPIRES_S - left / 1000 if left > 0 else 0.0
        return Sign(value[:LONGEST].decode("utf-8", "replace"), max(0.0, age), value)


@cache
def _client(url: str) -> Any:
    """One for all keys of a Redis: each keeps connections of its own."""
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    limits: dict[str, Any] = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S}
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0), **limits)


def target(where: str, name: str) -> Target:
    """The place that `where` names: a folder, a file `*.json`, or `redis://HOST:PORT/DB#KEY`. Without a key
    that of the run called `name`.

    Raises:
        ConfigError: it is no such place, or Redis is not installed.
    """
    if not is_redis(where):
        if "://" in where:
            raise ConfigError(
                f"no heartbeat can go to {place(where)}", hint="a folder, or redis://HOST:PORT/0#KEY"
            )
        return _File(file_of(Path(where)))
    if importlib.util.find_spec("redis") is None:
        raise ConfigError("heartbeats in Redis need the package redis", hint="pip install 'hrmdoc[redis]'")
    url, key = urldefrag(where)
    try:
        return _Redis(url, unquote(key) or f"hrmdoc:heartbeat:{name}")
    except ValueError as error:
        raise ConfigError(f"{place(where)} is no address of a Redis: {error}") from error


def file_of(path: Path) -> Path:
    """The file that a path stands for: itself, or that of a folder, which need not exist yet."""
    return path if path.suffix == ".json" or path.is_file() else path / "heartbeat.json"


def is_redis(where: str) -> bool:
    """Whether it is an address of a Redis, not a path."""
    return where.partition("://")[0] in _SCHEMES and "://" in where


def place(where: str) -> str:
    """The place as it may be shown: without user and password."""
    if "://" not in where:
        return where
    try:
        parts = urlsplit(where)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address"
    key = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}{key}"


class Heartbeat:
    """Says that a training lives, at most once a second, from a thread of its own, and only as long as it is
    called: a loop that hangs falls silent. Calling it costs well below a microsecond; it never raises.

    Args:
        to: where signs go; None drops them.
        say: gets a line once when a sign could not be written, and again after one could.
        every_s: seconds between two signs at least.
    """

    def __init__(self, to: Target | None, say: Callable[[str], None], every_s: float = 1.0) -> None:
        self._to, self._say, self._every_s = to, say, every_s
        self._step: int | None = None
        self._count = self._written = 0
        self._state = "running"
        self._failing = False
        self._begin()

    def __call__(self, step: int | None = None) -> None:
        """A sign of life, with the step that training is at."""
        self._step = step
        self._count += 1
        if self._pid != os.getpid():
            self._begin()  # a fork keeps no threads

    def close(self, state: str = "finished") -> None:
        """The run has ended: silence is none from now on."""
        if self._done.is_set():
            return
        self._state = state if state in ENDED else "finished"
        self._done.set()
        atexit.unregister(self._at_exit)
        if self._thread.is_alive():
            self._thread.join(2 * TIMEOUT_S)

    def __enter__(self) -> Heartbeat:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close("finished" if kind is None else "crashed")

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._count += 1
        self._done = threading.Event()  # a fork may have copied a lock that nobody holds any more
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)
        if self._to is not None:
            try:
                self._thread.start()
                atexit.register(self._at_exit)
            except RuntimeError as error:  # no thread is left, or the interpreter ends
                self._say(str(error))
                self._to = None

    def _at_exit(self) -> None:
        """A process that ends by itself hangs no more, whether or not it said so."""
        self.close("crashed" if getattr(sys, "last_value", None) is not None else "finished")

    def _work(self) -> None:
        while True:
            ended = self._done.is_set()
            if self._count != self._written or ended:
                self._written = self._count
                self._write(KEPT_S if ended else EXPIRES_S)
            if ended:
                return
            self._done.wait(self._every_s)

    def _write(self, expires_s: int) -> None:
        sign = {
            "time": time.time(),
            "step": self._step,
            "pid": self._pid,
            "state": self._state,
            "host": platform.node(),
        }
        try:
            assert self._to is not None
            self._to.write(json.dumps(sign), expires_s)
            self._failing = False
        except Exception as error:  # noqa: BLE001 (whatever a client raises: training goes on)
            if not self._failing:
                self._say(redact(f"{type(error).__name__}: {error}"))
            self._failing = True


def heartbeat(where: str | os.PathLike[str] | None = None, *, name: str | None = None) -> Heartbeat:
    """A heartbeat for any training loop: call what it returns at each step. It raises nothing; what is wrong
    is said in the log `hrmdoc`.

    Args:
        where: a folder (its `heartbeat.json`), or `redis://HOST:PORT/DB#KEY`; by default what the variable
            HRMDOC_HEARTBEAT says.
        name: of the run, for a key in Redis; by default that of the working folder.
    """
    import logging  # those who examine a run ask when it ended, write none, and start sooner

    log = logging.getLogger("hrmdoc")

    def say(words: str) -> None:
        log.warning("hrmdoc: heartbeat: %s; training goes on", words)

    found: Target | None = None
    try:
        said = os.fspath(where) if where is not None else os.environ.get(VARIABLE, "")
        if said:
            found = target(said, name or Path.cwd().name)
        else:
            say(f"nowhere to write to: name a folder, or set {VARIABLE}")
    except Exception as error:  # noqa: BLE001 (no mistake here may end a training)
        say(redact(str(error)))
    return Heartbeat(found, say)
