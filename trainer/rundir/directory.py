"""The run directory: everything that a run writes, and all that hrmdoc reads of it.

    run.json        what runs: schema, id, command, versions, device, seed, data hash, sizes; `state` says how
    it is going config.yaml     the resolved configuration events.out.tfevents.*  scalars events.jsonl
    {"time", "event", "step", ...} a line; `event` is started, resumed, evaluated, checkpoint,
    checkpoint_failed,
                    nonfinite, rollback, skipped, early_stop, action, warning, exception or ended
    train.log       `step 120/500 | lm_loss 2.1000 | grad_norm 0.8 | lr 1.0e-04 | exact 0.00 | 52.1 it/s`
    heartbeat.json  {"time", "step", "pid", "state"}, replaced at most once a second, from the training loop
    itself checkpoints/    step_<N> control/        actions for the live run rank<N>.log     what each process
    of several saw of a step, see `ranklog`

Metrics go only where training can go on without them: a disk that fails is reported once in each file's stead
and never ends the run.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from hrmdoc.beats import Heartbeat, target
from hrmdoc.errors import ConfigError
from hrmdoc.locks import Lock, acquire

from .files import write_atomic
from .tb import EventFile, Row

SCHEMA = "hrmdoc.run/1"
State = Literal["running", "finished", "stopped", "crashed"]
LOCK = ".lock"
WAIT_S = 3.0  # a run that is started again may meet the last moments of the one before
HEARTBEAT_S = 1.0
BUSY_LIMIT_S = 1800.0  # no model takes longer to compile
Say = Callable[[str], None]


class Scalars(Protocol):
    """Where numbers go. `write` never waits and never raises; `flush` waits for the disk; `error` says if
    the place failed."""

    @property
    def error(self) -> OSError | None: ...
    def write(self, rows: Iterable[Row]) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


def choose(run_dir: str | None, run_name: str | None, data_path: str, root: Path = Path("runs")) -> Path:
    """Where a new run goes: `run_dir`, or `runs/<run_name>`, or a name of the data and the time.

    Raises:
        ConfigError: that folder holds a run already.
    """
    if run_dir or run_name:
        path = Path(run_dir) if run_dir else root / str(run_name)
        if (path / "run.json").exists():
            raise ConfigError(
                "there is a run in this folder already", file=path, hint=f"resume={path} goes on with it"
            )
        return path
    data = data_path.rstrip("/").replace(":", "/").rpartition("/")[2] or "run"
    stem = f"{data}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    path, number = root / stem, 2
    while path.exists():
        path, number = root / f"{stem}-{number}", number + 1
    return path


def claim(*folders: Path, option: str = "run_dir") -> list[Lock]:
    """Makes the folders where they are missing and keeps every other trainer out of them, until the locks are
    released or this process ends.

    Args:
        folders: of the run.
        option: what names another folder, for the hint.

    Raises:
        ConfigError: another process trains there, or a folder cannot be written.
    """
    locks = []
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = acquire(folder / LOCK, WAIT_S)
        except OSError as error:
            raise ConfigError(
                f"cannot write the run: {error.strerror}", file=folder, hint=f"choose another {option}"
            ) from error
        if lock is None:
            raise ConfigError(
                "another process is training in this folder",
                file=folder,
                hint=f"end that run first, or choose another {option}"
                + " (and checkpoint_path)" * (option == "run_dir"),
            )
        locks.append(lock)
    return locks


class RunDir:
    """Writes one run directory.

    Args:
        path: the folder; made if missing.
        say: receives each text line of the log as well, for the terminal.
        locks: what keeps other trainers out, released with `close`.
    """

    def __init__(self, path: Path, say: Say, locks: Iterable[Lock] = ()) -> None:
        self.path = path
        self._locks = list(locks)
        self.checkpoints, self.control = path / "checkpoints", path / "control"
        self.log_name = "train.log"
        try:
            for folder in (path, self.checkpoints, self.control):
                folder.mkdir(parents=True, exist_ok=True)
            self.scalars: Scalars = EventFile(path)
        except OSError as error:
            raise ConfigError(
                f"cannot write the run: {error.strerror}", file=path, hint="choose another run_dir"
            ) from error
        self._say = say
        self._facts: dict[str, Any] = {}
        self._beat = -math.inf
        self.alive = (time.monotonic(), 0)
        self._beats: Heartbeat | None = None
        self._complained: set[str] = set()
        if path.parent.name == "runs":
            self._link(path.parent / "latest")

    def describe(self, config_yaml: str, facts: Mapping[str, Any]) -> None:
        """Writes config.yaml and run.json. `facts` are the keys of run.json beyond schema, id, pid, started
        and state."""
        self._guard("config.yaml", lambda: write_atomic(self.path / "config.yaml", config_yaml))
        self._facts = {
            "schema": SCHEMA,
            "id": uuid.uuid4().hex,
            "name": self.path.name,
            "started": time.time(),
            "pid": os.getpid(),
            "command": sys.argv,
            **facts,
        }
        self.state("running")

    def know(self, facts: Mapping[str, Any]) -> None:
        """Adds to run.json what became known of the run."""
        self._facts |= facts
        self.state("running")

    def state(self, state: State) -> None:
        """Replaces the state in run.json."""
        text = json.dumps({**self._facts, "state": state}, indent=1) + "\n"
        self._guard("run.json", lambda: write_atomic(self.path / "run.json", text))

    def event(self, event: str, step: int, **detail: Any) -> None:
        """Appends one line to events.jsonl. NaN and infinities become null, as JSON has neither."""
        record = {"time": time.time(), "event": event, "step": step, **detail}
        line = json.dumps(_finite(record), ensure_ascii=False) + "\n"
        self._guard("events.jsonl", lambda: self._append("events.jsonl", line))

    def log(self, line: str) -> None:
        """Appends to the log and shows it on the terminal."""
        self.append(self.log_name, line)
        self._say(line)

    def warn(self, step: int, warning: str) -> None:
        """An event and a line of the log that report something odd."""
        self.event("warning", step, message=warning)
        self.log(f"warning: {warning}")

    def append(self, name: str, line: str) -> None:
        """Appends a line to the file `name` of the run."""
        self._guard(name, lambda: self._append(name, line + "\n"))

    def heartbeat(self, step: int, state: State = "running", *, force: bool = False) -> None:
        """Replaces heartbeat.json, at most once a second. Call it from the loop: a loop that hangs must fall
        silent."""
        now = time.monotonic()
        self.alive = now, step
        if self._beats is not None:
            self._beats(step)
        if now - self._beat < HEARTBEAT_S and not force:
            return
        self._beat = now
        if (error := self.scalars.error) is not None:
            self._complain("events.out.tfevents.*", error)
        text = json.dumps({"time": time.time(), "step": step, "pid": os.getpid(), "state": state}) + "\n"
        self._guard("heartbeat.json", lambda: write_atomic(self.path / "heartbeat.json", text))

    def beat_to(self, where: str) -> None:
        """Gives signs of life there too: in a folder, or a key of Redis that expires.

        Raises:
            ConfigError: it is no such place, or Redis is not installed.
        """
        to = target(where, self.path.name)
        self._beats = Heartbeat(to, lambda words: self._say(f"warning: heartbeat: {words}; training goes on"))

    @contextmanager
    def busy(self, step: int, limit_s: float = BUSY_LIMIT_S) -> Iterator[None]:
        """Beats from a thread while the loop cannot, as when a model is compiled; at most `limit_s`, for that
        can hang too."""
        done = threading.Event()

        def beat() -> None:
            end = time.monotonic() + limit_s
            while not done.wait(HEARTBEAT_S) and time.monotonic() < end:
                self.heartbeat(step)

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def close(self, step: int, state: State) -> None:
        """Writes the last heartbeat and state, and closes the event file."""
        self.scalars.close()
        self.heartbeat(step, state, force=True)
        if self._beats is not None:
            self._beats.close(state)
        self.state(state)
        self.release()

    def release(self) -> None:
        """Leaves the folder to other trainers."""
        for lock in self._locks:
            lock.release()

    def _append(self, name: str, line: str) -> None:
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(line)

    def _guard(self, name: str, write: Callable[[], None]) -> None:
        try:
            write()
            self._complained.discard(name)
        except OSError as error:
            self._complain(name, error)

    def _complain(self, name: str, error: OSError) -> None:
        """Shows the person, once until it can be written again: the log may be on the same disk."""
        if name not in self._complained:
            self._complained.add(name)
            self._say(f"warning: cannot write {self.path / name}: {error.strerror}; training goes on")

    def _link(self, link: Path) -> None:
        part = link.with_name(f".latest.{os.getpid()}")
        try:
            part.symlink_to(self.path.name, target_is_directory=True)
            part.replace(link)
        except (
            OSError
        ):  # a file system without links, or a folder of that name: the run itself does not need it
            part.unlink(missing_ok=True)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
