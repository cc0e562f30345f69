"""Where the data that ships with hrmdoc lies, and where hrmdoc keeps what it found."""

from __future__ import annotations

import errno
import importlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from hrmdoc import systems
from hrmdoc.errors import did_you_mean


def data_dir(name: str) -> Path:
    """The folder `rules` or `playbooks`: inside the package when installed, beside it in an editable
    install."""
    here = Path(__file__).resolve().parent
    packaged = here / name
    return packaged if packaged.is_dir() else here.parent / name


def state_dir() -> Path:
    """The user's state folder, for what cannot be kept beside a run or a config. It need not exist yet."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "hrmdoc"


def cache_dir() -> Path:
    """The user's cache folder, for what can be found again. It need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hrmdoc"


def config_dir() -> Path:
    """The folder of the user's own settings. It need not exist."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "hrmdoc"


def kept_in(path: Path) -> Path:
    """The folder where a watch of the run at `path` keeps what it found; it need not exist."""
    return _kept_beside(path) or state_dir() / _sha256(os.fsencode(path.resolve()))[:16]


def existing_kept_in(path: Path) -> Path | None:
    """As `kept_in`, but None where nothing was ever kept."""
    return _kept_beside(path) or (kept_in(path) if state_dir().is_dir() else None)


def _sha256(data: bytes) -> str:
    """As `hashlib` has it, which loads OpenSSL: that takes longer than to read a short log."""
    for name in (
        "_sha2",
        "_sha256",
        "hashlib",
    ):  # Python's own, since 3.12 and before
        with suppress(ImportError):
            return str(importlib.import_module(name).sha256(data).hexdigest())
    raise AssertionError("hashlib is part of Python")


def _kept_beside(path: Path) -> Path | None:
    if (path / "run.json").is_file() and _is_ours(path):
        return path
    supervised = supervised_folder(path)
    if supervised.is_dir() and not supervised.is_symlink() and _is_ours(supervised):
        return supervised
    return None


def supervised_folder(log: Path) -> Path:
    """Where `hrmdoc run` keeps what belongs to the command that writes `log`."""
    whole = Path(os.path.abspath(log))
    return whole.parent / f"{whole.name}.hrmdoc"


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user, who may write there: a run that was received from somebody
    else keeps nothing."""
    try:
        return folder.stat().st_uid == systems.user() and os.access(folder, os.W_OK)
    except OSError:
        return False


def instead_of(path: str) -> str | None:
    """What to type instead of a path that does not exist: a name like it in the same folder, or what brings
    a remote file here; None for one that is there and cannot be read."""
    scheme, mark, rest = path.partition("://")
    if mark:
        if scheme == "file":
            return f"name the file itself: {rest}"
        fetch = f"curl -sL {path}" if scheme.startswith("http") else ""
        return f"only local files are read: {fetch} | hrmdoc analyze -" if fetch and rest else None
    if os.path.lexists(path):
        return None
    folder, name = os.path.split(path.rstrip("/"))
    try:
        return did_you_mean(name, os.listdir(folder or "."))
    except PermissionError:
        return f"{folder} cannot be looked into"
    except OSError:
        return f"{folder} is no folder either" if folder else None


def replace_file(path: Path, text: str, *, durable: bool = False) -> bool:
    """Writes a file so that a reader sees the old or the new text, never half of one; its folder is made
    where it is missing. Neither a link in its place nor one beside it is followed. What is `durable` is on
    the disk when this returns.

    Returns:
        False when it cannot be written.
    """
    import tempfile  # with all that it needs, little that a short look at a run asks for

    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        # A name of a file may hold any bytes; what stands for one that is no UTF-8 is an escape in JSON.
        with open(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            systems.permit(number, 0o666 & ~_umask())
            file.write(text)
            if durable:
                file.flush()
                os.fsync(number)
        os.replace(temporary, path)
        if durable:
            sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        return False
    return True


def write_whole(path: Path, data: bytes) -> None:
    """Writes what a user asked for: on a full disk the file that was there stays as it is. A device or pipe
    is written to as it stands.

    Raises:
        OSError: it cannot be written.
    """
    import tempfile

    place = path.resolve()
    if place.exists() and not place.is_file():
        place.write_bytes(data)
        return
    number, temporary = tempfile.mkstemp(prefix=f".{place.name[:100]}.", suffix=".tmp", dir=place.parent)
    try:
        with open(number, "wb") as file:
            systems.permit(number, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
            file.write(data)
        os.replace(temporary, place)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def read_kept(path: Path, most: int = 64 << 20) -> bytes:
    """The bytes of a file that hrmdoc keeps beside a run. Who prepared the folder may have planted anything
    in its place: a link is not followed, a pipe is not waited for, and nothing beyond `most` is read.

    Raises:
        OSError: it is missing, no regular file, or longer.
    """
    with open_kept(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
        return file.read(most)


def open_kept(path: Path, *, linked: bool = False) -> BinaryIO:
    """Such a file, open to be read.

    Args:
        linked: a link is followed.

    Raises:
        OSError: it is missing, or no regular file.
    """
    free = systems.flags("O_NONBLOCK", "O_CLOEXEC")
    return _regular(path, os.O_RDONLY | (free if linked else systems.PLAIN), "rb")


def open_added(path: Path) -> BinaryIO:
    """Such a file, open to be written at its end; made where it is missing.

    Raises:
        OSError: there is something else in its place, or it cannot be written.
    """
    return _regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | systems.PLAIN, "ab")


def _regular(path: Path, flags: int, mode: str) -> BinaryIO:
    number = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return cast("BinaryIO", open(number, mode))


def sync_folder(folder: Path) -> None:
    """Has the names in a folder on the disk.

    Raises:
        OSError: it cannot be opened.
    """
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems sync no folders
            os.fsync(number)
    finally:
        os.close(number)


def _umask() -> int:
    """What a new file of this user keeps from others."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
