"""Datasets in HRM's layout: reading, batching, writing, and building Sudoku, maze and ARC sets."""

from .arc import build_arc
from .dataset import PuzzleData, dataset_hash
from .info import DataInfo
from .iterate import EvalBatch, TrainIterator, test_batches
from .maze import build_maze
from .sudoku import BUILTIN, build_sudoku, builtin
from .write import write_identifiers, write_split

__all__ = [
    "BUILTIN",
    "DataInfo",
    "EvalBatch",
    "PuzzleData",
    "TrainIterator",
    "build_arc",
    "build_maze",
    "build_sudoku",
    "builtin",
    "dataset_hash",
    "test_batches",
    "write_identifiers",
    "write_split",
]
