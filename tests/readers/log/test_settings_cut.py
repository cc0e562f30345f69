"""Lines of settings among those of a training mean the same whether they are read by their shapes or one by
one."""

from __future__ import annotations

import random
from itertools import accumulate
from typing import Any

import pytest

from tests.readers.log.metrics import points

LINES = (
    "lr: {x}",
    "learning_rate = {x}",
    "batch_size: {n}",
    "Batch size: {n}",
    "batch: {n}",
    "foo: {n}",
    "  foo_bar: {x}",
    "model:",
    "  dim: {n}",
    "| lr | {x} |",
    "| batch_size | {n} |",
    "{{'learning_rate': {x}, 'epochs': {n}, 'batch_size': {n}}}",
    "epoch {n} loss {x}",
    "loss: {x}",
    "[rank{r}]: lr: {x}",
    "[rank{r}]: step {n} loss {x}",
    "Config:",
    "some words {n}",
    "lr={x}, batch_size={n}, dropout={x}",
    "***** Running Evaluation *****",
    "  Num examples = {n}",
)


@pytest.mark.parametrize("seed", range(24))
def test_however_lines_are_read_they_mean_the_same(read: Any, seed: int) -> None:
    chance = random.Random(seed)
    pool = [
        one.format(n=chance.choice([1, 3, 10]), x=chance.choice(["0.1", "1e-3", "5"]), r=chance.choice("01"))
        for one in chance.choices(LINES, k=9)
    ]
    block = [line for line in chance.choices(pool, k=10) for _ in range(chance.choice([1, 1, 2]))]
    lines = [line.replace("1", chance.choice("1112")) + "\n" for line in block * 16]
    ends = list(accumulate(map(len, lines)))
    whole, cut = read("".join(lines)), read("".join(lines), ends[8::9])
    assert {key: fact.value for key, fact in cut.facts.items()} == {
        key: fact.value for key, fact in whole.facts.items()
    }
    assert {key.metric: points(cut, key.metric) for key in cut.series} == {
        key.metric: points(whole, key.metric) for key in whole.series
    }
