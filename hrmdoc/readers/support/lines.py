"""Cuts a stream of bytes into blocks of whole lines, for readers whose records are lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_LINE
from hrmdoc.record.records import Damage, Record


class Lines:
    """Keeps the torn last line. A line longer than `MAX_LINE` is dropped and noted in `too_long`.

    Attributes:
        number: 1-based number of the first line of the next block.
        too_long: numbers of the lines that were dropped since this list was last emptied.
        hole: number of the first line in or before which NUL bytes stood, as a machine leaves that lost its
            power; 0 where none did.
    """

    def __init__(self) -> None:
        self.number = 1
        self.too_long: list[int] = []
        self.hole = 0
        self._rest: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, data: bytes) -> bytes:
        """All whole lines that `data` completes, with their line ends and without NUL bytes; may be empty."""
        if b"\0" in data:
            self.hole = self.hole or self.number + data.count(b"\n", 0, data.index(b"\0"))
            data = data.replace(b"\0", b"")
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold(data)
            return b""
        head = data[:cut]
        if self._skipping:
            self._skipping = False
            self.too_long.append(self.number)
            self.number += 1
            head = head[head.index(b"\n") + 1 :]
        block = b"".join((*self._rest, head))
        self._rest, self._held = [], 0
        self._hold(data[cut:])
        return block

    def close(self) -> bytes:
        """The last line when it has no line end, made whole."""
        rest = b"".join(self._rest)
        self._rest, self._held = [], 0
        if self._skipping:
            self.too_long.append(self.number)
        return rest + b"\n" if rest else b""

    def split(self, block: bytes) -> list[bytes]:
        """The lines of a block without their ends; advances `number` by as many, so read `number` first."""
        lines = block.split(b"\n")
        lines.pop()
        for place, line in enumerate(lines if len(block) > MAX_LINE else ()):
            if len(line) > MAX_LINE:
                self.too_long.append(self.number + place)
                lines[place] = b""
        self.number += len(lines)
        return lines

    def _hold(self, data: bytes) -> None:
        if self._skipping or not data:
            return
        self._rest.append(data)
        self._held += len(data)
        if self._held > MAX_LINE:
            self._rest, self._held, self._skipping = [], 0, True


class LineSession(ABC):
    """A session whose records are lines: `_block` gets whole ones.

    Args:
        context: the file.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lines = Lines()
        self._hole_told = False

    def feed(self, data: bytes) -> Iterator[Record]:
        """Records of every whole line."""
        block = self._lines.feed(data)
        if self._lines.hole and not self._hole_told:
            self._hole_told = True
            what = "holds NUL bytes, as a loss of power leaves them; they were passed over"
            yield Damage(self._context.path, self._lines.hole, what)
        yield from self._block(block)

    def close(self) -> Iterator[Record]:
        """Those of the last line, when no line end follows."""
        yield from self._block(self._lines.close())

    @abstractmethod
    def _block(self, block: bytes) -> Iterator[Record]:
        """Records of whole lines; `block` may be empty."""

    def _overlong(self) -> Iterator[Damage]:
        """Notes on lines that were left out since the last call."""
        for line in self._lines.too_long:
            yield Damage(
                self._context.path,
                line,
                f"the line is longer than {MAX_LINE >> 20} MiB and was left out",
                left_out=1,
                incomplete=True,
            )
        self._lines.too_long.clear()
