"""Writes datasets in HRM's layout (see `dataset`)."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .info import DataInfo


def write_split(
    path: str | Path,
    split: str,
    info: DataInfo,
    inputs: NDArray[np.uint8] | NDArray[np.uint16],
    labels: NDArray[np.uint8] | NDArray[np.uint16],
    *,
    group_indices: NDArray[np.int64] | None = None,
    puzzle_indices: NDArray[np.int64] | None = None,
    puzzle_identifiers: NDArray[np.int64] | None = None,
) -> None:
    """Writes one split with the single set 'all'.

    Args:
        info: vocabulary, sequence length and special tokens; the counts are filled in from the arrays.
        inputs, labels: [examples, seq_len].
        group_indices, puzzle_indices: offsets; by default every example is a puzzle and every puzzle a group.
        puzzle_identifiers: by default 0, the blank one.
    """
    puzzle_indices = np.arange(len(inputs) + 1) if puzzle_indices is None else puzzle_indices
    puzzles = len(puzzle_indices) - 1
    group_indices = np.arange(puzzles + 1) if group_indices is None else group_indices
    puzzle_identifiers = np.zeros(puzzles, np.int64) if puzzle_identifiers is None else puzzle_identifiers
    folder = Path(path) / split
    folder.mkdir(parents=True, exist_ok=True)
    token = np.uint8 if info.vocab_size <= 256 else np.uint16
    arrays: dict[str, NDArray[Any]] = {
        "inputs": inputs.astype(token, copy=False),
        "labels": labels.astype(token, copy=False),
        "puzzle_identifiers": puzzle_identifiers.astype(np.int32),
        "puzzle_indices": puzzle_indices.astype(np.int32),
        "group_indices": group_indices.astype(np.int32),
    }
    for kind, array in arrays.items():
        np.save(folder / f"all__{kind}.npy", array)
    facts = asdict(info) | {
        "total_groups": len(group_indices) - 1,
        "mean_puzzle_examples": len(inputs) / max(1, puzzles),
        "sets": ["all"],
    }
    (folder / "dataset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def write_identifiers(path: str | Path, names: Sequence[str] = ("<blank>",)) -> None:
    """Writes the names of the puzzle identifiers; the first is the blank one."""
    (Path(path) / "identifiers.json").write_text(json.dumps(list(names)) + "\n", encoding="utf-8")


@contextmanager
def publish(output: str | Path) -> Iterator[Path]:
    """Gives a folder to write a dataset into and moves it to `output` when the block ends well: complete or
    absent.

    An older dataset there is replaced; what another process put there in the meantime is kept.
    """
    target = Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield building
        building.chmod(0o755)
        if _is_dataset(target):
            shutil.rmtree(target)
        try:
            building.rename(target)
        except OSError as error:
            if not _is_dataset(target):
                raise InputError(f"the dataset cannot be put here: {error.strerror}", file=target) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _is_dataset(folder: Path) -> bool:
    return (folder / "train" / "dataset.json").is_file()
