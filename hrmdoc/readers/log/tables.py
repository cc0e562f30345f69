"""Tables: boxes with one measure a row, and columns under a header."""

from __future__ import annotations

import math
import re

from hrmdoc.readers.log.bars import Bar
from hrmdoc.readers.log.flow import Position
from hrmdoc.readers.log.lines import number
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import RankState
from hrmdoc.readers.log.words import counter_kind, measures, split_of
from hrmdoc.text import patterns

_ROW = patterns.lazy(
    r"\| {1,40}([A-Za-z_][\w/ %().\-]{0,60}?) *\| *([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf)? *\|\s*\Z",
    re.IGNORECASE,
)
_EDGE = patterns.lazy(r"[-=+]{8,}\s*\Z")
_BORDERS = str.maketrans("┃│║", "|||")
_CELLS = patterns.lazy(r"\s*\|\s*|\s{2,}|\t")
_CELL = patterns.lazy(r"([-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf)([GMK]?B?|%)\Z", re.IGNORECASE)
_SIDES = patterns.lazy(r"\s{1,60}(\w{1,20}) {1,20}\| {1,20}(\w{1,20})\s{0,8}\Z")
_SIDED = patterns.lazy(
    r"([\w/@.-]{1,60}) {0,60}\| {1,20}([-+]?\d+\.?\d*(?:e[-+]?\d+)?|nan|inf|N/A) {1,20}\| {1,20}"
    r"([-+]?\d+\.?\d*(?:e[-+]?\d+)?|nan|inf|N/A)\s{0,8}\Z"
)
_SPAN = patterns.lazy(r"\d+(?:\.\d+)?(?:ms|s|m|min|h)\Z")
_OF = patterns.lazy(r"(\d+)/(\d+)\Z")
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
_REDRAWN = patterns.lazy(r"█?\Z|Epoch \d{1,6}/\d{1,6} : *(?:\||\Z)")
"""fastai draws `Epoch 1/5 : |████----| 50.00% [...]` between its rows, and blanks over it."""
_METER = patterns.lazy(r"\s{0,8}\[[ =>#.*\d%-]{3,60}\]\s+")
"""xLearn draws how far it is in front of each row, `[   10%      ]`, and of the header."""
_SPLIT_WORD = patterns.lazy(r"\b(train|training|valid|val|validation|test|dev) (?=[A-Za-z])", re.IGNORECASE)
_COLUMN = patterns.lazy(r"[\w@.%/()-]{1,40}\Z")
_PATIENCE = 4
_STEPS = (
    *(
        "time/total_timesteps",
        "total_timesteps",
        "TotalEnvInteracts",
        "TimestepsSoFar",
        "misc/total_timesteps",
        "TotalEnvSteps",
    ),
    *("steps", "timesteps", "step", "Epoch", "Itr", "Iteration", "Diagnostics/Iteration"),
)
"""Rows of a box that tell its place: of Stable Baselines, Spinning Up, Baselines, garage and others; the
first one counts."""
_MOST = 1e18  # what is larger is no count of steps, and does not fit in 64 bits
_LIMIT = 200
_LONGEST = 600


