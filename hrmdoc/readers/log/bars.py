"""Progress bars: tqdm's grammar, and which of several bars counts the steps of the run."""

from __future__ import annotations

from msgspec import Struct

from hrmdoc.text import patterns

_COUNT = r"(?P<n>\d[\d.]*[kMG]?)/(?P<total>\d[\d.]*[kMG]?)"
_BAR = patterns.lazy(
    rf"\d{{1,3}}%\|[^|]{{0,1000}}\|\s{{0,8}}{_COUNT}"
    r"\s{0,4}\[[\d:?]{1,16}<[^,\]]{1,24}(?:, {0,4}(?P<unit>[^,\]=]{0,24})(?=[,\]]|\Z))?"
    r"(?:, ?(?P<postfix>[^\]]{0,4000}))?(?P<end>\]?)"
)
"""NeMo's bar tells no rate."""
_PLAIN_BAR = patterns.lazy(
    rf"\d{{1,3}}% [━─╸╺]{{4,400}} {_COUNT}(?: {{1,4}}(?P<unit>[\d.]{{1,12}}[A-Za-z]{{1,8}}/[A-Za-z]{{1,8}}))?"
    r" {1,4}[\d:.hms]{2,16}(?:<[\d:.hms]{2,16})?(?P<postfix>)(?P<end>)"
)
"""Ultralytics' own bar: `64: 100% ━━━━━━━━━━━━ 4/4 2.3it/s 1.8s`, before the end `1.8s<0.6s`, at first
without a rate."""
_NUMBERED_BAR = patterns.lazy(
    rf"\[{_COUNT}\]\s{{1,4}}\d{{1,3}}%\|[^|\[,]{{0,400}}\|?(?:, ?(?P<postfix>[^\[]{{1,2000}}?))?(?P<unit>)\s{{0,8}}"
    r"\[[\d:?]{1,16}<[\d:?]{1,16}(?P<end>\]?)"
)
"""Ignite's bar: `Epoch [1/3]: [4/10]  40%|████      , loss=0.73 [00:00<00:00]`."""
_STEP_UNITS = ("it/s", "s/it", "step/s", "s/step", "batch/s", "s/batch", "ba/s", "s/ba", "?")
_KINDS = (_BAR, _PLAIN_BAR, _NUMBERED_BAR)
_FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9}
_MOST = 1e18  # what is larger is no count of steps, and does not fit in 64 bits


class Bar(Struct, frozen=True):
    """One redraw of a bar: of steps, of other things such as images, or of bytes. `after` is what follows it
    there."""

    desc: str
    n: int
    total: int
    postfix: str
    counts_steps: bool
    counts_bytes: bool
    after: str


def bars_of(text: str) -> list[Bar]:
    """The bars on a piece, in order."""
    found = next((found for kind in _KINDS if (found := list(kind.finditer(text)))), [])
    bars = []
    for at, match in enumerate(found):
        desc = text[found[at - 1].end() if at else 0 : match.start()].strip()
        after = text[match.end() :] if at + 1 == len(found) else ""
        unit = (match["unit"] or "?").strip()
        n, total, postfix = _count(match["n"]), _count(match["total"]), match["postfix"] or ""
        if not match["end"] and match.end() == len(text):
            postfix = postfix.rpartition(",")[
                0
            ]  # a bar wider than its terminal loses its end, which may be half a number
        desc = desc.removesuffix(":").strip()
        bars.append(Bar(desc, n, total, postfix, unit.endswith(_STEP_UNITS), unit.endswith("B/s"), after))
    return bars


def _count(text: str) -> int:
    factor = _FACTORS.get(text[-1])
    try:
        value = float(text[:-1] if factor else text) * (factor or 1)
        return int(value) if value < _MOST else 0
    except ValueError:
        return 0


class MainBar:
    """Finds the bar without a description that counts the run's steps among those of evaluations.

    The first that is open when a training record comes is the one, until it is complete.
    """

    def __init__(self) -> None:
        self.n: int | None = None
        self.total: int | None = None
        self._open: dict[int, int] = {}

    @property
    def complete(self) -> bool:
        """Whether the main bar has reached its end, or none is known."""
        return self.total is None or self.n is None or self.n >= self.total

    @property
    def unseen(self) -> bool:
        """Whether no bar may be the main one."""
        return self.n is None and not self._open

    def see(self, bar: Bar) -> bool:
        """Takes a redraw in; says whether it is the main bar's."""
        if bar.n >= bar.total:
            self._open.pop(bar.total, None)
        else:
            self._open[bar.total] = bar.n
        if bar.total != self.total:
            return False
        self.n = bar.n
        return True

    def choose(self) -> None:
        """A training record came: if no bar is known to be the main one, the first open one is."""
        if self._open and self.complete:
            self.total, self.n = next(iter(self._open.items()))
