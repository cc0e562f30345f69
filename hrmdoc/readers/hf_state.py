"""`trainer_state.json` of the Hugging Face Trainer: the exact history that its log lines round."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Event, Fact, Record, Value

NAME = "hf_state"
TITLE = "Hugging Face trainer_state.json"
WHOLE = True

_RUN_FACTS = {
    "max_steps": "run.total_steps",
    "num_train_epochs": "run.epochs",
    "logging_steps": "run.logging_steps",
    "train_batch_size": "data.micro_batch_size",
    "eval_steps": "eval.interval",
    "save_steps": "checkpoint.interval",
}
_CONFIG_FACTS = (
    "best_metric",
    "best_global_step",
    "best_model_checkpoint",
    "total_flos",
    "num_input_tokens_seen",
)
_SUMMARY = ("train_loss", "total_flos", "train_runtime", "train_samples_per_second", "train_steps_per_second")
_ENDLESS = 2**31
"""A Trainer that counts steps only sets its epochs to the largest integer."""
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')


def sniff(path: Path, head: bytes) -> float:
    """By its name, or by the two keys that every state has."""
    if not head.lstrip().startswith(b"{"):
        return 0.0
    return (
        1.0
        if b'"log_history"' in head and (path.name == "trainer_state.json" or b'"global_step"' in head)
        else 0.0
    )


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return json_session(context, _read, _salvaged)


def _read(context: Context, state: Any) -> Iterator[Record]:
    if not isinstance(state, dict):
        yield Damage(context.path, None, "is no trainer state")
        return
    written = state.get("log_history")
    history = [row for row in written if isinstance(row, dict)] if isinstance(written, list) else []
    rows = Rows(context, precision=3)
    for number, row in enumerate(history, 1):
        rows.add(_points_of(row), number)
    yield from rows.points()
    yield from rows.rest()
    if isinstance(written, list) and (odd := len(written) - len(history)):
        yield Damage(context.path, None, f"{odd:,} entries of the history are no objects", left_out=odd)
    yield from _facts(state, history, context.path)
    yield from _events(state, history, context)


def _salvaged(blob: bytes) -> dict[str, Any]:
    """The whole entries of a torn history."""
    text = blob.decode("utf-8", "replace")
    found = _HISTORY.search(text)
    return {"log_history": json_text.objects_in(text, found.end()) if found else []}


def _points_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the totals of the whole run, whose `train_loss` is a mean over all steps."""
    return (
        {key: value for key, value in row.items() if key not in _SUMMARY}
        if "train_runtime" in row
        else dict(row)
    )


def _is_summary(row: Mapping[str, Any]) -> bool:
    """Whether a row sums a training up. Where tokens are counted, every row has its run time."""
    return "train_runtime" in row and "loss" not in row and "eval_loss" not in row


def _facts(state: Mapping[str, Any], history: list[dict[str, Any]], path: str) -> Iterator[Fact]:
    for own, key in _RUN_FACTS.items():
        value = state.get(own)
        if isinstance(value, int | float) and 0 < value < _ENDLESS:
            yield Fact(key, value, "run", path)
    for key in _CONFIG_FACTS:
        value = state.get(key)
        if isinstance(value, str | int | float) and value != 0:
            yield Fact(key, value, "config", path)
    callbacks = state.get("stateful_callbacks")
    if isinstance(callbacks, dict):
        yield Fact("eval.early_stopping", "EarlyStoppingCallback" in callbacks, "run", path)
        patience = _inside(callbacks, "EarlyStoppingCallback", "args", "early_stopping_patience")
        if isinstance(patience, int):
            yield Fact("early_stopping_patience", patience, "config", path)
    for row in history:
        if _is_summary(row):
            for key in _SUMMARY:
                if isinstance(row.get(key), int | float):
                    yield Fact(key, row[key], "config", path)


def _events(state: Mapping[str, Any], history: list[dict[str, Any]], context: Context) -> Iterator[Event]:
    step = state.get("global_step")
    at = step if isinstance(step, int) else None
    stopping = _inside(state, "stateful_callbacks", "TrainerControl", "args", "should_training_stop")
    total = state.get("max_steps")
    early = stopping is True and isinstance(total, int | float) and at is not None and at < total
    if early or any(map(_is_summary, history)):
        yield Event("end", context.path, None, at, detail="stopped early" if early else "training ended")


def _inside(tree: Any, *keys: str) -> Value:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, str | int | float | bool) else None
