"""The rules from their folders, or as they were kept when they were last checked.

Parsing YAML takes seconds. A wheel brings its own rules checked (`ship`): they are part of the package, as
its code is. All others, those of a working copy and of users, are kept in the cache folder once they were
checked. They hold as long as no file came, went, or changed its size or one of its times; that is seen
without opening the files.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from hrmdoc import __version__
from hrmdoc.errors import RuleError
from hrmdoc.paths import data_dir
from hrmdoc.rulebook.parsing import parse_all
from hrmdoc.rulebook.schema.book import FOLDERS, Rulebook

STATES_KEPT = 8
SHIPPED = "checked.msgpack"
"""Beside the folders of the rules, in a wheel alone."""
_LOADING = threading.Lock()
"""msgspec 0.22 crashes the process where two threads are the first to meet a class."""


class _Checked(Struct):
    """Checked rules as they are kept: `state` says which files they were made from."""

    state: bytes
    book: Rulebook


def load(extra: Iterable[Path] = ()) -> Rulebook:
    """The built-in rules, extended and overridden by the folders in `extra` (later wins).

    Args:
        extra: the user's rule folders.

    Raises:
        RuleError: a file cannot be read, holds an unknown key or a wrong value, or names an id that does not
            exist.
    """
    own, folders = data_dir("rules"), [folder.absolute() for folder in extra]
    if not folders and (book := _shipped(own)) is not None:
        return book
    files = [entry for root in (own, *folders) for entry in _rule_files(root)]
    state = _state(files)
    cached = _cache_file(state)
    with _LOADING:
        try:
            known = msgspec.msgpack.decode(cached.read_bytes(), type=_Checked)
            if known.state == state:
                return known.book
        except (OSError, msgspec.MsgspecError):
            pass  # there is none yet, or it is another version's
        book = parse_all([(Path(entry.path), _read(Path(entry.path))) for entry in files])
        _store(cached, msgspec.msgpack.encode(_Checked(state, book)))
        return book


def _shipped(rules: Path) -> Rulebook | None:
    """The rules as the wheel brings them; None where there is no such file, or it cannot be read."""
    with _LOADING:
        try:
            known = msgspec.msgpack.decode((rules / SHIPPED).read_bytes(), type=_Checked)
        except (OSError, msgspec.MsgspecError):
            return None
    return known.book if known.state == __version__.encode() else None


def ship(rules: Path) -> None:
    """Checks the rules of a wheel that is being built, and lays them beside their files.

    Raises:
        RuleError: one of them is wrong.
        OSError: the file cannot be written.
    """
    book = parse_all([(Path(entry.path), _read(Path(entry.path))) for entry in _rule_files(rules)])
    (rules / SHIPPED).write_bytes(msgspec.msgpack.encode(_Checked(__version__.encode(), book)))


def state_of(extra: Iterable[Path] = ()) -> bytes:
    """Changes whenever a file of the rules that `load` would take does.

    Raises:
        RuleError: a file cannot be looked at.
    """
    roots = [data_dir("rules"), *(folder.absolute() for folder in extra)]
    return _state(entry for root in roots for entry in _rule_files(root))


def _rule_files(root: Path) -> Iterator[os.DirEntry[str]]:
    if not root.is_dir():
        raise RuleError("the rule folder does not exist", file=root)
    for folder in (root / name for name in FOLDERS):
        if folder.is_dir():
            yield from sorted(
                (entry for entry in os.scandir(folder) if entry.name.endswith(".yaml")),
                key=lambda entry: entry.name,
            )


def _state(files: Iterable[os.DirEntry[str]]) -> bytes:
    """One line a file: name, size, and the times at which its content and its entry changed.

    The second of these cannot be set, as unpacking an archive sets the first, so another file does not pass
    for this one.

    Raises:
        RuleError: a file cannot be looked at.
    """
    lines = [f"{__version__} 15"]
    for entry in files:
        try:
            found = entry.stat()
        except OSError as error:
            raise RuleError(f"cannot read the rule: {error.strerror}", file=entry.path) from error
        lines.append(f"{entry.path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}")
    return os.fsencode("\n".join(lines))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot read the rule: {error.strerror}", file=path) from error


def _cache_file(state: bytes) -> Path:
    """Where rules of that state are kept. States that share a sum take the place from one another."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hrmdoc" / f"rules-{zlib.crc32(state):08x}.msgpack"


def _store(path: Path, blob: bytes) -> None:
    """Keeps the checked rules beside a few of other states; a cache that cannot be written costs a second,
    never an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(blob)
        temporary.replace(path)
        for old in sorted(path.parent.glob("rules-*"), key=lambda one: one.stat().st_mtime)[:-STATES_KEPT]:
            old.unlink()
    except OSError:
        return
