"""How fast the kernels multiply matrices on this processor, beside the library that PyTorch uses.

A large model is products and little else, so that this decides for it; processors differ by a factor of two.
It is measured once for each shape and kept beside the kernels: a run that goes on computes as it did before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch

from ..model.layers import inner_size
from .level import STRIP
from .places import library

_TOKENS = 648
"""Eight boards of 81 cells."""
_ROUNDS = 5


def pace(hidden_size: int, expansion: float) -> float:
    """The rate of a product of the shape [648, hidden] x [hidden, twice the inner size] in C, as a share of
    the library's, both on one thread: 1 where they are level.

    Raises:
        ConfigError: the kernels cannot be built or loaded.
    """
    outputs = -(-2 * inner_size(hidden_size, expansion) // STRIP) * STRIP
    built = Path(library()._name)
    kept = built.with_name(f"{built.stem}-{hidden_size}x{outputs}.pace")
    with suppress(OSError, ValueError):  # nobody measured it yet, or what is kept is damaged
        if math.isfinite(known := float(kept.read_text(encoding="ascii"))):
            return known
    measured = _measured(hidden_size, outputs)
    with suppress(OSError):  # it is measured again the next time
        kept.write_text(f"{measured:.4f}", encoding="ascii")
    return measured


def _measured(inputs: int, outputs: int) -> float:
    """The best of five rounds of both, in turn."""
    x, w, y = torch.ones(_TOKENS, inputs), torch.ones(inputs, outputs), torch.empty(_TOKENS, outputs)
    kernels, threads = library(), torch.get_num_threads()
    shape, places = (_TOKENS, outputs, inputs), [one.data_ptr() for one in (x, w, y)]
    ours, theirs = partial(kernels.multiply, *shape, *places), partial(torch.mm, x, w, out=y)
    torch.set_num_threads(1)
    try:
        rounds = [(_seconds(ours), _seconds(theirs)) for _ in range(_ROUNDS)]
    finally:
        torch.set_num_threads(threads)
    return min(second for _, second in rounds) / min(first for first, _ in rounds)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
