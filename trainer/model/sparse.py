"""The puzzle embedding: a large table of which a step touches a batch of rows, so it is a buffer with its own
optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from .layers import cast


class SparseEmbedding(nn.Module):
    """A zero-initialised table [count, size] that no dense optimizer sees.

    In training, `forward` copies the batch's rows into the leaf `rows` [batch_size, size], where their
    gradient lands, and remembers which they are in `row_ids`. `SignSGD` carries the update back into `table`.
    """

    table: Tensor
    rows: Tensor
    row_ids: Tensor

    def __init__(self, count: int, size: int, batch_size: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.register_buffer("table", torch.zeros(count, size))
        self.register_buffer("rows", torch.zeros(batch_size, size, requires_grad=True), persistent=False)
        self.register_buffer("row_ids", torch.zeros(batch_size, dtype=torch.int64), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moves or casts the buffers. A moved `rows` would be the result of an operation; it has to be a leaf
        again."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.rows = self.rows.detach().requires_grad_()
        return self

    def forward(self, ids_B: Tensor) -> Tensor:
        if not (self.training and torch.is_grad_enabled()):
            return cast(self.table[ids_B.long()], self.dtype)
        with torch.no_grad():
            self.row_ids.copy_(ids_B)
            self.rows.copy_(self.table[self.row_ids])
        return cast(self.rows, self.dtype)
