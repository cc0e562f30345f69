"""Records of several epochs on one line, where the program wrote no line end between them."""

from __future__ import annotations

from itertools import pairwise

from hrmdoc.text import patterns

_HEAD = patterns.lazy(
    r"(?:(?<=\s)|\A|(?<=\d)(?=e))(\[|[Ee]poch:? )(\d{1,6})(?:/\d{1,6})?\]?[ :,|-]{1,3}"
    r"([A-Za-z_]\w{0,30})(?=[\w ]{0,30}[:=])"
)
"""`[010] train_loss: 0.305` or `Epoch 10: loss=0.3`: a counter, and the name that follows."""
_SHORTEST = 40


def records_in(text: str) -> list[str]:
    """The records of a line, the text as it is where there is one. Each begins with a counter that counts on
    or anew, and with the same name behind it."""
    if len(text) < _SHORTEST or max(text.count("["), text.count("poch")) < 2:
        return [text]
    heads = list(_HEAD.finditer(text))
    if len(heads) < 2 or len({(head[1], head[3]) for head in heads}) > 1:
        return [text]
    counts = [int(head[2]) for head in heads]
    if any(later <= count and later > 1 for count, later in pairwise(counts)):
        return [text]
    starts = [0 if at == 0 else head.start() for at, head in enumerate(heads)]
    return [text[start:end].rstrip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
