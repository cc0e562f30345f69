"""Messages that a terminal or a box around a traceback folded: the parts are put together again."""

from __future__ import annotations

from msgspec import Struct

from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns
from hrmdoc.text.stamps import LEVEL

_SHORTEST, _LONGEST = 40, 260
"""Characters: narrower terminals are rare, and what is longer was not folded."""
_SLACK = 30
"""Characters by which lines of one message differ where the terminal broke between words."""
_MOST_PARTS = 6
_OTHER = patterns.lazy(
    r"Traceback |File \"|During handling|The above exception|[{\[<|│╭╰+=*#>]|-{3}|\d{1,3}%|"
    rf"(?:[A-Za-z_][\w.]{{0,100}})?(?:Error|Exception|Warning|Interrupt)\b|{LEVEL}\b|"
    r"(?:[Ee]poch|[Ss]tep|[Ii]ter\w{0,10})[ :=\[]{1,3}\d"
)
"""How a line begins that belongs to no message before it."""


class Fold(Struct):
    """An exception's line, and those below it that may be the rest of its message."""

    parts: list[str]
    mark: Mark
    last: int

    def take(self, text: str, line: int) -> bool:
        """Whether the message may go on below this line, which may be its next part; ends it otherwise."""
        begins_here = len(self.parts) == 1 and self._bare
        width, part = _LONGEST if begins_here else len(self.parts[self._bare]), text.strip()
        if (
            line > self.last + (2 if begins_here else 1)
            or len(text) > width + _SLACK
            or not part
            or _OTHER.match(part)
        ):
            return False
        self.parts.append(part)
        self.last = line
        return len(text) >= width - _SLACK and len(self.parts) < _MOST_PARTS

    @property
    def _bare(self) -> bool:
        """Whether the exception's line holds none of its message: that begins below, maybe behind an empty
        line."""
        return len(self.parts[0]) < _SHORTEST

    def whole(self) -> list[str]:
        """The message in one line, folded between words; also as folded at a column, where the widths allow
        it."""
        if len(self.parts) < 2:
            return []
        widths = {len(part) for part in self.parts[self._bare : -1]}
        exact = len(widths) == 1 and (len(self.parts) > 2 or not widths.isdisjoint((80, 100, 120, 132, 160)))
        return [
            " ".join([self.parts[0].rstrip(), *self.parts[1:]]),
            *(["".join(self.parts)] if exact else []),
        ]


def opens(text: str) -> bool:
    """Whether a message that begins with this line may go on in the next, or begins there: `RuntimeError:`
    and no more."""
    return _SHORTEST <= len(text) <= _LONGEST or (len(text) < _SHORTEST and text.rstrip().endswith(":"))
