"""A person's yes or no to what the policy does not allow without it: a reply file beside the record of
actions.

A reply names one request by an id that follows from the remedy, its values and a secret of this user; a
yes to one change is none to another, and who prepared a run's folder cannot have put a yes there.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

from hrmdoc import systems
from hrmdoc.paths import read_kept, replace_file, state_dir

FOLDER = "replies"
Reply = Literal["yes", "no"]
_MOST = 64
_ID = re.compile("[0-9a-f]{8}")
_OF_PROCESS = secrets.token_bytes(32)


def request_id(remedy: str, what: str) -> str:
    """The id of a request: the same for the same change of the same user, short enough to be typed."""
    return hmac.digest(_secret(), f"{remedy}\0{what}".encode(), "sha256").hex()[:8]


def is_id(text: str) -> bool:
    """Whether a request can bear this id; it becomes the name of a file."""
    return _ID.fullmatch(text) is not None


def _secret() -> bytes:
    """What only this user's processes know, made at the first request; where none can be kept, that of this
    process."""
    file = state_dir() / "consent.key"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.PLAIN, 0o600), "wb") as made:
            made.write(_OF_PROCESS)
    with suppress(OSError):
        kept = read_kept(file, _MOST)
        return kept if len(kept) == len(_OF_PROCESS) else _OF_PROCESS
    return _OF_PROCESS


def reply(folder: Path, ident: str) -> Reply | None:
    """What a person answered; None while nobody has. A file that another user wrote, a link, and anything
    but a yes or no is no answer."""
    if not is_id(ident):
        return None
    try:
        descriptor = os.open(folder / FOLDER / ident, os.O_RDONLY | systems.PLAIN)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != systems.user():
            return None
        word = file.read(_MOST).decode(errors="replace").strip().lower()
    return "yes" if word in ("yes", "y") else "no" if word in ("no", "n") else None


def answer(folder: Path, ident: str, word: Reply) -> bool:
    """Writes a reply; False when it cannot be written, or would land elsewhere."""
    if not is_id(ident) or (folder / FOLDER).is_symlink():
        return False
    return replace_file(folder / FOLDER / ident, f"{word}\n")
