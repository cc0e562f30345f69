"""Samples as series of a run, and the file that keeps them: `host.jsonl`, one JSON object a sample.

Both are bounded: of what is older than the newer half, every second sample is let go whenever there are too
many, so that a run of weeks keeps its recent hours in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from hrmdoc.monitors.sensor import UNITS, Sample
from hrmdoc.paths import replace_file
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run

FILE = "host.jsonl"
MOST = 4320
"""Samples that are kept: twelve hours at ten seconds."""
STALE_S = 3600.0
"""Samples that end so long before the run was heard last belong to another run of the same name."""
_LARGEST = 16 << 20


class _Line(msgspec.Struct):
    time: float
    step: int
    values: dict[str, float]


class Kept:
    """Takes samples into a run, and keeps them in a file.

    Args:
        run: whose series grow.
        path: the file; None keeps them in memory alone.
        now: what stands in a file that ended long before is not of this run; Unix seconds.
    """

    def __init__(self, run: Run, path: Path | None, now: float) -> None:
        self._run, self._path = run, path
        self._count = load(run, path, now) if path is not None else 0
        self._fresh = not self._count

    def take(self, samples: Sequence[Sample], step: int) -> None:
        """Adds samples that were taken when training was at this step. What a full disk refuses is kept in
        memory all the same."""
        lines = [_Line(sample.time, step, sample.values) for sample in samples]
        _measure(self._run, lines, self._name)
        self._count += len(lines)
        if self._path is not None:
            _append(self._path, lines, anew=self._fresh)
        self._fresh = False
        if self._count > MOST:
            self._count -= _thin(self._run)
            self._rewrite()

    @property
    def _name(self) -> str:
        return FILE if self._path is None else str(self._path)

    def _rewrite(self) -> None:
        if self._path is not None:
            kept = _thinned(_kept_lines(self._path))
            replace_file(self._path, "".join(_encoded(line) + "\n" for line in kept))


def load(run: Run, path: Path, heard: float) -> int:
    """Takes the samples of a file into a run; how many. A file that is not there, or is none of ours, holds
    none.

    Args:
        heard: when the run was heard last, Unix seconds.
    """
    lines = _kept_lines(path)
    if not lines or lines[-1].time < heard - STALE_S:
        return 0
    _measure(run, lines, str(path))
    return len(lines)


def _kept_lines(path: Path) -> list[_Line]:
    """The samples of a file, in the order of their times; what is none is passed over."""
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST)
    except OSError:
        return []
    decoder = msgspec.json.Decoder(_Line)
    found: list[_Line] = []
    for line in text.splitlines():
        try:
            one = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if math.isfinite(one.time) and abs(one.step) < 2**53 and (not found or one.time > found[-1].time):
            found.append(one)
    return found


def _measure(run: Run, lines: Sequence[_Line], file: str) -> None:
    columns: dict[str, list[tuple[int, float, float]]] = {}
    for line in lines:
        for name, value in line.values.items():
            if name in UNITS:
                columns.setdefault(name, []).append((line.step, value, line.time))
    for name, rows in columns.items():
        steps, values, times = zip(*rows, strict=True)
        run.measure(
            Points(name, np.array(steps, np.int64), np.array(values), np.array(times), file, precision=3)
        )


def _thin(run: Run) -> int:
    """Lets every second of the older half go, of each series; how many of the longest that is."""
    gone = 0
    for key, series in list(run.measured.items()):
        keep = _kept_of(len(series))
        gone = max(gone, int((~keep).sum()))
        points = Points(
            key.metric,
            series.steps[keep],
            series.values[keep],
            series.times[keep],
            series.files[0],
            precision=series.precision,
        )
        del run.measured[key]
        run.measure(points)
    return gone


def _thinned(lines: Sequence[_Line]) -> list[_Line]:
    return [line for line, keep in zip(lines, _kept_of(len(lines)), strict=True) if keep]


def _kept_of(count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of so many samples stay, shape [count]."""
    keep = np.ones(count, np.bool_)
    keep[1 : count // 2 : 2] = False
    return keep


def _append(path: Path, lines: Sequence[_Line], *, anew: bool) -> None:
    text = "".join(_encoded(line) + "\n" for line in lines)
    if anew:
        replace_file(path, text)
        return
    try:
        if path.is_symlink():
            return
        with path.open("a", encoding="ascii") as file:
            file.write(text)
    except OSError:
        return


def _encoded(line: _Line) -> str:
    values = {name: float(f"{value:.6g}") for name, value in line.values.items()}
    return msgspec.json.encode(_Line(round(line.time, 3), line.step, values)).decode()
