"""Lines that say whose measures stand below them: `Validation results:`, `Test set`."""

from __future__ import annotations

import re

from hrmdoc.readers.log.grammar.numbers import split_numbers
from hrmdoc.readers.log.grammar.words import EVALUATIONS, split_of
from hrmdoc.text import patterns

_ENDS = (":", "=", "-", "*", "...", "…")
_ALONE = frozenset({"test set", "dev set", "val set", "valid set", "validation set", "validation"}) | {
    f"[{split}]" for split in ("test", "testing", "val", "valid", "validation", "dev", "eval", "evaluation")
}
"""So they are without a mark, too, or in brackets."""
_SPLIT_LOGGERS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "eval", "evaluation"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
    "dev": "dev",
}
"""`[Val] loss: 0.5`: a logger, or a word in brackets, that is the name of a split."""
_SUMMARY = ("* Acc@", "* Prec@", "* AP", "* mAP", "* mIoU", "* IoU")
"""How the ImageNet example and its many copies begin the line behind a validation."""
_EVALUATES = patterns.lazy(
    r"evaluat\w{1,3}(?: on)?[ :_-]{1,3}(?:the )?"
    r"(?:train(?:ing)?|dev|test|val(?:id(?:ation)?)?)(?: set| data)?",
    re.IGNORECASE,
)
"""`evaluate:dev`, and what a line says that needs no mark either."""
_LONGEST = 48
_STAGE = patterns.lazy(
    r"[\W_]{0,60}(?:[a-z]{1,12}[\W_]{1,3}){0,3}?(?:train(?:ing)? (?:the )?(?P<net>generator|discriminator)"
    r"|adversarial training)(?: (?:net|network|model|phase|stage|only|first))?"
    r"(?: (?:with|using|by|for|on) [\w -]{1,30})?[\W_]{0,60}\Z",
    re.IGNORECASE,
)
_LONGEST_STAGE = 160


def may_head(text: str) -> bool:
    """Whether a line ends like a heading, or is one by its words."""
    words = text.strip()
    return words.endswith(_ENDS) or words.lower() in _ALONE or evaluates(words)


def evaluates(text: str) -> bool:
    """Whether a line says that a part of the data is evaluated now, and nothing else."""
    words = text.strip()
    return words[:4].lower() == "eval" and _EVALUATES.fullmatch(words) is not None


def heading_in(text: str) -> str | None:
    """The split that a heading names, "" where it names none that is evaluated; None for lines that are
    none."""
    if len(text.strip()) > _LONGEST or not may_head(text) or len(split_numbers(text)) != 1:
        return None
    split = split_of(text)
    return split if split in EVALUATIONS else ""


def stage_in(text: str) -> str | None:
    """`generator` or `discriminator` where a heading says that one of them is trained from here on, "" where
    another stage begins; None for lines that head none."""
    found = _STAGE.match(text) if len(text) <= _LONGEST_STAGE else None
    return None if found is None else (found["net"] or "").lower()


def split_before(logger: str, text: str) -> str | None:
    """The split that stands before a line: its logger, or the star of the line behind a validation."""
    split = _SPLIT_LOGGERS.get(logger.lower()) if logger else None
    return "val" if split is None and text.lstrip().startswith(_SUMMARY) else split
