"""`run.json` and `heartbeat.json` of a run directory, see ARCHITECTURE.md."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import flatten, plain_value
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.record.records import Damage, Fact, Record, Value
from hrmdoc.text import patterns

NAME = "run_json"
TITLE = "run.json and heartbeat.json of a run directory"
WHOLE = True

_OBJECT = patterns.lazy(rb'\{\s*["}]')
_CANONICAL = {
    "seed": "seed",
    "data_hash": "data.hash",
    "data.hash": "data.hash",
    "parameters": "model.parameters",
    "trainable_parameters": "model.trainable_parameters",
    "params": "model.parameters",
    "model.parameters": "model.parameters",
    "model.trainable_parameters": "model.trainable_parameters",
    "samples": "data.samples",
    "data.samples": "data.samples",
    "examples": "data.samples",
    "total_steps": "run.total_steps",
    "world_size": "world_size",
    "device": "device.kind",
    "device.kind": "device.kind",
    "precision": "precision",
    "dtype": "precision",
    "vocab_size": "data.vocab_size",
    "data.vocab_size": "data.vocab_size",
    "seq_len": "data.seq_len",
    "data.seq_len": "data.seq_len",
    "groups": "data.groups",
    "cpu_count": "env.cpu_count",
    "warmup_steps": "schedule.warmup_steps",
    "framework": "run.framework",
    "kind": "run.kind",
    "git_commit": "run.commit",
    "commit": "run.commit",
    "id": "run.id",
    "pid": "run.pid",
    "host": "run.host",
    "state": "run.state",
    "config_source": "run.config_source",
    "classes": "data.classes",
    "gpu_memory_gib": "device.gpu_memory_gib",
    "threads": "env.omp_num_threads",
    "deterministic": "deterministic",
    "device_memory_gib": "device.gpu_memory_gib",
    "plan.num_workers": "data.num_workers",
    "plan.pin_memory": "data.pin_memory",
    "plan.deterministic": "deterministic",
    "env.OMP_NUM_THREADS": "env.omp_num_threads",
}
_SCOPES = {
    "versions": "version",
    "packages": "version",
    "env": "env",
    "environment": "env",
    "config": "config",
}


def sniff(path: Path, head: bytes) -> float:
    """By its name and the schema inside."""
    if path.name == "heartbeat.json":
        return 1.0 if _OBJECT.match(head.lstrip()) else 0.0
    if path.name == "run.json" or b'"hrmdoc.run/' in head[:200]:
        return 1.0 if head.lstrip().startswith(b"{") and b"hrmdoc.run/" in head else 0.0
    return 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return json_session(context, _read)


def _read(context: Context, tree: Any) -> Iterator[Record]:
    if not isinstance(tree, dict):
        yield Damage(context.path, None, "is no mapping")
    elif "schema" in tree:
        yield from _description(context, tree)
    else:
        yield from _heartbeat(context, tree)


def _heartbeat(context: Context, tree: Mapping[str, Any]) -> Iterator[Fact]:
    for key in ("time", "step", "pid", "state"):
        if (value := plain_value(tree.get(key))) is not None:
            yield Fact(f"heartbeat.{key}", value, "run", context.path)


def _description(context: Context, tree: Mapping[str, Any]) -> Iterator[Record]:
    for key, value in flatten(tree):
        plain = _typed(value) if key == "command" else plain_value(value)
        section, _, rest = key.partition(".")
        if plain is None:
            continue
        if key in _CANONICAL:
            counted = int(plain) if isinstance(plain, str) and plain.isdigit() and section == "env" else plain
            yield Fact(_CANONICAL[key], counted, "run", context.path)
        if rest and section in _SCOPES:
            scope = _SCOPES[section]
            yield Fact(
                rest,
                plain,
                "version" if scope == "version" else "env" if scope == "env" else "config",
                context.path,
            )
        elif key not in _CANONICAL:
            yield Fact(f"run.{key}", plain, "run", context.path)


def _typed(command: Any) -> Value:
    """A command as one types it into a shell: a file of Python is run by Python, a package by its name."""
    if not isinstance(command, list) or not command:
        return plain_value(command)
    first, *rest = map(str, command)
    path = Path(first)
    if path.name == "__main__.py":
        return shlex.join(["python", "-m", path.parent.name, *rest])
    return shlex.join(["python", first, *rest] if path.suffix == ".py" else [first, *rest])
