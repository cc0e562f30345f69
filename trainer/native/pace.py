"""How fast the kernels multiply matrices on this processor, beside the library that PyTorch uses.

A large model is products and little else, so that this decides for it; processors differ by a factor of two.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from ..model.layers import inner_size
from .level import STRIP
from .places import library

_TOKENS = 648
"""Eight boards of 81 cells."""
_ROUNDS = 5


def pace(hidden_size: int, expansion: float) -> float:
    """The rate of a product of the shape [648, hidden] x [hidden, twice the inner size] in C, as a share of
    the library's, both on one thread and at their best of five: 1 where they are level.

    Raises:
        ConfigError: the kernels cannot be built or loaded.
    """
    outputs = -(-2 * inner_size(hidden_size, expansion) // STRIP) * STRIP
    x, w = torch.randn(_TOKENS, hidden_size), torch.randn(hidden_size, outputs)
    y, kernels, threads = torch.empty(_TOKENS, outputs), library(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours = _best(
            lambda: kernels.multiply(*(_TOKENS, outputs, hidden_size), *(one.data_ptr() for one in (x, w, y)))
        )
        return _best(lambda: torch.mm(x, w, out=y)) / ours
    finally:
        torch.set_num_threads(threads)


def _best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds; the first, which warms caches, is not counted."""
    work()
    found = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)
