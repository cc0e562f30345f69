"""The dataset on disk, in HRM's layout.

    <path>/identifiers.json                     names of the puzzle identifiers; 0 is "<blank>"
    <path>/{train,test}/dataset.json            sizes and special tokens, see `DataInfo`
    <path>/{train,test}/<set>__inputs.npy       [examples, seq_len], also <set>__labels.npy
                        <set>__puzzle_identifiers.npy  [puzzles]
                        <set>__puzzle_indices.npy      [puzzles + 1], offsets into the examples
                        <set>__group_indices.npy       [groups + 1], offsets into the puzzles
    <path>/{train,test}/problems.json           of text only: the problem of each row, see `problems`

A group is an original puzzle with its augmentations, a puzzle one of them, an example one pair of input and
label.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .info import IGNORE, DataInfo

_BUILD = "build one with `hrmdoc dataset` or give the folder that holds train/ and test/"


@dataclass(frozen=True, slots=True)
class PuzzleSet:
    """The arrays of one set; inputs and labels are memory-mapped."""

    name: str
    inputs: NDArray[Any]
    labels: NDArray[Any]
    puzzle_identifiers: NDArray[np.int64]
    puzzle_indices: NDArray[np.int64]
    group_indices: NDArray[np.int64]

    @property
    def groups(self) -> int:
        return len(self.group_indices) - 1

    @property
    def examples(self) -> int:
        return len(self.inputs)


class PuzzleData:
    """One split of a dataset, opened and checked.

    Args:
        path: the folder that holds `train/` and `test/`.
        split: 'train' or 'test'.

    Raises:
        InputError: a file is missing, damaged, or does not fit the others; names it.
    """

    def __init__(self, path: str | Path, split: str) -> None:
        self.path, self.split = Path(path), split
        self.folder = self.path / split
        if not self.folder.is_dir():
            raise InputError("there is no such folder in the dataset", file=self.folder, hint=_BUILD)
        self.info = _read_info(self.folder / "dataset.json")
        self.sets = tuple(self._open_set(name) for name in self.info.sets)

    @property
    def examples(self) -> int:
        return sum(part.examples for part in self.sets)

    def batch(
        self, part: PuzzleSet, examples: NDArray[np.int64], puzzles: NDArray[np.int64]
    ) -> dict[str, NDArray[np.int32]]:
        """The rows `examples` of `part`, which belong to `puzzles`, with the label that is to be ignored
        turned into -100."""
        inputs, labels = part.inputs[examples].astype(np.int32), part.labels[examples].astype(np.int32)
        for name, tokens in (("inputs", inputs), ("labels", labels)):
            if tokens.size and (tokens.min() < 0 or tokens.max() >= self.info.vocab_size):
                what = f"a token lies outside the vocabulary of {self.info.vocab_size}"
                raise InputError(what, file=self.folder / f"{part.name}__{name}.npy")
        if self.info.ignore_label_id is not None:
            labels[labels == self.info.ignore_label_id] = IGNORE
        return {
            "inputs": inputs,
            "labels": labels,
            "puzzle_identifiers": part.puzzle_identifiers[puzzles].astype(np.int32),
        }

    def _open_set(self, name: str) -> PuzzleSet:
        def array(kind: str, ndim: int) -> NDArray[Any]:
            return _read_array(self.folder / f"{name}__{kind}.npy", ndim)

        def index(kind: str) -> NDArray[np.int64]:
            return np.array(array(kind, 1), dtype=np.int64)

        part = PuzzleSet(
            name=name,
            inputs=array("inputs", 2),
            labels=array("labels", 2),
            puzzle_identifiers=index("puzzle_identifiers"),
            puzzle_indices=index("puzzle_indices"),
            group_indices=index("group_indices"),
        )
        self._check(part)
        return part

    def _check(self, part: PuzzleSet) -> None:
        def wrong(kind: str, what: str) -> InputError:
            return InputError(
                what, file=self.folder / f"{part.name}__{kind}.npy", hint="build the dataset again"
            )

        for kind, tokens in (("inputs", part.inputs), ("labels", part.labels)):
            if tokens.shape[1] != self.info.seq_len:
                raise wrong(
                    kind,
                    f"its rows have {tokens.shape[1]} tokens, dataset.json says seq_len {self.info.seq_len}",
                )
        if len(part.labels) != part.examples:
            raise wrong("labels", f"it has {len(part.labels)} rows, the inputs have {part.examples}")
        puzzles, ids = len(part.puzzle_indices) - 1, part.puzzle_identifiers
        if len(ids) != puzzles:
            raise wrong("puzzle_identifiers", f"it names {len(ids)} puzzles, puzzle_indices has {puzzles}")
        known = self.info.num_puzzle_identifiers
        if len(ids) and (ids.min() < 0 or ids.max() >= known):
            raise wrong("puzzle_identifiers", f"an identifier lies outside the {known} of dataset.json")
        ends = (
            ("puzzle_indices", part.puzzle_indices, part.examples),
            ("group_indices", part.group_indices, puzzles),
        )
        for kind, offsets, end in ends:
            if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) <= 0).any():
                raise wrong(kind, f"it must rise from 0 to {end}")


def dataset_hash(path: str | Path) -> str:
    """sha256 over the names and contents of the dataset's files, in the order of their names; times and
    owners do not count."""
    root, digest = Path(path), hashlib.sha256()
    files = sorted(file for file in root.rglob("*") if file.is_file() and file.suffix in (".json", ".npy"))
    if not files:
        raise InputError("there is no dataset here", file=root, hint=_BUILD)
    for file in files:
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{file.relative_to(root).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


_SIZES = ("vocab_size", "seq_len", "num_puzzle_identifiers", "total_groups")


def _read_info(file: Path) -> DataInfo:
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file, hint=_BUILD) from error
    except ValueError as error:
        raise InputError(f"is no valid JSON: {error}", file=file, hint="build the dataset again") from error
    if not isinstance(raw, dict):
        raise InputError("must hold a JSON object", file=file)
    missing = [key for key in (*_SIZES, "sets") if key not in raw]
    if missing:
        raise InputError(f"lacks {', '.join(missing)}", file=file)
    known = {field.name: raw[field.name] for field in fields(DataInfo) if field.name in raw}
    for key in _SIZES:
        if not isinstance(known[key], int) or known[key] < 1:
            raise InputError(f"{key} is {known[key]!r}, it must be a positive whole number", file=file)
    if not _is_list_of_names(known["sets"]):
        raise InputError("sets must be a list of names", file=file)
    return DataInfo(**{**known, "sets": tuple(known["sets"])})


def _is_list_of_names(sets: object) -> bool:
    """Whether `sets` are names of sets, none of which leads out of the dataset's folder."""
    if not isinstance(sets, list) or not sets:
        return False
    return all(isinstance(name, str) and Path(name).name == name for name in sets)


def _read_array(file: Path, ndim: int) -> NDArray[Any]:
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError("is missing", file=file, hint=_BUILD) from error
    except (OSError, ValueError, EOFError, SyntaxError, zipfile.BadZipFile) as error:
        raise InputError(
            f"is no readable .npy file: {error}", file=file, hint="build the dataset again"
        ) from error
    if not isinstance(array, np.ndarray):
        raise InputError(
            "is an archive of arrays, expected one array", file=file, hint="build the dataset again"
        )
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise InputError(
            f"holds {array.dtype} of shape {array.shape}, expected whole numbers in {ndim} dimension(s)",
            file=file,
        )
    return array
