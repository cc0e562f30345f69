"""A title with what is said of it."""

from __future__ import annotations


def titled(title: str, said: str) -> str:
    """Both in one line, once where they are the same: evidence whose numbers are not known is the title."""
    return f"{title}: {said}" if said and said != title else title
