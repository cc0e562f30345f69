"""Checkpoints that are complete or absent, never half, and that cannot run code when they are loaded.

A checkpoint is a folder `step_<N>` with `state.pt` (tensors and plain values only) and `meta.json`:
`{"schema": "hrmdoc.checkpoint/1", "step", "time", "sha256", "bytes", "finite", "lm_loss"}`. It is written
beside its final name, flushed to disk and renamed, so a name without a dot is always whole. `finite` says
whether every weight was a number. A split model (FSDP) has its tensors in `shards/`, whose files and
checksums are in `parts`; a process reads those that it keeps, or all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import InputError

from ..rundir.files import fsync_folder, write_atomic

SCHEMA = "hrmdoc.checkpoint/1"
SHARDS, WEIGHTS = "shards", "state.pt"
RANKED_BY = ("exact_accuracy", "lm_loss")
State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of a checkpoint without loading it. `lm_loss` is None when no finite value was logged;
    `evaluated` are metrics of the test split, where it was scored at that step."""

    step: int
    time: float
    sha256: str
    bytes: int
    finite: bool
    lm_loss: float | None = None
    schema: str = SCHEMA
    parts: dict[str, str] = field(default_factory=dict)
    evaluated: dict[str, float] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, float, int]:
        """How good it is beside others that were evaluated: by whole puzzles solved, then by the loss."""
        return self.evaluated["exact_accuracy"], -self.evaluated["lm_loss"], self.step


def save(
    folder: Path,
    step: int,
    state: State,
    *,
    finite: bool,
    lm_loss: float | None = None,
    evaluated: Mapping[str, float] | None = None,
    write: Callable[[State, Any], None] = torch.save,
    write_parts: Callable[[Path], None] | None = None,
) -> Path:
    """Writes `folder/step_<step>` atomically; an older one of that step is replaced.

    Args:
        write_parts: writes what is split into the folder that it is given.

    Raises:
        OSError: the disk is full or not writable; nothing with a final name was touched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"step_{step}"
    part = folder / f".step_{step}.{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir()
        weights = part / WEIGHTS
        with weights.open("wb") as file:
            write(state, file)
            file.flush()
            os.fsync(file.fileno())
        if write_parts is not None:
            write_parts(part / SHARDS)
            fsync_folder(part / SHARDS)
        parts = {path.name: _sha256(path) for path in sorted((part / SHARDS).glob("*"))}
        meta = Meta(
            *(step, time.time(), _sha256(weights), weights.stat().st_size, finite, lm_loss),
            parts=parts,
            evaluated=_numbers(evaluated or {}),
        )
        write_atomic(part / "meta.json", json.dumps(asdict(meta)) + "\n", durable=True)
        fsync_folder(part)
        if final.exists():
            shutil.rmtree(final)
        part.rename(final)
        fsync_folder(folder)
    except (OSError, RuntimeError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _disk_error(error) from error
    return final


def _numbers(evaluated: Mapping[str, float]) -> dict[str, float]:
    """The metrics that checkpoints are ranked by; none of them unless all are numbers."""
    kept = {name: evaluated.get(name, math.nan) for name in RANKED_BY}
    return kept if all(math.isfinite(value) for value in kept.values()) else {}


def _disk_error(error: BaseException) -> OSError:
    """The disk's own error. torch hides it behind a RuntimeError about the archive that it could not
    finish."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, OSError):
        inner = inner.__cause__ or inner.__context__
    return OSError(str(error).splitlines()[0]) if inner is None else OSError(inner.errno, inner.strerror)


def load(
    path: Path, device: torch.device | str = "cpu", like: Mapping[str, torch.Tensor] | None = None
) -> tuple[State, Meta]:
    """The state and description of the checkpoint at `path`.

    Only tensors and plain values are taken (`weights_only`): a checkpoint that would run code is refused.

    Args:
        like: the tensors of a split model (`parts.parts_of`), if its parts are wanted alone where the
            checkpoint is in parts.

    Raises:
        InputError: it is incomplete, its checksum differs, or it holds anything else.
    """
    meta, weights = check(path), path / WEIGHTS
    try:
        state = torch.load(weights, map_location=device, weights_only=True)
    except OSError as error:
        raise InputError(f"the checkpoint cannot be read: {error.strerror}", file=weights) from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            "the checkpoint holds something else than tensors and plain values, and was not loaded",
            file=weights,
            hint="load only checkpoints that hrmdoc wrote",
        ) from error
    if meta.parts:
        from .part_files import read
        from .parts import join

        state = join(state, {name: tensor.to(device) for name, tensor in read(path / SHARDS, like).items()})
    return state, meta


def check(path: Path) -> Meta:
    """The description of the checkpoint at `path`, whose files were read and are as they were written.

    Raises:
        InputError: they are not, or it is no checkpoint.
    """
    meta = read_meta(path)
    for file, digest in {
        path / WEIGHTS: meta.sha256,
        **{path / SHARDS / name: digest for name, digest in meta.parts.items()},
    }.items():
        try:
            same = _sha256(file) == digest
        except OSError as error:
            raise InputError(f"the checkpoint cannot be read: {error.strerror}", file=file) from error
        if not same:
            raise InputError("the checkpoint is damaged: its checksum differs from meta.json", file=file)
    return meta


def read_meta(path: Path) -> Meta:
    """The description of the checkpoint at `path`.

    Raises:
        InputError: there is none, or it is not one of ours.
    """
    file = path / "meta.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["schema"] != SCHEMA:
            raise InputError(f"unknown checkpoint schema {found['schema']!r}", file=file)
        meta = Meta(**found)
        names_ok = isinstance(meta.parts, dict) and all(Path(name).name == name for name in meta.parts)
        texts_ok = isinstance(meta.sha256, str) and isinstance(meta.step, int) and isinstance(meta.bytes, int)
        if not (texts_ok and names_ok and _numbers(meta.evaluated) == meta.evaluated):
            raise TypeError
    except OSError as error:
        raise InputError(
            "this is not a checkpoint: meta.json cannot be read", file=path, hint="name a step_<N> folder"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("meta.json does not describe a checkpoint", file=file) from error
    return meta


def all_finite(tensors: Iterator[torch.Tensor]) -> bool:
    """Whether every floating-point element is a number. One transfer from the device."""
    flags = [torch.isfinite(tensor).all() for tensor in tensors if tensor.is_floating_point()]
    return bool(torch.stack(flags).all()) if flags else True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
