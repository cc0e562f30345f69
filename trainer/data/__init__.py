"""Datasets in HRM's layout: reading, writing, and building them. Only `iterate`, which makes batches, needs
torch."""

from .arc import build_arc
from .dataset import PuzzleData, dataset_hash
from .info import DataInfo
from .maze import build_maze
from .sudoku_dataset import BUILTIN, build_sudoku, builtin
from .write import write_identifiers, write_split

__all__ = [
    "BUILTIN",
    "DataInfo",
    "PuzzleData",
    "build_arc",
    "build_maze",
    "build_sudoku",
    "builtin",
    "dataset_hash",
    "write_identifiers",
    "write_split",
]
