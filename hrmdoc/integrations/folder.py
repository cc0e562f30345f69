"""A run that is monitored from inside, kept as a folder that `hrmdoc watch`, `analyze` and `serve` read: see
"Run directory" in ARCHITECTURE.md."""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hrmdoc.integrations.examiner import numbers
from hrmdoc.integrations.given import Row
from hrmdoc.paths import open_added, replace_file
from hrmdoc.readers.support.flatten import flatten, plain_value
from hrmdoc.record.records import Event, Fact, Line, Record
from hrmdoc.text.redact import redact, redact_value

_STARTED = {True: "resumed", False: "started"}


class RunFolder:
    """Writes `run.json`, `metrics.jsonl` and `events.jsonl`. A disk that is full ends the record, not the
    training.

    Args:
        folder: is made where it is missing; one that holds a run already is gone on with.
        name: the id of the run.
        framework: as the monitor was told it.
        command: how the run was started; None where this process is what was started.
    """

    def __init__(self, folder: Path, name: str, framework: str, command: Sequence[str] | None = None) -> None:
        self._folder, self._name, self._framework = folder, name, framework
        self._command = list(command or (sys.executable, *sys.argv))
        self._resumed = (folder / "metrics.jsonl").exists()
        self._facts: dict[str, Any] = {}
        self._told: object = None
        self._works = True

    def write(self, given: Iterable[Row | Record], config: Mapping[str, Any]) -> None:
        """Adds what the loop gave."""
        if not self._works:
            return
        rows: list[dict[str, object]] = []
        events: list[dict[str, object]] = []
        for one in given:
            match one:
                case Row():
                    values = {name: value for name, value in numbers(one.metrics) if name not in one._fields}
                    rows.append({"step": one.step, "time": one.time, **values})
                case Event():
                    events.append(self._event(one))
                case Line():
                    events.append({"message": one.text, "time": one.time})
                case Fact(scope="run"):
                    self._facts[one.key] = one.value
                case _:
                    pass
        try:
            self._describe(config)
            self._append("metrics.jsonl", rows)
            self._append("events.jsonl", events)
        except OSError as error:
            self._works = False
            logging.getLogger("hrmdoc").warning("hrmdoc: the run is no longer recorded: %s", error)

    def _event(self, event: Event) -> dict[str, object]:
        kind = {"start": _STARTED[self._resumed], "end": "ended"}.get(event.kind, event.kind)
        return {"event": kind, "time": event.time, "detail": event.detail}

    def _describe(self, config: Mapping[str, Any]) -> None:
        """Writes `run.json` where what it says has changed. Settings that look like secrets are left out."""
        plain = {
            key: redact_value(key.rpartition(".")[2], value)
            for key, leaf in flatten(config)
            if (value := plain_value(leaf)) is not None
        }
        said = {
            "schema": "hrmdoc.run/1",
            "id": self._name,
            "framework": self._framework,
            "command": shlex.split(redact(shlex.join(self._command))),
            "pid": os.getpid(),
            "config": plain,
            **{key.removeprefix("run."): value for key, value in self._facts.items()},
        }
        if said == self._told:
            return
        self._told = said
        text = json.dumps({**said, "time": time.time()}, default=str, indent=1)
        if not replace_file(self._folder / "run.json", text):
            raise OSError(f"{self._folder / 'run.json'} cannot be written")

    def _append(self, name: str, rows: list[dict[str, object]]) -> None:
        if rows:
            with open_added(self._folder / name) as file:
                file.write("".join(json.dumps(row) + "\n" for row in rows).encode())
