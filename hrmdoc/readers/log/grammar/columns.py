"""What the columns of a table are called: by its header, or as programs are known that print none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hrmdoc.readers.log.grammar.words import counter_kind, measures, split_of
from hrmdoc.text import patterns

_OF_ALL: dict[tuple[str, ...], tuple[str, ...]] = {
    ("Class", "Images", "Instances"): (
        *("Class", "Images", "Instances"),
        *("metrics/precision", "metrics/recall", "metrics/mAP50", "metrics/mAP50-95"),
    ),
    **dict.fromkeys(
        (("Class", "Images", "Labels"), ("Class", "Images", "Targets")),
        (
            "Class",
            "Images",
            "Labels",
            "metrics/precision",
            "metrics/recall",
            "metrics/mAP50",
            "metrics/mAP50-95",
        ),
    ),
    ("classes", "top1_acc", "top5_acc"): ("Class", "metrics/accuracy_top1", "metrics/accuracy_top5"),
}
"""How the tables begin that Ultralytics prints after an epoch, and what their columns are; the row of `all`
counts."""
_LOSSES = {
    name: f"{name}_loss" for name in ("box", "obj", "cls", "dfl", "seg", "pose", "GIoU", "giou", "total")
}
"""Columns of losses as YOLO headed them before it said so, known by the first three of them."""
_YOLO_ROW = patterns.lazy(r" {0,16}\d{1,6}/\d{1,6} {1,8}[\d.]{1,8}G ")
_YOLO = ("epoch", "gpu_mem", "box_loss", "obj_loss", "cls_loss", "total_loss", "labels", "img_size")
_YOLO_SCORES = ("metrics/precision", "metrics/recall", "metrics/mAP50", "metrics/mAP50-95")
_YOLO_FULL = (*_YOLO, *_YOLO_SCORES, "val/box_loss", "val/obj_loss", "val/cls_loss")
_YOLO_ROWS = {len(columns): columns for columns in (_YOLO, _YOLO_FULL, (*_YOLO[:5], "Instances", "Size"))}
"""Columns of YOLO's rows by their number, where the line that names them was cut off: of v5, of its
`results.txt`, of v8."""
_CELLS = patterns.lazy(r"\s*\|\s*|\s{2,}|\t")
_COLUMN = patterns.lazy(r"[\w@.%/()-]{1,40}\Z")
_SPLIT_WORD = patterns.lazy(r"\b(train|training|valid|val|validation|test|dev) (?=[A-Za-z])", re.IGNORECASE)
_SIDE = patterns.lazy(r"(?:train|training|valid|val|validation|eval|test|testing|dev)\Z", re.IGNORECASE)
LONGEST = 2000
"""Characters of a row."""


def columns_of(text: str, joined: list[str]) -> tuple[str, ...]:
    """The columns that a line names, none where it is no header: a counter among them and a measure, or
    measures alone that show their splits, or bars between names of which two are measures, as Baselines heads
    the losses of its passes over one batch.

    Args:
        text: the line.
        joined: the names in a framed header of two lines, of which this is the second.
    """
    if text.startswith(","):
        text = f"epoch{text}"  # the nameless index of pandas, of a history that a cell or a script printed
    if not joined and not text[:64].lstrip("| ")[:1].isalpha():
        return ()
    cells = joined or [cell for cell in _CELLS.split(text) if cell]
    if len(cells) == 1:
        cells = _narrow(text) or cells
    if of_all := _OF_ALL.get(tuple(cells[:3])):
        return of_all
    if {"obj", "cls"} <= set(cells):
        cells = [_LOSSES.get(cell, cell) for cell in cells]
    if cells[:2] == ["E", "#"]:
        cells[:2] = ["epoch", "step"]  # as spaCy heads them
    return tuple(_evaluated(cells)) if _head(text, cells) else ()


def _head(text: str, cells: list[str]) -> bool:
    """Whether the cells of a line are names of columns."""
    if not (2 if "\t" in text else 3) <= len(cells) or any(map(str.isdigit, cells[0])):
        return False
    if of_sides(cells):
        return True
    known = [measures(cell) for cell in cells]
    if not any(known) or any(len(cell.split(" ")) > 3 for cell in cells):
        return False
    if any(map(counter_kind, cells)) or (all(known) and any(map(split_of, cells))):
        return True
    parted = text.strip("| ").count("|") == len(cells) - 1
    return parted and known.count(True) >= 2 and all(map(_COLUMN.match, cells))


def of_sides(cells: Sequence[str]) -> bool:
    """Whether a counter and two parts of the data or more are all that the columns name."""
    return len(cells) > 2 and bool(counter_kind(cells[0])) and all(map(_SIDE.match, cells[1:]))


def columns_of_row(text: str) -> tuple[str, ...] | None:
    """The columns of a row of YOLO's; None for other lines."""
    return _YOLO_ROWS.get(len(text.split())) if len(text) < LONGEST and _YOLO_ROW.match(text) else None


def framed(text: str) -> list[str]:
    """The cells of a framed line if they may be the first or the second line of a header, as MATLAB prints
    it."""
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    words = all(
        not cell or (any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))) for cell in cells
    )
    return cells if words else []


def _narrow(text: str) -> list[str]:
    """The names of a header that parts them by commas or single spaces: measures and counters, or a counter
    and two measures."""
    if "," in text:
        cells = [cell.strip() for cell in text.split(",")]
        return cells if counter_kind(cells[0]) and all(map(_COLUMN.match, cells)) else []
    cells = _SPLIT_WORD.sub(r"\1_", text).split(" ")
    counted = counter_kind(cells[0]) is not None
    if not counted and not measures(cells[0]):
        return []
    measured = [measures(cell) for cell in cells]
    if all(known or counter_kind(cell) for cell, known in zip(cells, measured, strict=True)):
        return cells
    return cells if counted and measured.count(True) >= 2 and all(map(_COLUMN.match, cells)) else []


def _evaluated(cells: list[str]) -> list[str]:
    """Columns of transformers' tables: what stands behind `Validation Loss` was measured with it."""
    if "Training Loss" not in cells or "Validation Loss" not in cells:
        return cells
    behind = cells.index("Validation Loss") + 1
    return cells[:behind] + [
        f"Validation {cell}" if measures(cell) and not split_of(cell) else cell for cell in cells[behind:]
    ]
