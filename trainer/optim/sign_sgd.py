"""Sign descent: the optimizer of the puzzle embedding."""

from __future__ import annotations

import torch

from ..model.sparse import SparseEmbedding
from ..parallel.world import World


class SignSGD:
    """Sign descent with decoupled decay on the rows of a `SparseEmbedding` that the last batch touched.

    Gradients of rows that occur several times in the batch, on any rank, are summed before the sign is taken.
    The other rows do not move and do not decay. It keeps nothing from step to step, so it is no
    `torch.optim.Optimizer`.
    """

    def __init__(self, embedding: SparseEmbedding, lr: float = 1e-2, weight_decay: float = 0.1) -> None:
        self.embedding, self.lr, self.weight_decay = embedding, lr, weight_decay
        self.world = World()

    @torch.no_grad()
    def step(self) -> None:
        """Moves the rows and forgets their gradient."""
        table, grad, ids = self.embedding.table, self.embedding.rows.grad, self.embedding.row_ids
        if grad is None:
            return
        self.embedding.rows.grad = None
        lr, decay = self.lr, self.weight_decay
        if len(table) == 1:  # one puzzle, as in Sudoku: every gradient is its own
            table.mul_(1 - lr * decay).add_(self.world.gather(grad).sum(0).sign_(), alpha=-lr)
            return
        grad, ids = self.world.gather(grad), self.world.gather(ids)
        # A 0/1 matrix of equal ids sums duplicates in a fixed order and without asking the device how many
        # there are.
        same = (ids.unsqueeze(0) == ids.unsqueeze(1)).to(grad.dtype)
        first = same.argmax(1)
        total = (same @ grad)[
            first
        ]  # identical bits for duplicates: which of them is written last does not matter
        table.index_copy_(0, ids, table[ids].mul_(1 - lr * decay).add_(total.sign_(), alpha=-lr))
