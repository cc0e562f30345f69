"""The progress bar that Rich draws for Lightning: into a file goes its last frame alone, wrapped over several
lines."""

from __future__ import annotations

from hrmdoc.readers.log.flow import Position
from hrmdoc.readers.log.lines import LineReader
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import RankState
from hrmdoc.text import patterns

_BAR = patterns.lazy(
    r"Epoch (\d{1,7})/(\d{1,7}|-\d|∞) {1,9}[━╸╺]{3,400} {1,9}(\d{1,9})/(\d{1,9}|--) +[\d:-]{1,12} • [\d:-]{1,12}"
    r" +[\d.]{1,12}(?:it/s|s/it)"
)
_MOST_LINES = 40
_INDENT = " " * 20


class RichBar:
    """Gathers the lines of one frame; the line after its last one lets it go."""

    def __init__(self, sink: Sink, lines: LineReader) -> None:
        self._sink = sink
        self._lines = lines

    def read(self, state: RankState, text: str, mark: Mark) -> bool:
        """Whether the line belongs to a frame."""
        if state.frame and text.startswith(_INDENT) and len(state.frame) < _MOST_LINES:
            state.frame.append(text.strip())
            return True
        self.flush(state, mark)
        found = _BAR.match(text) if "━" in text else None
        if found is None:
            return False
        if found.group(4).isdigit():
            done = int(found.group(1)) * int(found.group(4)) + int(
                found.group(3)
            )  # Lightning counts epochs from 0
            state.flow.place(Position(step=done, restarts=False))
        state.frame.append(text[found.end() :].strip())
        return True

    def flush(self, state: RankState, mark: Mark) -> None:
        """The frame is whole: its measures become points."""
        if state.frame:
            told = " ".join(state.frame)
            state.frame.clear()
            self._sink.points(self._lines.values_in(told), state.flow.step, "step", mark, precision=0)
