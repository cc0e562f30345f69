"""The numbers of many events at once.

Events of one writer look alike: they differ in time, step and value only. So records are grouped by length,
by the width of the step and by their constant bytes; one record of each group is parsed, the numbers of all
others are cut out as columns. Whatever does not fit is parsed one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.events import tb_event, wire
from hrmdoc.readers.events.tfrecord import Block
from hrmdoc.record.records import FloatArray, IntArray

_FEW = 4  # fewer alike records than this are parsed one by one
_MAX_PASSES = 16
_MAX_LAYOUTS = 4096
_MAX_LAYOUT_BYTES = 32 << 20

ByteRows = NDArray[np.uint8]
Layouts = dict[tuple[bytes, int, int], "_Layout | None"]
Found = tuple[str, IntArray, IntArray, FloatArray, FloatArray]


class Gathered:
    """The numbers of one block of records, by tag, and the events that were parsed one by one."""

    def __init__(self, block: Block, layouts: Layouts) -> None:
        self._block = block
        self._layouts = layouts
        self.starts = np.array(block.starts, np.int64)
        self.events: list[tb_event.Event] = []
        self.unreadable: list[int] = []
        self._found: list[Found] = []
        alone = np.ones(len(block.starts), np.bool_)
        for indices, rows in block.rows.values():
            alone[indices] = False
            self._rows(indices, rows)
        self._one_by_one(np.flatnonzero(alone))

    def points(self) -> list[Found]:
        """Tag, record numbers, steps, values and times."""
        return self._found

    def _rows(self, indices: IntArray, rows: ByteRows) -> None:
        """Records of one length."""
        widths = _step_widths(rows)
        for width in np.flatnonzero(np.bincount(widths + 1)) - 1:
            same = widths == width
            if width < 0:
                self._one_by_one(indices[same])
            else:
                self._same_width(indices[same], rows[same] if not same.all() else rows, int(width))

    def _same_width(self, indices: IntArray, rows: ByteRows, width: int) -> None:
        """Records of one length and one width of the step. Each pass takes those whose numbers lie where the
        first one's do."""
        for _ in range(_MAX_PASSES):
            if len(indices) < _FEW:
                break
            layout = _Layout.of(rows[0].tobytes(), width)
            if layout is None:
                self._one_by_one(indices[:1])
                indices, rows = indices[1:], rows[1:]
                continue
            alike = layout.fits(rows)
            if alike.all():
                self._alike(indices, rows, layout)
                return
            self._alike(indices[alike], rows[alike], layout)
            indices, rows = indices[~alike], rows[~alike]
        self._one_by_one(indices)

    def _alike(self, indices: IntArray, rows: ByteRows, layout: _Layout) -> None:
        """Splits by constant bytes, which hold the tags, and cuts the numbers out."""
        constant = layout.constant(rows)
        steps, times = layout.steps(rows), _column(rows, 1, "<f8")
        columns = [_column(rows, at, dtype) for at, dtype in layout.numbers]
        for group in _alike_in(constant):
            equal = bool((constant[group] == constant[group[0]]).all())
            own = self._own_layout(constant[group[0]].tobytes(), rows[group[0]], layout.width)
            if own is None or own.numbers != layout.numbers or not equal:
                self._one_by_one(indices[group])
                continue
            places, own_steps, own_times = indices[group], steps[group], times[group]
            for tag, values in zip(own.tags, columns, strict=True):
                self._found.append((tag, places, own_steps, values[group], own_times))

    def _own_layout(self, constant: bytes, row: ByteRows, width: int) -> _Layout | None:
        """The layout of records with these constant bytes, which a log repeats for ever; parsed once."""
        key = (constant, len(row), width)
        if key not in self._layouts:
            if len(self._layouts) >= min(_MAX_LAYOUTS, _MAX_LAYOUT_BYTES // len(row)):
                self._layouts.clear()
            self._layouts[key] = _Layout.of(row.tobytes(), width)
        return self._layouts[key]

    def _one_by_one(self, indices: IntArray) -> None:
        data, starts, lengths = self._block.data, self._block.starts, self._block.lengths
        for index in indices.tolist():
            try:
                event = tb_event.parse(data[starts[index] : starts[index] + lengths[index]])
            except ValueError:
                self.unreadable.append(self._block.base + starts[index] - 12)
                continue
            if event.texts or event.hparams:
                self.events.append(event)
            one, step = np.array([index], np.int64), np.array([event.step], np.int64)
            time = np.array([event.wall_time])
            for scalar in event.scalars:
                self._found.append((scalar.tag, one, step, np.array([scalar.value]), time))


def _step_widths(rows: ByteRows) -> NDArray[np.int64]:
    """How many bytes the step takes, 0 where it is left out because it is 0, -1 for records of another build.
    Shape [n]."""
    if rows.shape[1] < 20:
        return np.full(len(rows), -1)
    widths: NDArray[np.int64] = np.argmin(rows[:, 10:20] >= 0x80, axis=1).astype(np.int64) + 1
    widths[rows[:, 9] == 0x2A] = 0
    widths[((rows[:, 9] != 0x2A) & (rows[:, 9] != 0x10)) | (rows[:, 0] != 0x09)] = -1
    return widths


def _column(rows: ByteRows, at: int, dtype: str) -> FloatArray:
    width = np.dtype(dtype).itemsize
    with np.errstate(invalid="ignore"):  # of rows that another layout fits, these bytes are no numbers
        return np.ascontiguousarray(rows[:, at : at + width]).view(dtype).ravel().astype(np.float64)


def _alike_in(words: NDArray[np.uint64]) -> list[IntArray]:
    """The numbers of the rows that are likely to be equal, group by group."""
    if (words == words[0]).all():
        return [np.arange(len(words))]
    keys = _row_keys(words)
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _row_keys(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of every row, shape [n]; equal rows have equal keys."""
    keys = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):
        keys = (keys ^ words[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


class _Layout:
    """Where the numbers of an event lie, for all events of one length and one width of the step."""

    def __init__(self, record: bytes, width: int, event: tb_event.Event, same_until: int) -> None:
        self.width = width
        self.numbers = tuple((scalar.at, scalar.dtype) for scalar in event.scalars)
        self.tags = tuple(scalar.tag for scalar in event.scalars)
        self._begin = 10 + width if width else 9
        self._start = np.frombuffer(record, np.uint8)[self._begin : same_until]

    @classmethod
    def of(cls, record: bytes, width: int) -> _Layout | None:
        """The layout of one record, or None when it holds anything but plain numbers."""
        begin = 10 + width if width else 9
        try:
            event = tb_event.parse(record)
            outer = list(wire.fields(record, begin))
            inner = (
                next(wire.fields(record, outer[0].start, outer[0].end), None)
                if len(outer) == 1 and outer[0].number == 5
                else None
            )
            if (
                inner is None
                or event.texts
                or event.hparams
                or not event.scalars
                or any(one.at < 0 for one in event.scalars)
            ):
                return None
            tag = next(wire.fields(record, inner.start, inner.end))
        except (ValueError, StopIteration):
            return None
        return cls(record, width, event, tag.start)

    def fits(self, rows: ByteRows) -> NDArray[np.bool_]:
        """Which rows have the same lengths of the summary, of its first value and of its tag. Shape [n]."""
        fitting = np.ones(len(rows), np.bool_)
        for column, byte in enumerate(self._start.tolist(), self._begin):
            fitting &= rows[:, column] == byte
        return fitting

    def constant(self, rows: ByteRows) -> NDArray[np.uint64]:
        """The rows from the summary on, with zeros for the numbers and for what is missing to whole words."""
        size = rows.shape[1] - self._begin
        rest = np.zeros((len(rows), -(-size // 8) * 8), np.uint8)
        rest[:, :size] = rows[:, self._begin :]
        for at, dtype in self.numbers:
            rest[:, at - self._begin : at - self._begin + np.dtype(dtype).itemsize] = 0
        return rest.view(np.uint64)

    def steps(self, rows: ByteRows) -> IntArray:
        """The steps, shape [n]."""
        steps = np.zeros(len(rows), np.uint64)
        for place in range(self.width):
            steps |= (rows[:, 10 + place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
        return steps.view(np.int64)
