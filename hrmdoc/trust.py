"""Which settings files may run, send, act or load rules.

A cloned repository or a shared folder may hold a `hrmdoc.toml` of anybody. Thresholds, roles and facts of
such a file count where one works; what could do harm counts only in the user's own settings file, or once
`hrmdoc trust` has taken in the very content of the file, as git and direnv ask for it too.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hrmdoc import systems
from hrmdoc.errors import ConfigError
from hrmdoc.paths import config_dir, replace_file, state_dir

RESTRICTED = ("alerts", "heartbeat", "policy", "rules")
"""Tables and keys that let a file run a command, send or fetch data, change a run or its config, or load
rules."""


def own_file() -> Path:
    """The user's own settings, which need no trust."""
    return config_dir() / "hrmdoc.toml"


def withheld(table: Mapping[str, Any], path: Path) -> list[str]:
    """What of the settings in `table`, read from `path`, does not count."""
    asked = [name for name in RESTRICTED if table.get(name)]
    return [] if not asked or path == own_file() or is_trusted(path) else asked


def is_trusted(path: Path) -> bool:
    """Whether the user trusts this content at this place, and nobody else can have changed either."""
    return objection(path) is None and _record().get(_place(path)) == _digest(path)


def objection(path: Path) -> str | None:
    """Why the file can never be trusted: another owner, or a place that others may write to; else None."""
    try:
        for one in (path.absolute(), *path.absolute().parents):
            status = one.stat()
            owners = (systems.user(),) if one == path.absolute() else (systems.user(), 0)
            if status.st_uid not in owners:
                return f"{one} belongs to another user"
            others_write = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
            if others_write:
                return f"others may write to {one}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None


def trust(path: Path, *, revoke: bool = False) -> None:
    """Remembers the present content of a settings file as trusted, or forgets it.

    Raises:
        ConfigError: the file can never be trusted, or the record cannot be written.
    """
    if not revoke and (why := objection(path)) is not None:
        raise ConfigError(f"cannot be trusted: {why}", file=path)
    record = _record()
    if revoke:
        record.pop(_place(path), None)
    else:
        record[_place(path)] = _digest(path)
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    if not replace_file(_file(), text):
        raise ConfigError("the record of trusted settings cannot be written", file=_file())


def _file() -> Path:
    return state_dir() / "trusted.json"


def _place(path: Path) -> str:
    return str(path.resolve())


def _digest(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record() -> dict[str, str]:
    """Place -> digest of every trusted file; empty where there is no record of this user."""
    try:
        if _file().stat().st_uid != systems.user():
            return {}
        known = json.loads(_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
