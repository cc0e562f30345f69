"""Batches of a dataset: an endless, seeded, resumable stream for training, one padded pass for evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hrmdoc.errors import ConfigError, InputError

from .dataset import PuzzleData, PuzzleSet
from .info import IGNORE


class EvalBatch(NamedTuple):
    """A batch of evaluation and the set it comes from. The rows beyond the set's end have only ignored
    labels."""

    set_name: str
    batch: dict[str, Tensor]


def local_size(batch_size: int, rank: int, world_size: int) -> int:
    """Rows per rank of a global batch, which must divide evenly."""
    if batch_size < 1 or batch_size % world_size:
        raise ConfigError(f"global_batch_size {batch_size} cannot be shared evenly by {world_size} ranks")
    if not 0 <= rank < world_size:
        raise ConfigError(f"rank {rank} lies outside the {world_size} ranks")
    return batch_size // world_size


class TrainIterator:
    """Training batches without end.

    In every epoch each group comes once, in random order, as one random puzzle of its own (one augmentation)
    with all its examples; a puzzle that does not fit into the rest of a batch gives a random part of them.
    Batches run on over the ends of epochs. The reference draws the examples from an unseeded generator and
    drops the last batch of an iteration; here every draw follows from (seed, epoch, place), so a position in
    the stream is two integers and resuming is exact.

    Args:
        data: a split with one set or more; groups of all its sets are mixed.
        batch_size: the global batch size.
        seed: of the stream; all ranks give the same one.
        rank, world_size: this rank gets the rank-th of `world_size` equal slices of every batch.
    """

    def __init__(
        self, data: PuzzleData, batch_size: int, seed: int = 0, rank: int = 0, world_size: int = 1
    ) -> None:
        size = local_size(batch_size, rank, world_size)
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.slice = slice(rank * size, (rank + 1) * size)
        self.epoch, self.position = 0, 0
        self._streams = [_GroupStream(part) for part in data.sets]
        if not self._groups:
            raise InputError("the dataset has no groups to train on", file=data.folder)
        self._load_epoch()

    @property
    def _groups(self) -> int:
        return sum(stream.groups for stream in self._streams)

    def __iter__(self) -> TrainIterator:
        return self

    def __next__(self) -> dict[str, Tensor]:
        sets, puzzles, examples = (np.concatenate(column) for column in zip(*self._collect(), strict=True))
        sets, puzzles, examples = sets[self.slice], puzzles[self.slice], examples[self.slice]
        parts = [(sets == index, part) for index, part in enumerate(self.data.sets)]
        rows = [
            (where, self.data.batch(part, examples[where], puzzles[where]))
            for where, part in parts
            if where.any()
        ]
        batch = {key: np.empty((len(sets), *value.shape[1:]), np.int32) for key, value in rows[0][1].items()}
        for where, part_rows in rows:
            for key, value in part_rows.items():
                batch[key][where] = value
        return {key: torch.from_numpy(value) for key, value in batch.items()}

    def state_dict(self) -> dict[str, int]:
        """The place in the stream: the next batch begins with the `position`-th group of `epoch`."""
        return {"seed": self.seed, "epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seed, self.epoch, self.position = int(state["seed"]), int(state["epoch"]), int(state["position"])
        self._load_epoch()

    def _load_epoch(self) -> None:
        """Order, chosen puzzle and its size of every group of the epoch."""
        rng = np.random.default_rng([self.seed & 0xFFFFFFFFFFFFFFFF, self.epoch])
        columns = [stream.draw(rng, index) for index, stream in enumerate(self._streams)]
        order = rng.permutation(self._groups)
        self._set, self._puzzle, self._first, self._size = (
            np.concatenate(c)[order] for c in zip(*columns, strict=True)
        )
        self._end = np.cumsum(self._size)

    def _collect(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """(set, puzzle, example) of the rows of the next global batch, in pieces; moves the position on."""
        pieces, need = [], self.batch_size
        while need:
            if self.position == self._groups:
                self.epoch, self.position = self.epoch + 1, 0
                self._load_epoch()
            start = self.position
            before = self._end[start] - self._size[start]
            # The group in which the batch becomes full is the last one; what it has too much is left out.
            stop = min(int(np.searchsorted(self._end, before + need)) + 1, self._groups)
            took = self._rows(start, stop, need)
            pieces.append(took)
            need -= len(took[0])
            self.position = stop
        return pieces

    def _rows(
        self, start: int, stop: int, need: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        size = self._size[start:stop]
        offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        example = np.repeat(self._first[start:stop], size) + offset
        surplus = len(example) - need
        if surplus > 0:
            rng = np.random.default_rng([self.seed & 0xFFFFFFFFFFFFFFFF, self.epoch, stop])
            last = int(size[-1])
            tail = self._first[stop - 1] + rng.choice(last, last - surplus, replace=False)
            example = np.concatenate((example[: len(example) - last], tail))
        rows = len(example)
        return (
            np.repeat(self._set[start:stop], size)[:rows],
            np.repeat(self._puzzle[start:stop], size)[:rows],
            example,
        )


class _GroupStream:
    """Draws one puzzle per group of a set."""

    def __init__(self, part: PuzzleSet) -> None:
        self.part = part
        self.groups = part.groups

    def draw(self, rng: np.random.Generator, index: int) -> tuple[NDArray[np.int64], ...]:
        groups, puzzles = self.part.group_indices, self.part.puzzle_indices
        puzzle = rng.integers(groups[:-1], groups[1:])
        first = puzzles[puzzle]
        return np.full(self.groups, index), puzzle, first, puzzles[puzzle + 1] - first


def test_batches(
    data: PuzzleData,
    batch_size: int,
    rank: int = 0,  # noqa: PT028
    world_size: int = 1,  # noqa: PT028
) -> Iterator[EvalBatch]:
    """Every example of `data` once, in order, in this rank's slices of batches of `batch_size` rows.

    A last batch is filled up: pad tokens, ignored labels, the blank identifier; so each rank sees equally
    many batches.
    """
    size = local_size(batch_size, rank, world_size)
    for part in data.sets:
        for start in range(0, part.examples, batch_size):
            first = start + rank * size
            examples = np.arange(first, max(first, min(first + size, part.examples)))
            puzzles = np.searchsorted(part.puzzle_indices, examples, side="right") - 1
            batch = _pad(data, data.batch(part, examples, puzzles), size)
            yield EvalBatch(part.name, {key: torch.from_numpy(value) for key, value in batch.items()})


def _pad(data: PuzzleData, batch: dict[str, NDArray[np.int32]], size: int) -> dict[str, NDArray[np.int32]]:
    fill = {"inputs": data.info.pad_id, "labels": IGNORE, "puzzle_identifiers": data.info.blank_identifier_id}

    def padded(key: str, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        missing = np.full((size - len(rows), *rows.shape[1:]), fill[key], np.int32)
        return np.concatenate((rows, missing))

    return {key: padded(key, rows) for key, rows in batch.items()}
