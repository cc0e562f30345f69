"""Numbers whose decimals stand behind a comma, `0,4321` and `1.234,5`, as programs write them in many
countries.

`1,234` may be meant either way, so a file is read as its first number says that can be read in one way only.
"""

from __future__ import annotations

from hrmdoc.text import patterns

_REST = r"(?:[eE][-+]?\d{1,3})?\s{0,4}%?"
_GROUPS = r"[1-9]\d{0,2}(?:\.\d{3}){1,6}"
_COMMA = patterns.lazy(rf"[-+]?(?:0,\d+|\d+,(?:\d{{1,2}}|\d{{4,}})|\d{{4,}},\d+|{_GROUPS},\d+){_REST}")
_POINT = patterns.lazy(rf"[-+]?(?:\d*|\d{{1,3}}(?:,\d{{3}}){{1,6}})\.\d+{_REST}")
_GROUPED = patterns.lazy(rf"[-+]?{_GROUPS}")
_MEASURE = patterns.lazy(
    r"(?i)(?:loss|acc|accuracy|lr|rate|ppl|perplexity|reward|score|error|mae|r?mse|norm|entropy|f1|auc)['\")]?\s{0,2}"
    r"[:=]\s{0,3}([-+]?\d[\d.,]{0,24}(?:e-?\d{1,3})?)"
)
_NUMBER = patterns.lazy(r"(?<![\w.,])\d[\d.]{0,24},\d{1,20}(?![.,]?\d)")
_LOOKS = 500
"""So many lines of metrics that say nothing end the search."""
_LONGEST = 2000
"""Characters of a line that are searched."""
_WRITTEN = patterns.lazy(rf"([-+]?)({_GROUPS}|\d+)(?:,(\d+))?([^\d.,].*)?")


def comma_in(cell: str, *, groups: bool = True) -> bool | None:
    """Whether a comma parts the decimals of a number: True, False for a point, None where it may be either or
    is no number.

    Args:
        cell: the number as written.
        groups: whether points may part thousands, as in `1.234`.
    """
    cell = cell.strip()
    if len(cell) > 64:
        return None
    if "," in cell and _COMMA.fullmatch(cell):
        return True
    if "." in cell and _POINT.fullmatch(cell) and not (groups and _GROUPED.fullmatch(cell)):
        return False
    return None


def with_point(cell: str) -> str:
    """A number with a decimal comma as others write it; whatever else it is, as it is."""
    found = _WRITTEN.fullmatch(cell.strip()) if "," in cell or "." in cell else None
    if found is None or (found[3] is None and "." not in found[2]):
        return cell
    decimals = f".{found[3]}" if found[3] else ""
    return f"{found[1]}{found[2].replace('.', '')}{decimals}{found[4] or ''}"


class Decimals:
    """Which sign one file writes before decimals, as far as it was read.

    Attributes:
        comma: None as long as nothing showed it.
    """

    def __init__(self) -> None:
        self.comma: bool | None = None

    def see(self, cells: list[str], *, groups: bool) -> None:
        """Learns from the cells of one row; what is known stays."""
        if self.comma is None:
            self.comma = next(
                (found for cell in cells if (found := comma_in(cell, groups=groups)) is not None), None
            )


class PlainText:
    """Lines of one log with points before all decimals."""

    def __init__(self) -> None:
        self._decimals = Decimals()
        self._left = _LOOKS

    @property
    def wanted(self) -> bool:
        """Whether `read` may still change a line."""
        return self._decimals.comma is not False

    def read(self, text: str) -> str:
        """The line; learns from the measures on it which sign the log uses."""
        if self._decimals.comma is None:
            self._decimals.see([cell.rstrip(",.") for cell in _MEASURE.findall(text[:_LONGEST])], groups=True)
            self._left -= 1
            if self._decimals.comma is None and self._left == 0:
                self._decimals.comma = False
        return _NUMBER.sub(lambda found: with_point(found[0]), text) if self._decimals.comma else text
