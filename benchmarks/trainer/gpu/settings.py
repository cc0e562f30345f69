"""What is measured: ways to train, and how large they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch.nn.attention import SDPBackend

from hrmdoc.trainer.data import DataInfo

Part = dict[str, Any]
KERNELS = {
    "sdpa-flash": SDPBackend.FLASH_ATTENTION,
    "sdpa-math": SDPBackend.MATH,
}  # PyTorch's own, one of them allowed
ATTENTIONS = ("sdpa", "flash", *KERNELS)  # sdpa: whichever PyTorch chooses; flash: the package flash-attn
SUDOKU = DataInfo(vocab_size=11, seq_len=81)
QUICK_ARCH = (
    "hidden_size=16 num_heads=1 H_layers=1 L_layers=1 H_cycles=1 L_cycles=1 expansion=1 halt_max_steps=2"
)
QUICK_MODEL = tuple(f"arch.{word}" for word in QUICK_ARCH.split())


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to train. `attention` is one of ATTENTIONS."""

    rows: int
    attention: str
    compiled: bool
    dtype: str = "bfloat16"

    @property
    def name(self) -> str:
        return f"{self.dtype} {self.attention} {'compiled' if self.compiled else 'eager'} batch {self.rows}"

    def words(self) -> list[str]:
        """As settings of the trainer; its attention is chosen elsewhere."""
        return [
            f"global_batch_size={self.rows}",
            f"dtype={self.dtype}",
            f"compile={str(self.compiled).lower()}",
            "native=false",
        ]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is large in earnest and small in a quick run.

    An eager part and a compiled one are not begun with less than `least_s` left, and get no more than
    `most_s`.
    """

    model: tuple[str, ...]
    board: DataInfo
    batches: tuple[int, ...]
    attentions: tuple[str, ...]
    measured_s: int
    least_s: tuple[float, float]
    most_s: tuple[float, float]
    data: str
    curve_s: float


FULL = Sizes((), SUDOKU, (384, 768), ATTENTIONS, 3, (8, 30), (30, 100), "builtin:sudoku-hard", math.inf)
SMALL = DataInfo(vocab_size=6, seq_len=16)
QUICK = Sizes(
    QUICK_MODEL, SMALL, (16,), ("sdpa", "flash", "sdpa-math"), 0, (1, 2), (60, 60), "builtin:sudoku-4x4", 2.0
)


def settings(sizes: Sizes) -> list[Setting]:
    """The most telling ones first: time may end before the list does."""
    order = [Setting(sizes.batches[0], "sdpa", compiled=False, dtype="float32")]
    order += [Setting(rows, "sdpa", compiled) for rows in sizes.batches for compiled in (False, True)]
    others = [kind for kind in sizes.attentions if kind != "sdpa"]
    return order + [
        Setting(rows, kind, compiled)
        for compiled in (False, True)
        for rows in sizes.batches
        for kind in others
    ]
