"""Signs that a terminal or pipe cannot show, as letters that it can: all but ASCII where it knows no Unicode,
and what stands for bytes that are no UTF-8, as names of files may hold, where it does."""

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
    """Lets standard output and error take any text, whatever their encoding. Half a surrogate pair becomes an
    escape, which JSON reads too."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            unicode = "utf" in (stream.encoding or "").lower()
            reconfigure(errors="backslashreplace" if unicode else NAME)
