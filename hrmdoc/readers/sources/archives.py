"""What is an archive of logs, and which path names a place inside one; `_unpack` has the rest, which few
analyses need."""

from __future__ import annotations

import os

from hrmdoc.readers.support.decode import plain_head

_ENDINGS = frozenset({"", "zip", "tar", "tgz", "tbz", "tbz2", "txz", "gz", "bz2", "xz", "zst"})
_TAR_MAGIC = slice(257, 262)


def is_archive(name: str, head: bytes) -> bool:
    """Whether a file of this name, which begins with these bytes, is a zip or a tar, which may be packed.

    Weights and tables are zip files as well, under endings of their own.
    """
    ending = name.rpartition("/")[2].rpartition(".")[2] if "." in name.rpartition("/")[2] else ""
    if ending.lower() not in _ENDINGS:
        return False
    return head.startswith(b"PK\x03\x04") or plain_head(head, 1024)[_TAR_MAGIC] == b"ustar"


def holder_of(path: str) -> tuple[str, str] | None:
    """`logs.zip/run-2` as the archive and the place inside it; None where no part of the path is a file."""
    parts = path.replace(os.sep, "/").split("/")
    for cut in range(len(parts) - 1, 0, -1):
        outer = "/".join(parts[:cut])
        if os.path.isfile(outer):
            return outer, "/".join(parts[cut:])
    return None
