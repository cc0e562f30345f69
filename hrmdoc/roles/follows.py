"""What follows from canonical facts by arithmetic: batch sizes, lengths, warm-up, the number of weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hrmdoc.record.records import Fact
from hrmdoc.roles.values import at, number

if TYPE_CHECKING:
    from collections.abc import Mapping


def derive(found: dict[str, Fact]) -> None:
    """Adds what follows from other facts, standing where its first source stands."""
    _batch(found)
    _length(found)
    _warmup(found)
    _size(found)


def _numeric(found: Mapping[str, Fact], *keys: str) -> list[float] | None:
    values = [number(found[key].value) if key in found else None for key in keys]
    return (
        [value for value in values if value is not None]
        if all(value is not None for value in values)
        else None
    )


def _add(found: dict[str, Fact], key: str, value: float, source: str) -> None:
    if key not in found and math.isfinite(value) and value > 0:
        found[key] = at(found[source], key, int(value) if float(value).is_integer() else value)


def _batch(found: dict[str, Fact]) -> None:
    """global batch = micro batch x accumulation x ranks. One own key that serves as both is the micro
    batch."""
    whole, micro = found.get("data.batch_size"), found.get("data.micro_batch_size")
    same = whole and micro and (whole.value, whole.file, whole.line) == (micro.value, micro.file, micro.line)
    if micro and (whole is None or same):
        ranks = _numeric(found, "world_size") or [1.0]
        accumulated = _numeric(found, "data.grad_accum") or [1.0]
        if size := _numeric(found, "data.micro_batch_size"):
            found.pop("data.batch_size", None)
            _add(found, "data.batch_size", size[0] * accumulated[0] * ranks[0], "data.micro_batch_size")
    elif whole and micro is None:
        ranks, accumulated = (
            _numeric(found, "world_size") or [1.0],
            _numeric(found, "data.grad_accum") or [1.0],
        )
        if size := _numeric(found, "data.batch_size"):
            _add(
                found,
                "data.micro_batch_size",
                max(1.0, size[0] // max(1.0, accumulated[0] * ranks[0])),
                "data.batch_size",
            )


def _length(found: dict[str, Fact]) -> None:
    """Steps of an epoch and of the run, number of samples: any from the others."""
    if values := _numeric(found, "data.samples", "data.batch_size"):
        _add(found, "run.steps_per_epoch", max(1.0, values[0] // values[1]), "data.samples")
    if values := _numeric(found, "run.epochs", "run.steps_per_epoch"):
        _add(found, "run.total_steps", float(int(values[0] * values[1])), "run.epochs")
    if values := _numeric(found, "run.total_steps", "run.epochs"):
        _add(found, "run.steps_per_epoch", max(1.0, values[0] // values[1]), "run.total_steps")
    if values := _numeric(found, "run.steps_per_epoch", "data.batch_size"):
        _add(found, "data.samples", values[0] * values[1], "run.steps_per_epoch")


def _size(found: dict[str, Fact]) -> None:
    """Weights of a transformer by its width, depth and vocabulary: a block has 12 widths squared (Kaplan et
    al. 2020, table 1). HRM's modules are counted by its own formula."""
    framework = found.get("run.framework")
    sizes = _numeric(found, "model.hidden_size", "model.layers", "model.num_heads")
    if sizes and (framework is None or framework.value != "hrm"):
        vocabulary = _numeric(found, "data.vocab_size") or [0.0]
        width, layers, _ = sizes
        _add(found, "model.parameters", 12 * layers * width**2 + vocabulary[0] * width, "model.hidden_size")


def _warmup(found: dict[str, Fact]) -> None:
    total = _numeric(found, "run.total_steps")
    ratio, steps = _numeric(found, "schedule.warmup_ratio"), _numeric(found, "schedule.warmup_steps")
    if total and ratio and ratio[0] > 0 and (steps is None or steps[0] == 0):
        found.pop("schedule.warmup_steps", None)
        _add(found, "schedule.warmup_steps", float(math.ceil(total[0] * ratio[0])), "schedule.warmup_ratio")
    elif total and steps and ratio is None:
        found["schedule.warmup_ratio"] = at(
            found["schedule.warmup_steps"], "schedule.warmup_ratio", steps[0] / total[0]
        )
