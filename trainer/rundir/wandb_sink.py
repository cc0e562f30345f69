"""Weights & Biases beside the event file: `wandb=true` sends to its server, `wandb=offline` only keeps files
to sync later."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from hrmdoc.errors import ConfigError

from .directory import Scalars
from .tb import Row

WORDS = (
    "amber",
    "bold",
    "brisk",
    "calm",
    "clear",
    "deft",
    "early",
    "fair",
    "keen",
    "lucid",
    "mild",
    "quick",
    "sage",
    "swift",
)
THINGS = (
    "aspen",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "lagoon",
    "maple",
    "otter",
    "raven",
    "tarn",
)


def project_of(data_path: str) -> str:
    """HRM's project name: the data's folder, with a capital, and `ACT-torch`."""
    return f"{data_path.rstrip('/').replace(':', '/').rpartition('/')[2].capitalize()} ACT-torch"


def run_of(arch_name: str, run_id: str) -> str:
    """HRM's run name: the model and two words, here drawn from the run's id so that a resumed run keeps its
    name."""
    number = int.from_bytes(run_id.encode()[:8].ljust(8, b"\0"), "big") * 2654435761 >> 7
    word, thing = WORDS[number % len(WORDS)], THINGS[number // len(WORDS) % len(THINGS)]
    return f"{arch_name.rpartition('@')[2]} {word}-{thing}"


class WandbSink:
    """Scalars for W&B, handed over by a thread: a slow network holds up no step, and one that fails is
    reported once.

    Args:
        mode: `online` or `offline`.
        folder: where W&B keeps its files; they are read by hrmdoc as part of the run.
        say: receives the one line that reports a failure.

    Raises:
        ConfigError: the package is missing, or W&B does not start.
    """

    def __init__(
        self,
        mode: Literal["online", "offline"],
        folder: Path,
        project: str,
        name: str,
        config: dict[str, Any],
        say: Any,
    ) -> None:
        try:
            import wandb
        except ModuleNotFoundError as error:
            raise ConfigError(
                "wandb= needs the package wandb, which is not installed", hint="pip install wandb"
            ) from error
        self.error: OSError | None = None
        self._say = say
        os.environ.setdefault("WANDB_SILENT", "true")
        try:
            self._run: Any = wandb.init(
                project=project,
                name=name,
                config=config,
                dir=str(folder),
                mode=mode,
                resume="allow",
                id=_id(folder),
            )
        except Exception as error:  # its errors share no base class over its releases
            hint = "wandb login, or wandb=offline"
            raise ConfigError(f"W&B did not start: {str(error).splitlines()[0]}", hint=hint) from error
        self._rows: queue.SimpleQueue[Iterable[Row] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._drain, name="wandb", daemon=True)
        self._thread.start()

    def write(self, rows: Iterable[Row]) -> None:
        """Queues `rows`. W&B keeps the time of its own."""
        self._rows.put(rows)

    def flush(self) -> None:
        """Waits for nothing: W&B writes from a process of its own, which outlives this one."""

    def close(self) -> None:
        """Hands over what is queued and ends the W&B run."""
        if self._thread.is_alive():
            self._rows.put(None)
            self._thread.join()
            self._attempt(self._run.finish)

    def _drain(self) -> None:
        while (rows := self._rows.get()) is not None:
            for row in rows:
                self._attempt(self._run.log, dict(row.values), step=row.step)

    def _attempt(self, call: Any, *args: Any, **kwargs: Any) -> None:
        try:
            call(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # a sink must not end a run, whatever it raises
            if self.error is None:
                self.error = OSError(str(error))
                self._say(f"warning: W&B failed: {error}; training goes on")


class Tee:
    """Gives scalars to several sinks; the first one's error counts."""

    def __init__(self, first: Scalars, *others: Scalars) -> None:
        self._sinks = (first, *others)

    @property
    def error(self) -> OSError | None:
        return self._sinks[0].error

    def write(self, rows: Iterable[Row]) -> None:
        for sink in self._sinks:
            sink.write(rows)

    def flush(self) -> None:
        for sink in self._sinks:
            sink.flush()

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


def _id(folder: Path) -> str:
    """W&B takes letters, digits and dashes."""
    return "".join(letter if letter.isalnum() else "-" for letter in folder.name)[:64]
