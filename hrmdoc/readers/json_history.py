"""Histories and results in one JSON document.

Lists of numbers by name (`{"train_loss": [...], "val_loss": [...]}`, a Keras history) or of `[step, value]`,
lists of objects, the scalar download of TensorBoard, CatBoost's own file, and result files that hold one
final value (`{"final_metrics": {"val_loss": 0.0}}`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import flatten, plain_value
from hrmdoc.readers.support.names import checkpoint_number
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.keys import EPOCH_KEYS, STEP_KEYS, split_of, with_split
from hrmdoc.readers.tables.labels import metric_of
from hrmdoc.readers.tables.layouts import TRAINED, of_catboost, of_counters, of_pandas
from hrmdoc.readers.tables.lists import column, measured, pairs, x_axis
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Axis, Damage, Fact, FloatArray, IntArray, Points, Record
from hrmdoc.text import patterns

NAME = "json_history"
TITLE = "JSON histories and results"
WHOLE = True

_METRIC = patterns.lazy(
    rb'"[^"]{0,60}(?:loss|acc|accuracy|reward|return|perplexity|ppl|grad_norm|learning_rate|f1|auc|score|mae|mse|bleu|rouge|wer|fitness)[^"]{0,40}"'
    rb"\s*:\s*(\[|-?\d|NaN|-?Infinity|null|\{)",
    re.IGNORECASE,
)
_SERIES_NAME = patterns.lazy(rb"history|metric|result|log|loss|train|eval", re.IGNORECASE)
_FINAL = patterns.lazy(
    r"loss|acc|reward|perplexity|ppl|f1|auc|score|bleu|rouge|wer|error|mse|mae", re.IGNORECASE
)
_NO_METRIC = patterns.lazy(
    r"(?:^|[._/])(?:config|args|hyperparameters|hparams|params|settings|cfg)[._/]", re.IGNORECASE
)
_LISTED = patterns.lazy(rb'\s*\{\s*"[\w .=/-]{1,60}"\s*:\s*\[\s*-?\d')
_DOWNLOADED = patterns.lazy(rb"\s*\[\s*\[\s*\d{9,10}\.?\d*\s*,\s*\d+\s*,")
_JSON_LINES = patterns.lazy(rb"(?:\xef\xbb\xbf)?\s*\{[^\n]*\}[ \t\r]*\n\s*\{")
"""Several documents, one a line."""
_NUMBERS = patterns.lazy(rb"\s*\[\s*(?:\[\s*)?-?\d+\.?\d*(?:[eE][+-]?\d+)?\s*,")
_COUNTED = patterns.lazy(
    rb'\s*(?:\{\s*"\w{1,40}"\s*:\s*)?\[\s*\{'
    rb'\s*"(?:epoch|step|iteration|iter|round|global_step|episode|ep|generation)"\s*:\s*\d{1,12}'
    rb'\s*,\s*"[\w ./-]{1,60}"\s*:\s*-?\d',
    re.IGNORECASE,
)
"""A list of objects that count, whatever they measure, by itself or under a name."""
_SPLIT_TABLE = patterns.lazy(
    rb'"columns"\s*:\s*\[[^\]]{0,2000}"[^"\]]{0,60}(?:loss|acc|reward)[^"\]]{0,40}"', re.IGNORECASE
)


def sniff(path: Path, head: bytes) -> float:
    """By the names of metrics that lists, numbers or objects follow."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"{", b"[") or (
        path.name == "meta.json" and checkpoint_number(path.parent.name) is not None
    ):
        return 0.0
    if start == b"{" and _JSON_LINES.match(head):
        return 0.0
    if start == b"[" and _DOWNLOADED.match(head):
        return 0.8  # [[wall time, step, value], ...]
    if metric_of(path.name) and (_NUMBERS.match(head) or _LISTED.match(head)):
        return 0.7  # numbers, steps with numbers, or lists of them, whose name the file has
    if b'"learn_metrics"' in head and b'"iteration_count"' in head:
        return 0.9  # CatBoost's catboost_training.json
    return _by_metrics(path, head)


def _by_metrics(path: Path, head: bytes) -> float:
    """How sure, by what follows the first name of a metric."""
    found = _METRIC.search(head)
    if not found:
        return 0.6 if _SPLIT_TABLE.search(head) or _COUNTED.match(head) else 0.0
    if path.suffix != ".json":
        return 0.2
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    listed = b"[" in found[1] or start == b"[" or b'"history"' in head or b"metrics" in head
    return 0.75 if listed else 0.6 if _SERIES_NAME.search(path.name.encode()) else 0.35


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return json_session(context, _read, _salvaged)


def _read(context: Context, tree: Any) -> Iterator[Record]:
    tree = _named_by_file(context, of_counters(of_pandas(tree)))
    if isinstance(tree, list):
        name = metric_of(context.path)
        if name and (values := column(tree)) is not None:
            yield from _curves(context, {name: values}, {name: measured(tree)})
        elif name and (points := pairs(tree)) is not None:
            yield _curve(context, name, *points)
        else:
            yield from _list(context, "", tree)
    elif isinstance(tree, dict):
        yield from _mapping(context, of_catboost(tree))


def _named_by_file(context: Context, tree: Any) -> Any:
    """Lists by the part of the data or by the model alone, with the metric that the file's name gives behind
    each."""
    word = TRAINED.search(metric_of(context.path)) if isinstance(tree, dict) else None
    if word is None or not all(
        isinstance(cells, list) and column(cells) is not None for cells in tree.values()
    ):
        return tree
    if any(_FINAL.search(name) for name in tree):
        return tree
    return {
        name if name in STEP_KEYS or name in EPOCH_KEYS else f"{name}_{word[0].lower()}": cells
        for name, cells in tree.items()
    }


def _salvaged(blob: bytes) -> list[Any] | None:
    """The whole values of a list that ends in the middle, as one that is still being written does."""
    text = blob.decode("utf-8", "replace")
    return json_text.objects_in(text, text.find("[") + 1) if text.lstrip().startswith("[") else None


def _mapping(context: Context, tree: Mapping[str, Any]) -> Iterator[Record]:
    cut: list[str] = []
    leaves = dict(flatten(tree, cut))
    if cut:
        what = f"{len(cut):,} entries lie too deep or are too many, the first under {cut[0]!r}"
        yield Damage(context.path, None, what[:300], left_out=len(cut))
    lists = {key: value for key, value in leaves.items() if isinstance(value, list) and value}
    singles = {key: value for key, value in leaves.items() if not isinstance(value, list)}
    curves = {key: numbers for key, value in lists.items() if (numbers := column(value)) is not None}
    yield from _curves(context, curves, {key: measured(lists[key]) for key in curves})
    for key, value in ((key, value) for key, value in lists.items() if key not in curves):
        if (points := pairs(value)) is not None:
            yield _curve(context, key, *points)
        else:
            yield from _list(context, key, value)
    yield from _finals(context, singles, single_file=not curves)
    yield from _settings(context, singles)


def _settings(context: Context, singles: Mapping[str, Any]) -> Iterator[Fact]:
    """Single values that are no results."""
    for key, value in singles.items():
        if not _is_final(key, value) and (plain := plain_value(value)) is not None:
            name = re.sub(r"^(?:config|args|hparams|hyperparameters|params|settings|cfg)\.", "", key)
            yield Fact(name, plain, "config", context.path)


def _curve(
    context: Context,
    key: str,
    steps: IntArray,
    values: FloatArray,
    axis: Axis = "step",
) -> Points:
    """One curve; its name is without the folders that histories keep their metrics in."""
    metric = with_split(key.removeprefix("history.").removeprefix("metrics."), split_of(context.path))
    none = np.full(len(values), np.nan)
    return Points(
        metric, steps, values, none, context.path, None, context.rank, axis, 3, context.source or context.path
    )


def _curves(
    context: Context, curves: Mapping[str, FloatArray], there: Mapping[str, NDArray[np.bool_]]
) -> Iterator[Points]:
    """Curves of columns, each where `there` says that it was measured."""
    for key, values in curves.items():
        folder, _, name = key.rpartition(".")
        if name in STEP_KEYS or name in EPOCH_KEYS or name in ("steps", "x"):
            continue
        steps, axis = x_axis(curves, folder, name, len(values))
        yield _curve(context, key, steps[there[key]], values[there[key]], axis)


def _list(context: Context, key: str, cells: Sequence[Any]) -> Iterator[Record]:
    """A list of objects is a table; one of `[wall time, step, value]` is TensorBoard's download of one
    scalar."""
    rows = Rows(context, precision=3)
    name = re.sub(r"^run-.*-tag-|\.json$", "", context.path.replace("\\", "/").rpartition("/")[2])
    prefix = (
        f"{key}."
        if key
        and key not in ("history", "log_history", "logs", "epochs", "metrics", "log", "results", "steps")
        else ""
    )
    odd = 0
    for at, cell in enumerate(cells, 1):
        if isinstance(cell, dict):
            rows.add(
                {
                    f"{prefix}{k}" if k not in STEP_KEYS and k not in EPOCH_KEYS else k: v
                    for k, v in cell.items()
                },
                at,
            )
        elif not key and isinstance(cell, list) and len(cell) == 3:
            rows.add({"wall_time": cell[0], "step": cell[1], name: cell[2]}, at)
        else:
            odd += 1
    yield from rows.points()
    yield from rows.rest()
    if 0 < odd < len(cells):
        named = f"the list {key!r}" if key else "the list"
        yield Damage(context.path, None, f"{odd:,} entries of {named} are no rows", left_out=odd)


def _is_final(key: str, value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and bool(_FINAL.search(key))
        and not _NO_METRIC.search(f".{key}")
    )


def _finals(context: Context, singles: Mapping[str, Any], *, single_file: bool) -> Iterator[Points]:
    """Final values become curves of one point, so that a rule sees a last loss of exactly zero.

    Their precision is the lowest there is: a real curve of the same metric must come first.
    """
    step, epoch = _first_number(singles, STEP_KEYS), _first_number(singles, EPOCH_KEYS)
    axis: Axis = "step" if step is not None else "epoch" if epoch is not None else "index"
    at = np.array([step if step is not None else epoch or 0], np.int64)
    split = split_of(context.path) if single_file else ""
    source = context.source or context.path
    for key, value in singles.items():
        if _is_final(key, value):
            values, none = np.array([float(value)]), np.array([np.nan])
            yield Points(
                with_split(key, split), at, values, none, context.path, None, context.rank, axis, 0, source
            )


def _first_number(singles: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first finite number under one of the names."""
    found = (number(singles.get(name)) for name in names)
    return next((int(value) for value in found if value is not None and math.isfinite(value)), None)