class TableReader:
    """Reads tables into the sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def box(self, state: RankState, text: str, mark: Mark) -> bool:
        """Rows such as `|    ep_rew_mean | 22.3 |`, each under its section; the lower edge ends the box."""
        row = _ROW.match(text) if text.startswith("|") and len(text) < _LONGEST else None
        if row is not None:
            table = state.table = {} if state.table is None else state.table
            name, value = row.group(1).strip(), row.group(2)
            if value is None:
                state.section = name if name.endswith("/") else ""
            elif len(table) < _LIMIT:
                table[state.section + name] = number(value)
            return True
        if state.table is None:
            return False
        table, state.table, state.section = state.table, None, ""
        step = next((int(table[key]) for key in _STEPS if abs(table.get(key, math.inf)) < _MOST), None)
        if _EDGE.match(text) and len(table) > 1 and (step is not None or any(map(measures, table))):
            if step is not None:
                state.flow.step = step
            for name, value in table.items():
                self._sink.point(name, value, step if step is not None else state.flow.step, "step", mark)
        return False

    def sided(self, state: RankState, text: str, mark: Mark) -> bool:
        """AllenNLP's `Training |  Validation` and below it a row for each measure, its values side by
        side."""
        if found := _SIDES.match(text):
            sides = [split_of(side) for side in found.groups()]
            state.sides = (sides[0], sides[1]) if sides[0] and sides[1] else None
            state.rows = _PATIENCE
            return state.sides is not None
        row = _SIDED.match(text) if state.sides else None
        if row is None or state.sides is None:
            return False
        state.rows = _PATIENCE
        values = [
            (f"{side}_{row[1]}", number(row[at]))
            for at, side in enumerate(state.sides, 2)
            if row[at] != "N/A"
        ]
        step, epoch = state.flow.step, state.flow.epoch
        self._sink.points(values, epoch if step is None else step, "epoch" if step is None else "step", mark)
        return True

    def header(self, state: RankState, text: str) -> bool:
        """Whether the line names columns: a counter among them and a measure, or measures alone that tell
        their splits, or bars between names of which two are measures, as Baselines heads the losses of its
        passes over one batch."""
        text = _unmetered(text.translate(_BORDERS)).strip()
        if len(text) > _LONGEST:
            return False
        joined = _joined(state, text) if text.startswith("|") else []
        if not joined and not text[:64].lstrip("| ")[:1].isalpha():
            return False
        cells = joined or [cell for cell in _CELLS.split(text) if cell]
        if len(cells) == 1:
            cells = _narrow(text) or cells
        if of_all := _OF_ALL.get(tuple(cells[:3])):
            state.columns, state.rows = of_all, _PATIENCE
            return True
        if {"obj", "cls"} <= set(cells):
            cells = [_LOSSES.get(cell, cell) for cell in cells]
        if cells[:2] == ["E", "#"]:
            cells[:2] = ["epoch", "step"]  # as spaCy heads them
        if not (2 if "\t" in text else 3) <= len(cells) <= 40 or any(
            character.isdigit() for character in cells[0]
        ):
            return False
        known = [measures(cell) for cell in cells]
        if not any(known) or any(len(cell.split(" ")) > 3 for cell in cells):
            return False
        barred = (
            known.count(True) >= 2
            and text.strip("| ").count("|") == len(cells) - 1
            and all(map(_COLUMN.match, cells))
        )
        if (
            not any(map(counter_kind, cells))
            and not (all(known) and any(split_of(cell) for cell in cells))
            and not barred
        ):
            return False
        state.columns, state.rows = tuple(_evaluated(cells)), _PATIENCE
        return True

    def nameless(self, state: RankState, text: str) -> bool:
        """Whether the line is a row of YOLO's under columns that the log does not show: now they are
        known."""
        columns = (
            _YOLO_ROWS.get(len(text.split())) if len(text) < _LONGEST and _YOLO_ROW.match(text) else None
        )
        if columns is not None:
            state.columns = columns
        return columns is not None

    def row(self, state: RankState, text: str, mark: Mark, bar: Bar | None = None) -> bool:
        """Whether the line is a row under the columns named last; a row on a bar counts when the bar is
        full."""
        columns = state.columns
        if _REDRAWN.match(text.rstrip()):
            return False
        state.rows = max(0, state.rows - 1)
        if not columns or len(text) > _LONGEST:
            return False
        cells, framed = _cells(_unmetered(text.translate(_BORDERS)).replace("No log", "-"), len(columns))
        if len(cells) != len(columns) or (bar is not None and bar.n < bar.total):
            return False
        values: list[tuple[str, float]] = []
        label = ""
        position = Position()
        for name, cell in zip(columns, cells, strict=True):
            kind, of = counter_kind(name), _OF.match(cell)
            found = _CELL.match(cell)
            if name == "Class":
                if cell != "all":
                    return False
                position = Position(state.flow.epoch)
            elif kind is not None and (of or (found and cell.isdigit())):
                whole = int(of.group(1)) if of else int(cell)
                position = (
                    Position(whole, position.step) if kind == "epoch" else Position(position.epoch, whole)
                )
            elif found is not None:
                values.append((name, number(found.group(1))))
            elif framed and not measures(name) and not kind:
                label = label or cell
            elif cell != "-" and ":" not in cell and not _SPAN.match(cell):
                return False
        if not values or (position.silent and any(map(counter_kind, columns))):
            return False
        state.rows = _PATIENCE
        if split := split_of(label) if label else None:
            values = [(f"{split}_{name}", value) for name, value in values]
        elif label:
            state.trial = state.trial or label
            if label != state.trial:
                return True
        if position.silent:
            self._sink.points(values, None, "index", mark)
        else:
            self._sink.points(values, *state.flow.place(position), mark)
        return True


def _unmetered(text: str) -> str:
    """A row without the meter in front of it."""
    meter = _METER.match(text) if "[" in text[:10] else None
    return text if meter is None else text[meter.end() :]


def _joined(state: RankState, text: str) -> list[str]:
    """The names in a framed header of two lines, as MATLAB prints it, once the second one is there."""
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    above, state.upper = state.upper, cells
    words = all(
        not cell or (any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))) for cell in cells
    )
    if len(above) != len(cells) or not words:
        return []
    return [f"{upper} {cell}".strip() for upper, cell in zip(above, cells, strict=True)]


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


def _cells(text: str, count: int) -> tuple[list[str], bool]:
    """The cells of a row, and whether they stand in frames: then they may hold words, or nothing."""
    if text.count(",") == count - 1 and "|" not in text:
        return [cell.strip() for cell in text.split(",")], False
    if text.count("|") >= count:
        cells = [cell.strip() or "-" for cell in text.strip().strip("|").split("|")]
        if len(cells) == count:
            return cells, True
    return text.replace("|", " ").split(), False


def _evaluated(cells: list[str]) -> list[str]:
    """Columns of transformers' tables: what stands behind `Validation Loss` was measured with it."""
    if "Training Loss" not in cells or "Validation Loss" not in cells:
        return cells
    behind = cells.index("Validation Loss") + 1
    return cells[:behind] + [
        f"Validation {cell}" if measures(cell) and not split_of(cell) else cell for cell in cells[behind:]
    ]
