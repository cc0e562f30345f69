"""The progress bar that Rich draws for Lightning: into a file goes its last frame alone, wrapped over several
lines."""

from __future__ import annotations

from msgspec import field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_BAR = patterns.lazy(
    r"Epoch (\d{1,7})/(\d{1,7}|-\d|∞) {1,9}[━╸╺]{3,400} {1,9}(\d{1,9})/(\d{1,9}|--) +"
    r"[\d:-]{1,12} • [\d:-]{1,12} +[\d.]{1,12}(?:it/s|s/it)"
)
_MOST_LINES = 40
_INDENT = " " * 20


class _Frame(State):
    """The lines of a frame that is not whole yet, and the place of the first."""

    lines: list[str] = field(default_factory=list)
    mark: Mark = Mark(0)

    @property
    def open(self) -> bool:
        """Whether the next line may belong to it."""
        return bool(self.lines)


class RichBar(Format):
    """Gathers the lines of one frame; the line after its last one lets it go."""

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A line of a frame."""
        frame, text = cursor.of(_Frame), line.text
        if frame.lines and text.startswith(_INDENT) and len(frame.lines) < _MOST_LINES:
            frame.lines.append(text.strip())
            return Reading()
        reading = Reading()
        self._flush(cursor, frame, reading)
        found = _BAR.match(text) if "━" in text else None
        if found is None:
            reading.left = "line"
            return reading
        if found.group(4).isdigit():
            done = int(found.group(1)) * int(found.group(4)) + int(found.group(3))  # epochs count from 0
            cursor.flow.place(Position(step=done, restarts=False))
        frame.mark = line.mark
        frame.lines.append(text[found.end() :].strip())
        return reading

    def close(self, cursor: Cursor) -> Reading | None:
        """The last frame."""
        reading = Reading()
        self._flush(cursor, cursor.of(_Frame), reading)
        return reading

    def _flush(self, cursor: Cursor, frame: _Frame, reading: Reading) -> None:
        """The frame is whole: its measures become points."""
        if frame.lines:
            values = self.log.plans.values_in(" ".join(frame.lines))
            frame.lines.clear()
            reading.add(values, cursor.flow.step, "step", frame.mark, precision=0)
