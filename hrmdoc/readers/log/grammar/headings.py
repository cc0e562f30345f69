"""Lines that say whose measures stand below them: `Validation results:`, `Test set`."""

from __future__ import annotations

from hrmdoc.readers.log.grammar.numbers import split_numbers
from hrmdoc.readers.log.grammar.words import EVALUATIONS, split_of

_ENDS = (":", "=", "-", "*", "...", "…")
_ALONE = frozenset({"test set", "dev set", "val set", "valid set", "validation set", "validation"}) | {
    f"[{split}]" for split in ("test", "testing", "val", "valid", "validation", "dev", "eval", "evaluation")
}
"""So they are without a mark, too, or in brackets."""
_LONGEST = 48


def may_head(text: str) -> bool:
    """Whether a line ends like a heading, or is one by its words."""
    words = text.strip()
    return words.endswith(_ENDS) or words.lower() in _ALONE


def heading_in(text: str) -> str | None:
    """The split that a heading names, "" where it names none that is evaluated; None for lines that are
    none."""
    if len(text.strip()) > _LONGEST or not may_head(text) or len(split_numbers(text)) != 1:
        return None
    split = split_of(text)
    return split if split in EVALUATIONS else ""
