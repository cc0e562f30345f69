"""What a command asks of the allocator, for large inputs: a command is the one program of its process, as a
library is not."""

from __future__ import annotations

import sys

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Names of options in glibc's malloc.h."""
_LARGE = 5 << 19  # more than the windows of 2 MiB that detectors take for a moment, again and again
_KEPT = 16 << 20


def give_back_large_arrays() -> None:
    """Lets arrays of some MiB and more lie apart, so that their room goes back as soon as they are let go.

    Unasked, glibc raises that limit with every large array that is let go, up to 32 MiB: the columns of a
    million rows then lie among others on one heap, with holes between them. Of other systems nothing is
    asked.
    """
    if sys.platform != "linux":
        return
    import ctypes  # numpy has loaded it

    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_MMAP_THRESHOLD, _LARGE)
        option(_TRIM_THRESHOLD, _KEPT)
