"""A level of the model as the kernels see it."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn

from ..model.block import Block
from ..model.layers import inner_size
from .places import LevelPlaces, Shape, library, pointers

STRIP = 16  # columns that the kernels work on together: the hidden size has to be a multiple
MATRICES = 4  # of a block


class Level:
    """A stack of blocks. The weights stay the blocks' own; a copy in the kernels' order follows them, and
    another of one block at a time, on the way back."""

    def __init__(
        self, layers: nn.ModuleList, heads: int, expansion: float, rotary: tuple[Tensor, Tensor] | None
    ) -> None:
        blocks = [block for block in layers if isinstance(block, Block)]
        self.weights: list[Tensor] = []
        for block in blocks:
            assert block.attention is not None
            mlp = (block.mlp.gate_up.weight, block.mlp.down.weight)
            self.weights += [block.attention.qkv.weight, block.attention.out.weight, *mlp]
        size = self.weights[1].shape[0]
        rounded = [
            (o, i, -(-o // STRIP) * STRIP, -(-i // STRIP) * STRIP) for o, i in (w.shape for w in self.weights)
        ]
        ahead = [torch.empty(wide_o * i) for o, i, wide_o, wide_i in rounded]
        back = [torch.empty(o * wide_i) for o, i, wide_o, wide_i in rounded[:MATRICES]]
        self._alive = ahead, back, rotary
        self._stored, self._panels, self._back = pointers(self.weights), pointers(ahead), pointers(back)
        angles = (None, None) if rotary is None else (rotary[0].data_ptr(), rotary[1].data_ptr())
        shape = Shape(0, 0, size, heads, inner_size(size, expansion), len(blocks), blocks[0].eps)
        self.places = LevelPlaces(
            shape, *map(ctypes.addressof, (self._stored, self._panels, self._back)), None, *angles
        )
        self._packed: list[int] = []

    def ready(self, B: int, S: int) -> LevelPlaces:
        """The level for that many rows and positions, with the weights as they are now."""
        self.places.shape.B, self.places.shape.S = B, S
        now = [weight._version for weight in self.weights]
        if now != self._packed:
            library().level_pack(ctypes.byref(self.places))
            self._packed = now
        return self.places

    def gradients_to(self, gradients: list[Tensor]) -> None:
        """Where the gradients of the weights are added up."""
        self._gradients = pointers(gradients)
        self.places.gradients = ctypes.addressof(self._gradients)
