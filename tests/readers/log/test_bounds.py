"""Where a bound keeps memory small, what was left out is counted and reported."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log import single
from hrmdoc.readers.log.formats import keras_bar
from hrmdoc.readers.log.lines.stream import PIECE_LIMIT

BOX = "-" * 40 + "\n{rows}| total_timesteps | 2048 |\n" + "-" * 40 + "\n"


def test_values_of_a_list_beyond_the_bound_are_counted(read: Any) -> None:
    run = read("val_losses = [" + ", ".join(f"{at % 7}.5" for at in range(10_003)) + "]\n")
    assert run.points == 10_000
    [damage] = run.damages
    assert (damage.line, damage.what) == (1, "left out 3 values of too long a list")


def test_rows_of_a_box_beyond_the_bound_are_counted(read: Any) -> None:
    run = read(BOX.format(rows="".join(f"| loss_{at} | 0.5 |\n" for at in range(205))))
    [damage] = run.damages
    assert damage.what == "left out 6 rows of too long a box"


def test_numbers_below_a_heading_beyond_the_bound_are_counted(read: Any) -> None:
    run = read("Validation loss:\n" + "0.5\n" * 10_002)
    assert run.points == 10_000
    [damage] = run.damages
    assert damage.what == "left out 2 values of too long a column"


def test_redraws_of_a_bar_of_no_epoch_beyond_the_bound_are_counted(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keras_bar, "_MOST_DRAWN", 10)
    run = read("".join(f"{at}/99 [==>...] - ETA: 9s - loss: 0.{at}\n" for at in range(1, 16)))
    [damage] = run.damages
    assert damage.what == "left out 5 redraws of a bar of no epoch"


def test_ranks_beyond_the_bound_are_counted_and_their_lines_read(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single, "_MOST_RANKS", 4)
    run = read("".join(f"[rank{rank}]: step {rank} loss 0.5\n" for rank in range(7)))
    assert run.points == 7
    [damage] = run.damages
    assert (damage.line, damage.what) == (5, "left out 3 names of too many ranks")


def test_all_overlong_lines_are_counted(read: Any) -> None:
    long = b"x" * (PIECE_LIMIT + 1) + b"\n"
    [damage] = read(b"step 1 loss 0.5\n" + 3 * long).damages
    assert damage.what.startswith("3 lines are longer than 64 KiB")
    [damage] = read(long).damages
    assert damage.what.startswith("a line is longer than 64 KiB")


LOSSES = "".join(f"step {at} loss {2 - at / 100:.2f}\n" for at in range(60))


def test_lines_of_too_many_numbers_are_counted_as_data(read: Any) -> None:
    run = read(LOSSES + 3 * ("step 60 loss " + " ".join(f"{at}.5" for at in range(1500)) + "\n"))
    [damage] = run.damages
    assert (damage.line, damage.what) == (61, "left out 3 lines of more than 1,000 numbers")
    assert not damage.incomplete


def test_a_header_of_sixty_columns_is_a_header(read: Any) -> None:
    names = ["epoch", "train_loss", *(f"part{at}_loss" for at in range(58))]
    rows = "".join(f"{epoch}  {2 - epoch / 50:.2f}" + "  0.5" * 58 + "\n" for epoch in range(20))
    run = read("  ".join(names) + "\n" + rows)
    assert {key.metric for key in run.series} == set(names[1:])
    assert run.points == 59 * 20


def test_rows_below_a_header_that_are_too_long_are_counted(read: Any) -> None:
    long = "2  0.5  0.4" + "  0.25" * 400
    run = read(f"epoch  train_loss  valid_loss\n1  0.6  0.5\n{long}\n3  0.4  0.3\n")
    [damage] = run.damages
    assert (damage.line, damage.what) == (3, "left out 1 rows of more than 2,000 characters")


def test_a_long_line_says_at_its_beginning_what_happens(read: Any) -> None:
    run = read(LOSSES + "Resuming from checkpoint step 50 " + "x y " * 300 + "\n" + LOSSES)
    assert [(event.kind, event.step) for event in run.events] == [("resume", 50)]
    run = read(LOSSES + "x y " * 300 + "Resuming from checkpoint step 50\n" + LOSSES)
    assert run.events == []


def test_a_framework_is_known_by_a_word_behind_many_lines_with_weaker_ones(read: Any) -> None:
    weak = "".join(f"paddle says {chr(97 + at % 26) * (1 + at // 26)} loss 1.0\n" for at in range(400))
    run = read(weak + LOSSES + "INFO:swift begins\n" + LOSSES)
    assert run.facts["run", "run.framework"].value == "ms-swift"
