"""A log that is read to less than half says so."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest

ROWS = "".join(f"epoch {at}, loss: 1.{at:02}\n" for at in range(30))


def said(run: Any) -> list[str]:
    return [damage.what for damage in run.damages if "numbers with decimals" in damage.what]


def test_a_log_that_is_hardly_understood_says_so(read: Any) -> None:
    talk = "".join(f"widget {at} came to 1.{at:02} and 2.{at:02} of it\n" for at in range(40))
    assert said(read(ROWS + talk)) == ["of 110 numbers with decimals on its lines 30 were read as metrics"]


def test_a_log_that_is_read_says_nothing(read: Any) -> None:
    assert said(read(ROWS)) == []


def test_rates_of_bars_stamps_and_versions_are_no_measures(read: Any) -> None:
    bars = "".join(f" {at}%|# | {at}/99 [00:{at:02}<01:39, 1.{at:02}s/it]\n" for at in range(10, 99))
    stamps = "".join(f"2026-01-02 03:04:05.{at:03} torch 2.4.{at} at /a/1.{at}/b\n" for at in range(99))
    assert said(read(ROWS + bars + stamps)) == []


def test_a_log_without_a_metric_is_told_elsewhere(read: Any) -> None:
    assert said(read("".join(f"widget came to 1.{at:02}\n" for at in range(99)))) == []


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\r"])
def test_how_a_log_is_cut_changes_nothing_of_what_was_read_of_it(read: Any, end: str) -> None:
    rows = [f"loss: {at}.5 top{at} 3.25 9.75{end}" for at in range(40)]
    whole, cuts = "".join(rows), list(accumulate(map(len, rows)))
    assert said(read(whole + "step 1 loss 0.5\n")) == said(read(whole + "step 1 loss 0.5\n", cuts))
