"""Builds ARC datasets in HRM's layout from folders of ARC tasks (one JSON file a task, with `train` and
`test` pairs).

A task with its augmentations is a group; every augmentation is a puzzle with its own identifier, so HRM
learns an embedding for each. The demonstration pairs of all tasks are training data. The test pairs of tasks
in a folder named `evaluation` make up the test split; those of other tasks are training data too.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .arc_files import SIDE, Grid, Pair, Task, read_tasks, task_files
from .info import DataInfo
from .maze import dihedral
from .write import publish, write_identifiers, write_split

EOS, FIRST_COLOUR = 1, 2  # 0 is padding; colour c is token c + 2
VOCAB = 12
_TRIALS = 5  # draws per wanted augmentation before giving up on distinct ones


def build_arc(
    sources: Sequence[str | Path], output: str | Path, *, num_aug: int = 1000, seed: int = 42
) -> Path:
    """Builds a dataset from folders of tasks, searched in depth.

    Args:
        sources: folders such as `ARC-AGI/data`, or Kaggle's `arc-agi_evaluation_challenges.json`; with 1000
            augmentations of 960 tasks the result takes some 6 GB.
        output: the dataset's folder.
        num_aug: distinct augmentations wanted per task (a symmetry of the square times a permutation of the
            colours but black); a task with few distinct ones gets fewer.
        seed: of the augmentations and of the translations on the canvas.
    """
    rng = np.random.default_rng(seed)
    tasks = [task for source in sources for file in task_files(Path(source)) for task in read_tasks(file)]
    groups = [augmentations(task, num_aug, rng) for task in tasks]
    names = ["<blank>", *sorted({puzzle.name for group in groups for puzzle in group})]
    ids = {name: index for index, name in enumerate(names)}
    with publish(output) as building:
        for split in ("train", "test"):
            _write(building, split, groups, ids, rng)
        write_identifiers(building, names)
    return Path(output)


def augmentations(task: Task, count: int, rng: np.random.Generator) -> list[Task]:
    """`task` and up to `count` different equivalents, named `<name>_t<symmetry>_<colours>`."""
    found = {_fingerprint(task): task}
    for _ in range(_TRIALS * count):
        if len(found) > count:
            break
        turn = int(rng.integers(8))
        colours = np.concatenate(([0], rng.permutation(9) + 1)).astype(np.uint8)
        name = f"{task.name}_t{turn}_{''.join(map(str, colours))}"

        def change(pairs: list[Pair], turn: int = turn, colours: Grid = colours) -> list[Pair]:
            return [(dihedral(colours[a], turn), dihedral(colours[b], turn)) for a, b in pairs]

        candidate = Task(name, change(task.train), change(task.test))
        found.setdefault(_fingerprint(candidate), candidate)
    return list(found.values())


def canvas(pair: Pair, top: int = 0, left: int = 0) -> NDArray[np.uint8]:
    """Input and label, [2, SIDE * SIDE]: the grids at (top, left), an end mark below and to the right of
    each, padding around."""
    both = np.zeros((2, SIDE, SIDE), np.uint8)
    for sheet, grid in zip(both, pair, strict=True):
        bottom, right = top + grid.shape[0], left + grid.shape[1]
        sheet[top:bottom, left:right] = grid + FIRST_COLOUR
        if bottom < SIDE:
            sheet[bottom, left:right] = EOS
        if right < SIDE:
            sheet[top:bottom, right] = EOS
    return both.reshape(2, -1)


def _write(
    building: Path, split: str, groups: list[list[Task]], ids: dict[str, int], rng: np.random.Generator
) -> None:
    used = [[puzzle for puzzle in group if puzzle.pairs(split)] for group in groups]
    used = [group for group in used if group]
    puzzles = [puzzle for group in used for puzzle in group]
    sizes = [len(puzzle.pairs(split)) for puzzle in puzzles]
    if not puzzles:
        raise InputError(
            f"no task has pairs for the {split} split",
            hint="the test split comes from a folder named `evaluation`",
        )
    with tempfile.TemporaryFile(dir=building) as spill:  # larger than memory in earnest use
        sheets = np.memmap(spill, np.uint8, "w+", shape=(2, sum(sizes), SIDE * SIDE))
        for row, sheet in enumerate(_sheets(puzzles, split, rng)):
            sheets[:, row] = sheet
        write_split(
            building,
            split,
            DataInfo(vocab_size=VOCAB, seq_len=SIDE * SIDE, num_puzzle_identifiers=len(ids)),
            sheets[0],
            sheets[1],
            puzzle_indices=np.array([0, *accumulate(sizes)]),
            group_indices=np.array([0, *accumulate(map(len, used))]),
            puzzle_identifiers=np.array([ids[puzzle.name] for puzzle in puzzles]),
        )


def _sheets(puzzles: list[Task], split: str, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """The canvases of all pairs. In training a pair is put anywhere, but for one of each puzzle that stays at
    the corner."""
    for puzzle in puzzles:
        pairs = puzzle.pairs(split)
        still = int(rng.integers(len(pairs)))
        for index, pair in enumerate(pairs):
            if split == "test" or index == still:
                yield canvas(pair)
            else:
                room = [SIDE - max(grid.shape[axis] for grid in pair) for axis in (0, 1)]
                yield canvas(pair, int(rng.integers(room[0] + 1)), int(rng.integers(room[1] + 1)))


def _fingerprint(task: Task) -> bytes:
    """Equal for tasks with the same pairs, in whatever order."""
    pairs = [b"".join(bytes(grid.shape) + grid.tobytes() for grid in pair) for pair in task.train + task.test]
    return hashlib.sha256(b"|".join(sorted(hashlib.sha256(pair).digest() for pair in pairs))).digest()
