"""Stamps of time, as a log of many lines bears them: durations and gaps are those of the clock on the wall."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

BEGUN = datetime(2026, 10, 24, 22, 0, 7, tzinfo=UTC)
WINTER = datetime(2026, 10, 25, 1, tzinfo=UTC)
EPOCH = BEGUN.timestamp()
OF_DAY = 22 * 3600.0 + 7


def berlin(at: datetime) -> datetime:
    """By a clock that is put back an hour in the night."""
    return at.astimezone(timezone(timedelta(hours=1 + (at < WINTER)), "CEST" if at < WINTER else "CET"))


def losses(run: Any) -> Any:
    """The only series."""
    (series,) = run.series.values()
    return series


def log(stamp: Callable[[datetime], str]) -> tuple[str, np.ndarray[Any, Any]]:
    """A line a minute, but for two hours after the 150th; and the seconds of the lines since the first."""
    passed = [60 * line + 7200 * (line >= 150) for line in range(240)]
    lines = (
        f"{stamp(BEGUN + timedelta(seconds=after))} step {step} loss {3 - step / 200:.4f}\n"
        for step, after in enumerate(passed, 1)
    )
    return "".join(lines), np.array(passed, np.float64)


@pytest.mark.parametrize(
    ("stamp", "first"),
    [
        (lambda at: berlin(at).isoformat(sep=" "), EPOCH),
        (lambda at: berlin(at).strftime("%Y-%m-%d %H:%M:%S,500 %z"), EPOCH + 0.5),
        (lambda at: berlin(at).strftime("[%Y-%m-%d %H:%M:%S %Z]"), EPOCH),
        (lambda at: berlin(at).strftime("%a %b %d %H:%M:%S %Z %Y"), EPOCH),
        (lambda at: at.strftime("[%m/%d/%Y %H:%M:%S]"), EPOCH),
        (lambda at: at.strftime("%d/%m/%Y %H:%M:%S"), EPOCH),
        (lambda at: at.strftime("%Y-%m-%d %H:%M"), EPOCH - 7),
        (lambda at: at.strftime("%m/%d/%Y %I:%M:%S %p"), EPOCH),
        (lambda at: at.strftime("%H:%M:%S"), OF_DAY),
        (lambda at: at.strftime("[%H:%M:%S.250] INFO"), OF_DAY + 0.25),
        (lambda at: at.strftime("%I:%M:%S %p"), OF_DAY),
        (lambda at: f"{at.timestamp():.0f}", EPOCH),
        (lambda at: f"[{at.timestamp():.3f}]", EPOCH),
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_lines_are_as_far_apart_as_they_were_written(
    read: Any, stamp: Callable[[datetime], str], first: float, cut: bool
) -> None:
    text, passed = log(stamp)
    series = losses(read(text, range(0, len(text), 777) if cut else ()))
    np.testing.assert_allclose(series.times, first + passed)
    assert series.steps.tolist() == list(range(1, 241))


def test_a_log_of_months_that_are_named_goes_on_from_one_to_the_next(read: Any) -> None:
    text = "".join(
        f"{month} 03 10:{minute:02}:00 step {step} loss 2.5\n"
        for step, (month, minute) in enumerate([(m, n) for m in ("Nov", "Dec", "Jan") for n in range(20)], 1)
    )
    times = losses(read(text, mtime=datetime(2026, 1, 3, 11, tzinfo=UTC).timestamp())).times
    days = [
        (datetime.fromtimestamp(at, UTC).year, datetime.fromtimestamp(at, UTC).month) for at in times[::20]
    ]
    assert days == [(2025, 11), (2025, 12), (2026, 1)]
    assert (np.diff(times) > 0).all()


def test_a_date_without_a_year_has_that_of_the_file(read: Any) -> None:
    text, passed = log(lambda at: at.strftime("%b %d %H:%M:%S"))
    series = losses(read(text, mtime=EPOCH + 86_400))
    np.testing.assert_allclose(series.times, EPOCH + passed)


@pytest.mark.parametrize(
    ("mtime", "month"),
    [(datetime(2026, 11, 5, 12), 11), (datetime(2026, 5, 12), 5), (datetime(2027, 1, 1), 5)],
)
def test_the_month_of_two_small_numbers_is_that_in_which_the_file_was_written(
    read: Any, mtime: datetime, month: int
) -> None:
    log = "".join(f"05/11/2026 10:{minute:02}:00 step {minute} loss 2.5\n" for minute in range(9))
    times = losses(read(log, mtime=mtime.replace(tzinfo=UTC).timestamp())).times
    assert datetime.fromtimestamp(times[0], UTC).month == month


def clocks(*every: str) -> str:
    return "".join(f"{clock} step {step} loss 2.5\n" for step, clock in enumerate(every, 1))


def test_a_time_of_day_that_is_put_back_a_little_is_no_midnight(read: Any) -> None:
    times = losses(read(clocks("22:59:58", "23:00:00", "22:59:59", "22:15:00", "01:15:00"))).times
    assert np.diff(times).tolist() == [2.0, -1.0, -2699.0, 10_800.0]


def test_a_clock_that_begins_at_zero_counts_from_each_start(read: Any) -> None:
    times = losses(read(clocks("00:00:02", "04:00:00", "00:00:03", "00:10:00"))).times
    assert times.tolist() == [2.0, 14_400.0, 14_403.0, 15_000.0]


def test_a_time_of_day_among_dates_tells_nothing(read: Any) -> None:
    log = clocks("2026-01-02 03:04:05", "03:05:00", "2026-01-02 03:06:05")
    assert np.isfinite(losses(read(log)).times).tolist() == [True, False, True]
    later = losses(read(clocks("03:04:05", "2026-01-02 03:05:05", "03:06:05"))).times
    assert np.diff(later).tolist() == [60.0, 60.0]


def test_what_ends_a_log_of_times_of_day_bears_no_date(read: Any) -> None:
    run = read(
        clocks("03:04:05", "03:05:05") + "03:06:05 Traceback (most recent call last):\nValueError: no\n"
    )
    (raised,) = run.events.of("exception")
    assert np.isnan(raised.time)
    assert run.last_time == 11_105.0
