"""Messages from behind the end of a training: what fails there, a plot, an upload, another cell of a
notebook, did not end it."""

from __future__ import annotations

from hrmdoc.record.records import CELL_ENDED, Event, Line
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series


def behind_end(run: Run, record: Line | Event) -> Event | None:
    """The end of a training that its file told before `record`, and behind which it neither began again nor
    trained on; None where there is none, or where nothing that was measured shows that it trained."""
    if record.line is None:
        return None
    told = (end for end in run.events.of("end") if end.file == record.file and (end.line or 0) < record.line)
    end = max(told, key=lambda one: one.line or 0, default=None)
    if end is None or not end.line or _failed(end) or _began_between(run, end, record.line):
        return None
    measured = any(end.file in series.files for series in run.series.values())
    # what trains in a notebook is told by launches; a value behind its cell is that of an evaluation
    trained_on = not end.detail.startswith(CELL_ENDED) and _trained_on(run.progress, end, record.line)
    return end if measured and not trained_on else None


def _failed(end: Event) -> bool:
    return "crash" in end.detail or "exception" in end.detail


def _began_between(run: Run, end: Event, line: int) -> bool:
    """Whether a training begins behind the end, up to the message."""
    begun = (one.line or 0 for one in run.events.of("launch", "start") if one.file == end.file)
    return any((end.line or 0) < at <= line for at in begun)


def _trained_on(series: Series | None, end: Event, line: int) -> bool:
    """Whether a point of the training itself stands between its end and the message."""
    return (
        series is not None
        and series.files == [end.file]
        and series.behind(end.line or 0) < series.behind(line)
    )
