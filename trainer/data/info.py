"""What a dataset says of itself."""

from __future__ import annotations

from dataclasses import dataclass

IGNORE = -100  # label of a position that does not count


@dataclass
class DataInfo:
    """What the model and the loss must know of a dataset; the fields of its `dataset.json`."""

    vocab_size: int
    seq_len: int
    num_puzzle_identifiers: int = 1
    pad_id: int = 0
    ignore_label_id: int | None = 0
    blank_identifier_id: int = 0
    total_groups: int = 0
    mean_puzzle_examples: float = 1.0
    sets: tuple[str, ...] = ("all",)
