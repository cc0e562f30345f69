"""The lines of PyTorch's tutorials, whose loss bears no name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


@pytest.mark.parametrize(
    "line",
    [
        "1m {0}s (- 9m 5s) ({0}00 6%) 2.{0}5",
        "[3m {0}s ({0}00 25%) 2.{0}5]",
        "1h 2m {0}.25s (- 1h 0m 1s) ({0}00 6.25%) 2.{0}5",
        "{0}00 5% (0m 7s) 2.{0}5 Sato / French wrong (Japanese)",
    ],
)
def test_what_stands_behind_the_share_that_is_done_is_the_loss(line: str, read: Any) -> None:
    run = read("".join(f"{line.format(at)}\n" for at in range(1, 6)))
    assert points(run, "loss") == [(100 * at, float(f"2.{at}5")) for at in range(1, 6)]
    assert {key.metric for key in run.series} == {"loss"}


@pytest.mark.parametrize(
    "line", ["1m 5s (- 2m 3s) (500 MB of 3) 2.5", "downloaded 5 files (50%) 2.5 MB", "3 of 4 (75%) 1.5x"]
)
def test_other_shares_are_followed_by_no_loss(line: str, read: Any) -> None:
    assert read(f"{line}\n" * 5).points == 0
