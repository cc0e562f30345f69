"""What is remembered of one rank between its lines."""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field

from hrmdoc.readers.log.bars import MainBar
from hrmdoc.readers.log.dicts import Mapping
from hrmdoc.readers.log.flow import Flow
from hrmdoc.readers.log.folds import Fold
from hrmdoc.readers.log.lists import Column
from hrmdoc.readers.log.objects import Part
from hrmdoc.readers.log.reports import Report
from hrmdoc.readers.log.sink import Mark
from hrmdoc.record.records import Axis

_MOST_FRAMES = 40


class Held(Struct):
    """Values that wait for a later line to tell their place or their worth."""

    values: list[tuple[str, float]]
    step: int | None
    axis: Axis
    mark: Mark
    n: int = 0
    total: int = 0


class RankState(Struct):
    """The state of one rank's stream.

    Attributes:
        flow: epoch and step.
        bar: the bar that counts the run's steps.
        waiting: printed mappings that wait for the bar to be redrawn, which tells their step.
        redraw: the newest redraw of a bar with measures; the last one at a position is kept.
        keras: the newest redraw of an epoch's bar.
        drawn: redraws of such a bar in the middle of an epoch that no line has named: what a log cut out of
            it shows.
        last_slow: newest value of measures that change once an epoch but are redrawn always.
        block: lines that may still belong to an indented block after a header.
        heading: the split that a heading named for the lines below it.
        columns: names of the columns of a table.
        upper: the cells of a framed line that may be the first one of a header.
        sides: the splits whose values stand side by side.
        rows: lines that may still be rows under these columns.
        table: rows of a boxed table until its lower edge.
        epoch_shapes: what is known of lines that tell an epoch only: the first of a shape waits.
        steps_per_epoch: as last seen, 0 when unknown.
        traceback: a traceback is open.
        harmless: it is one that Python ignored.
        frames: its last frames, and whether each was kept already.
        fold: the exception of the line before, whose message may go on below it.
        summary: lines that may still belong to a launcher's failure summary.
        resumed: line and step of the last word of a resume.
        config: lines that may still belong to a printed configuration.
        objects: what is open of a mapping of many lines, the innermost last.
        report, trial: the report of a trial that is being read, and whose reports and rows are.
        frame: the lines of a Rich bar that is not whole yet.
        best, score: the best value that CatBoost told last, and whether more of it is better.
        column: numbers alone, one to a line, under a heading.
        filed: the log holds Composer's own rows, which its bars repeat.
    """

    flow: Flow = field(default_factory=Flow)
    bar: MainBar = field(default_factory=MainBar)
    waiting: list[tuple[Mapping, Mark]] = field(default_factory=list)
    redraw: Held | None = None
    keras: Held | None = None
    drawn: list[Held] = field(default_factory=list)
    last_slow: dict[str, float] = field(default_factory=dict)
    block: int = 0
    heading: str = ""
    columns: tuple[str, ...] = ()
    upper: list[str] = field(default_factory=list)
    sides: tuple[str, str] | None = None
    rows: int = 0
    table: dict[str, float] | None = None
    section: str = ""
    epoch_shapes: dict[tuple[str, ...], Held | None] = field(default_factory=dict)
    counting_shape: tuple[str, ...] | None = None
    steps_per_epoch: float = 0.0
    traceback: bool = False
    harmless: bool = False
    frames: deque[tuple[str, Mark, bool]] = field(default_factory=lambda: deque(maxlen=_MOST_FRAMES))
    fold: Fold | None = None
    summary: int = 0
    resumed: tuple[int, int | None] | None = None
    config: int = 0
    objects: list[Part] = field(default_factory=list)
    report: Report | None = None
    trial: str = ""
    frame: list[str] = field(default_factory=list)
    column: Column | None = None
    filed: bool = False
    best: float | None = None
    score: bool = False

    @property
    def hungry(self) -> bool:
        """Whether the next line is wanted even if no word in it is known."""
        return (
            self.traceback
            or bool(self.summary or self.block or self.rows or self.config or self.objects or self.frame)
            or self.table is not None
            or self.report is not None
            or self.column is not None
            or self.fold is not None
        )
