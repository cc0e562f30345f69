"""A person's yes or no to what the policy does not allow without it: a reply file beside the record of
actions.

A reply names one request by an id that follows from the remedy and its values; a yes to one
change is none to another.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Literal

from hrmdoc.paths import replace_file

FOLDER = "replies"
Reply = Literal["yes", "no"]
_MOST = 64


def request_id(remedy: str, what: str) -> str:
    """The id of a request: the same for the same change, short enough to be typed."""
    return hashlib.sha256(f"{remedy}\0{what}".encode()).hexdigest()[:8]


def reply(folder: Path, ident: str) -> Reply | None:
    """What a person answered; None while nobody has. A file that another user wrote, a link, and anything
    but a yes or no is no answer."""
    try:
        descriptor = os.open(folder / FOLDER / ident, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            return None
        word = file.read(_MOST).decode(errors="replace").strip().lower()
    return "yes" if word in ("yes", "y") else "no" if word in ("no", "n") else None


def answer(folder: Path, ident: str, word: Reply) -> bool:
    """Writes a reply; False when it cannot be written."""
    return replace_file(folder / FOLDER / ident, f"{word}\n")
