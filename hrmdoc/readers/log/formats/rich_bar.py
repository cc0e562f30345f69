"""The progress bar that Rich draws for Lightning: into a file goes its last frame alone, wrapped over several
lines."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.record.records import Damage
from hrmdoc.text import patterns

_BAR = patterns.lazy(
    r"Epoch (\d{1,7})/(\d{1,7}|-\d|∞) {1,9}[━╸╺]{3,400} {1,9}(\d{1,9})/(\d{1,9}|--) +"
    r"[\d:-]{1,12} •(?: [\d:-]{1,12})? +[\d.]{1,12}(?:it/s|s/it)"
)
_WRAPPED_TIME = patterns.lazy(r"[\d:-]{4,12}(?: {2,}|$)")
_ONE_FRAME = (
    "Rich draws the last frame of its bar alone into a file: RichProgressBar(leave=True) keeps one an epoch, "
    "a CSVLogger the curve"
)
_MOST_LINES = 40
_INDENT = " " * 20


class _Frame(State):
    """The lines of a frame that is not whole yet, and the place of the first."""

    lines: list[str] = field(default_factory=list)
    mark: Mark = Mark(0)
    frames: int = 0
    epoch: int = 0

    @property
    def open(self) -> bool:
        """Whether the next line may belong to it."""
        return bool(self.lines)


class RichBar(Format):
    """Gathers the lines of one frame; the line after its last one lets it go."""

    MARKS: ClassVar[tuple[str, ...]] = ("━",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A line of a frame."""
        frame, text = cursor.of(_Frame), line.text
        if frame.lines and text.startswith(_INDENT) and len(frame.lines) < _MOST_LINES:
            rest = text.strip()
            time = _WRAPPED_TIME.match(rest)
            frame.lines.append(rest[time.end() :] if time else rest)
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
        frame.mark, frame.epoch = line.mark, int(found.group(1))
        frame.lines.append(text[found.end() :].strip())
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without a bar."""
        del cursor
        return "━" not in line.text

    def close(self, cursor: Cursor) -> Reading | None:
        """The last frame; where it was the only one, what keeps the others."""
        reading, frame = Reading(), cursor.of(_Frame)
        self._flush(cursor, frame, reading)
        if frame.frames == 1 and frame.epoch > 0:
            sink = self.log.sink
            sink.record(Damage(sink.file, frame.mark.line, _ONE_FRAME))
            frame.frames = 0
        return reading

    def _flush(self, cursor: Cursor, frame: _Frame, reading: Reading) -> None:
        """The frame is whole: its measures become points."""
        if frame.lines:
            values = self.log.plans.values_in(" ".join(frame.lines))
            frame.lines.clear()
            frame.frames += 1
            reading.add(values, cursor.flow.step, "step", frame.mark, precision=0)
