"""Logs of programs that part decimals by a comma."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    "line",
    [
        "step {n} loss: 0,{n}321 lr: 0,001",
        "Epoch {n}/9 - loss: 0,{n}321 - acc: 0,81",
        "epoch={n}, loss=0,{n}321, acc=0,81",
    ],
)
def test_a_log_with_decimal_commas_is_read_as_it_is_meant(line: str, read: Any) -> None:
    run = read("".join(line.format(n=n) + "\n" for n in range(1, 6)))
    [loss] = [series for key, series in run.series.items() if key.metric == "loss"]
    assert loss.values.tolist() == [float(f"0.{n}321") for n in range(1, 6)]
    others = {
        key.metric: series.values.tolist()[0] for key, series in run.series.items() if key.metric != "loss"
    }
    assert others.items() <= {"lr": 0.001, "acc": 0.81}.items()


@pytest.mark.parametrize(
    ("lines", "metric", "values"),
    [
        (["step {n} loss: 0.5 tps: 5,432"] * 3, "tps", [5432.0] * 3),
        (["step {n} loss: 2 tps: 5,432"] * 3, "tps", [5432.0] * 3),
        (["using devices: 0,1", "step {n} loss: 2 tps: 5,432"], "tps", [5432.0]),
        (["step {n} loss: 1,234 lr: 0,001", "step {n} loss: 0,9 lr: 0,001"], "loss", [1.234, 0.9]),
        (["step {n} loss: 0.9 acc: 0,5", "step {n} loss: 0.8 acc: 0,5"], "loss", [0.9, 0.8]),
    ],
)
def test_the_first_measure_that_tells_decides_what_a_comma_is(
    lines: list[str], metric: str, values: list[float], read: Any
) -> None:
    run = read("".join(line.replace("{n}", str(n)) + "\n" for n, line in enumerate(lines, 1)))
    [series] = [series for key, series in run.series.items() if key.metric == metric]
    assert series.values.tolist() == values
