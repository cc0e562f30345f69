"""The table of what presets reach."""

from __future__ import annotations

from benchmarks.trainer.presets import FOUR, ROWS, Row, told
from benchmarks.trainer.sudoku import Reached
from hrmdoc.trainer.config.load import load
from hrmdoc.trainer.config.overrides import preset_names


def test_every_preset_has_a_row_that_can_be_run_or_the_reason_why_not() -> None:
    assert {part for row in ROWS for part in row.preset.split(",")} == set(preset_names())
    for row in ROWS:
        config = load(None, [f"preset={row.preset}", *row.words])
        assert bool(row.why_not) != config.data_path.startswith("builtin:")


def test_a_row_says_what_was_reached_or_that_it_was_not_run() -> None:
    reached = Reached(first=None, best=0.5, last=0.25, steps=640, cpu_s=90.0)
    line = "| tiny | data_path=builtin:sudoku-4x4 epochs=3 | 1 | 640 | 1.5 | 25.0% |"
    assert told(Row("tiny", (*FOUR, "epochs=3")), 1, reached) == line
    assert told(Row("mps", why_not="no GPU"), None, None) == "| mps | - | - | not run: no GPU | - | - |"
