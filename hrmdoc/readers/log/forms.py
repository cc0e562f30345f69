"""Templates that came often, as patterns: matching one against a line is several times as fast as finding its
numbers.

A form accepts a line only where the general search for numbers would cut it in the same places. Digits that
follow what is not part of a number, up to what cannot be part of it, are one number however long they are; a
test compares both ways.
"""

from __future__ import annotations

import re

_OFTEN = 8
_PER_BEGINNING = 8
_MOST_BEGINNINGS = 256
_BEGINNING = 4
_MOST_COUNTED = 4096
_NUMBER = r"([-+]?\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+)"  # what follows cannot be part of it, so nothing is ever given back
_PLAIN = re.compile(_NUMBER)
_GROUP = re.compile(r",(?:\d|\Z)")
_MAY_BEGIN = ("+", "-", ".")
_MAY_GO_ON = frozenset("0123456789.eE+-")

Gaps = tuple[str, ...]


class Forms:
    """Patterns by the first characters of their lines."""

    def __init__(self) -> None:
        self._counts: dict[Gaps, int] = {}
        self._forms: dict[str, list[tuple[re.Pattern[str], Gaps]]] = {}

    def match(self, text: str) -> tuple[Gaps, list[str]] | None:
        """Template and numbers of a line of a known form."""
        forms = self._forms.get(text[:_BEGINNING])
        if forms is None:
            return None
        for place, (pattern, gaps) in enumerate(forms):
            found = pattern.fullmatch(text)
            if found is not None:
                if place:
                    forms.insert(0, forms.pop(place))
                return gaps, list(found.groups())
        return None

    def note(self, gaps: Gaps, numbers: list[str]) -> None:
        """Counts a template; the one that comes for the eighth time becomes a form."""
        if len(gaps[0]) < _BEGINNING:
            return
        count = self._counts.get(gaps, 0) + 1
        if count == 1 and len(self._counts) >= _MOST_COUNTED:
            self._counts.clear()
        self._counts[gaps] = count
        if count == _OFTEN and _is_plain(gaps, numbers) and len(self._forms) < _MOST_BEGINNINGS:
            forms = self._forms.setdefault(gaps[0][:_BEGINNING], [])
            forms.insert(0, (re.compile(_NUMBER.join(map(re.escape, gaps))), gaps))
            del forms[_PER_BEGINNING:]


def _is_plain(gaps: Gaps, numbers: list[str]) -> bool:
    """Whether digits alone make the numbers, and nothing before or after a number could be more of it."""
    if any(gap[-1:] in _MAY_BEGIN for gap in gaps[:-1]):
        return False
    between = all(gap and gap[0] not in _MAY_GO_ON and not _GROUP.match(gap) for gap in gaps[1:-1])
    last = not gaps[-1] or gaps[-1][0] not in _MAY_GO_ON
    return between and last and all(_PLAIN.fullmatch(number) for number in numbers)
