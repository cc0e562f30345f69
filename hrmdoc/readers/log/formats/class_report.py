"""scikit-learn's `classification_report`: a row for each class, the accuracy, and the means over classes."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_HEADER = patterns.lazy(r"\s{0,80}precision {1,20}recall {1,20}f1-score {1,20}support\s{0,8}\Z")
_SHARE = r" {1,90}([01]?\.\d{1,8})"
_ROW = patterns.lazy(rf"\s{{0,80}}(\S.{{0,80}}?) {_SHARE}{_SHARE}{_SHARE} {{1,20}}(\d{{1,12}})\s{{0,8}}\Z")
_RIGHT = patterns.lazy(rf"\s{{0,80}}accuracy {_SHARE} {{1,20}}\d{{1,12}}\s{{0,8}}\Z")
_MEAN = "macro avg"
_MEANS = (_MEAN, "micro avg", "weighted avg", "samples avg")
_HARDLY = 0.05
"""The recall below which a class is as good as never found."""
_FEWEST = 10
"""Samples of a class from which that is no chance."""
_PATIENCE = 3
"""Lines between two rows at most that are none."""


class _Report(State):
    """The rows so far.

    Attributes:
        left: lines that may pass until the next row.
        found: of each class of which there were samples its recall, and how many they were.
        right: the accuracy, None where the report tells none: one sample may be of several classes.
    """

    MODAL: ClassVar[bool] = True

    left: int = 0
    found: list[tuple[float, int]] = field(default_factory=list)
    right: float | None = None

    @property
    def open(self) -> bool:
        """Whether the next line may be a row."""
        return self.left > 0

    @property
    def mode(self) -> bool:
        """Below a header a line may be a row."""
        return self.left > 0


class ClassReport(Format):
    """One of its lines holds words of measures, the others come below it."""

    ORDER: ClassVar[int] = 60

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The header, or a row; the means end a report."""
        report = cursor.of(_Report)
        if _HEADER.match(line.text):
            report.left, report.found, report.right = _PATIENCE, [], None
            return Reading()
        if not report.left:
            return None
        if found := _RIGHT.match(line.text):
            report.left, report.right = _PATIENCE, float(found[1])
            return Reading()
        row = _ROW.match(line.text)
        if row is None:
            report.left -= 1
            return None
        report.left = _PATIENCE
        if row[1] == _MEAN:
            return self._ended(report, float(row[3]), float(row[4]), line, cursor)
        if row[1] not in _MEANS and row[5] != "0":
            report.found.append((float(row[3]), int(row[5])))
        return Reading()

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that stands below no header and is none: both know their words by heart."""
        return not cursor.of(_Report).left and not _HEADER.match(line.text)

    def _ended(self, report: _Report, recall: float, f1: float, line: Line, cursor: Cursor) -> Reading:
        """What the report comes to. Balanced accuracy, the mean recall, is adjusted for chance as in
        scikit-learn: 0 for one answer to everything and for guesses, 1 for all right."""
        reading = Reading()
        if report.right is None or len(report.found) < 2:
            return reading
        classes = len(report.found)
        samples = sum(count for _, count in report.found)
        fewest = max(_FEWEST, samples / classes / 2)
        unfound = sum(found < _HARDLY and count >= fewest for found, count in report.found)
        for key, value in (
            ("data.classes", classes),
            ("report.classes", classes),
            ("report.unfound", unfound),
        ):
            self.log.facts.add(key, value, "run", line.mark)
        guess = 1.0 / classes
        values = [
            ("accuracy (report)", report.right),
            ("macro f1 (report)", f1),
            ("adjusted balanced accuracy (report)", (recall - guess) / (1.0 - guess)),
        ]
        reading.add(values, *cursor.place(), line.mark)
        return reading
