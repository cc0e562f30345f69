"""The address and the secret of a route, read when something is sent and kept no longer."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from hrmdoc.errors import ConfigError
from hrmdoc.routes import Route, secret_file
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import GONE, redact

_BETWEEN = re.compile(r"[/?&=@:]+")
_SHORTEST = 6
"""Letters from which on a part of an address may be a secret."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a target is reached. Its text never shows what it holds."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    command: str = field(default="", repr=False)

    @classmethod
    def of(cls, route: Route, origin: str) -> Access:
        """Of a route; `origin` is the file of the settings.

        Raises:
            ConfigError: the variable is not set, or the file cannot be read; it names where, not what.
        """
        url = route.url or _looked_up(route.url_env, route.url_file, origin)
        return cls(url, _looked_up(route.token_env, route.token_file, origin), route.command or "")


def _looked_up(variable: str | None, file: str | None, origin: str) -> str:
    if variable is not None:
        value = os.environ.get(variable, "").strip()
        if not value:
            raise ConfigError(f"the environment variable {variable} is not set")
        return value
    if file is None:
        return ""
    path = secret_file(file, origin)
    try:
        with path.open(encoding="utf-8") as opened:
            value = opened.read(1 << 16).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text"
        raise ConfigError(f"{path}: {why}") from error
    if not value or "\n" in value:
        raise ConfigError(f"{path}: must hold one line")
    return value


def scrubbed(text: str, access: Access) -> str:
    """Words about a failure without the secrets that they may repeat."""
    pieces = _BETWEEN.split(access.url)
    plain = set(pieces[:3]) if access.url.startswith("http") and "@" not in access.url else {"https", "http"}
    hidden = {access.url, access.token, *pieces, *map(unquote, pieces)} - plain
    for one in sorted(hidden, key=len, reverse=True):
        if len(one) >= _SHORTEST:
            text = text.replace(one, GONE)
    return redact(clean(text, 300))
