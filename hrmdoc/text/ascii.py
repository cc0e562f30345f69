"""Signs that a terminal or pipe without Unicode cannot show, as letters that it can."""

from __future__ import annotations

import codecs
import sys

NAME = "hrmdoc.ascii"
_SIGNS = dict(zip("✗✓·−–—×▲’▁▂▃▄▅▆▇█│─•", "X+----x^'__..-==#|-*", strict=True)) | {"→": "->", "…": "..."}


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_SIGNS.get(sign, "?") for sign in signs), error.end


codecs.register_error(NAME, _spell)


def spell_what_cannot_be_shown() -> None:
    """Lets standard output and error take any text, whatever their encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and "utf" not in (stream.encoding or "").lower():
            reconfigure(errors=NAME)
