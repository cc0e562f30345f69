"""Fits of a search over settings, as scikit-learn's GridSearchCV prints them: `[CV 2/3] END C=0.1, gamma=1;,
score=0.912 total time=   0.0s`. Each is a training of its own, so that the scores are no curve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.state.cursor import Cursor, Line
from hrmdoc.text import patterns

_FIT = patterns.lazy(
    r"\[CV(?: \d{1,4}/\d{1,4}(?:; \d{1,9}/\d{1,9})?)?\] END .{0,2000};,? "
    r"(?P<scores>.{1,600}) total time=\s{0,8}[\d.]{1,12}"
)
_SCORE = patterns.lazy(
    r"(?P<name>\w{1,60})(?:=|: )"
    r"(?:(?P<alone>[-+.\w]{1,24})|\((?:train=(?P<train>[-+.\w]{1,24}), )?test=(?P<test>[-+.\w]{1,24})\))"
)


class GridSearch(Format):
    """One line a fit; the side that was held out is the validation's."""

    ORDER: ClassVar[int] = 40
    MARKS: ClassVar[tuple[str, ...]] = ("[CV",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The scores of a fit, not its settings."""
        del cursor
        found = _FIT.match(line.text)
        if found is None:
            return None
        reading = Reading()
        try:
            values = [pair for score in _SCORE.finditer(found["scores"]) for pair in _sides(score)]
        except ValueError:
            return None
        reading.add(values, None, "index", line.mark)
        self.log.facts.add("run.searched", True, "run", line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that begins with no fit."""
        del cursor
        return not line.text.startswith("[CV")


def _sides(score: re.Match[str]) -> Iterator[tuple[str, float]]:
    """A score of the part that was held out, and of the other where it is shown. What bears a minus so that
    more is better, `neg_log_loss`, is given without it."""
    turned = score["name"].startswith("neg_")
    for side, value in (("validation", score["alone"] or score["test"]), ("train", score["train"])):
        if value:
            yield f"{side} {score['name'].removeprefix('neg_')}", -float(value) if turned else float(value)
