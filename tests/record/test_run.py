"""hrmdoc.record.run: of several sources of one role the most precise is read, unless it leaves out a part of
the run."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.record.records import Axis, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess


def run_of(**sources: tuple[range, int, Axis]) -> Run:
    """A run whose loss several sources tell: name -> steps, precision, axis."""
    run = Run(role_of=lambda metric: RoleGuess("train.loss", guessed=metric == "guessed"))
    for name, (steps, precision, axis) in sources.items():
        at = np.array(steps, np.int64)
        values = np.ones(len(at))
        run.add(
            Points(name, at, values, np.full(len(at), np.nan), f"{name}.log", precision=precision, axis=axis)
        )
    return run


def chosen(run: Run) -> str:
    best = run.best("train.loss")
    assert best is not None
    return best.key.metric


@pytest.mark.parametrize(
    ("title", "exact", "printed", "expected"),
    [
        ("fewer exact points of the whole run", range(9, 100, 10), range(100), "exact"),
        ("zero-based beside one-based", range(2, 24, 3), range(1, 25), "exact"),
        ("one point less, as the last flush left it", range(0, 90, 10), range(0, 100, 10), "exact"),
        ("one exact point of an evaluation that both tell", range(20, 21), range(10, 30, 10), "printed"),
        ("a state file that ends at its checkpoint", range(0, 50, 10), range(0, 100, 10), "printed"),
        ("a tracker that knows the second half", range(500, 1000, 10), range(0, 1000, 10), "printed"),
        ("a summary of three points", range(0, 999, 499), range(1000), "printed"),
    ],
)
def test_the_most_precise_source_is_read_unless_it_leaves_out_a_part(
    title: str, exact: range, printed: range, expected: str
) -> None:
    assert chosen(run_of(exact=(exact, 3, "step"), printed=(printed, 0, "step"))) == expected, title


def test_a_source_that_counts_otherwise_is_judged_by_its_number_of_points() -> None:
    assert chosen(run_of(exact=(range(60), 3, "step"), printed=(range(100), 0, "index"))) == "exact"
    assert chosen(run_of(exact=(range(40), 3, "step"), printed=(range(100), 0, "index"))) == "printed"


def test_of_guessed_names_that_are_level_the_one_of_the_whole_comes_first() -> None:
    run = Run(role_of=lambda metric: RoleGuess("train.loss", guessed=bool(metric)))
    at = np.arange(10)
    for name in ("inlet_loss", "outlet_loss", "summary_loss", "total_loss", "wall_loss"):
        run.add(Points(name, at, np.ones(10), np.full(10, np.nan), "log.csv"))
    assert chosen(run) == "total_loss", "`summary` is no sum"


def test_a_known_name_comes_before_a_guessed_one_however_precise() -> None:
    assert chosen(run_of(guessed=(range(100), 3, "step"), printed=(range(10), 0, "step"))) == "printed"


def test_a_running_log_takes_over_from_an_event_file_that_was_not_flushed_and_gives_back() -> None:
    run = run_of(exact=(range(0, 50, 5), 2, "step"), printed=(range(0, 50, 5), 0, "step"))
    assert chosen(run) == "exact"
    late = np.arange(50, 100, 5)
    for metric, precision, expected in (("printed", 0, "printed"), ("exact", 2, "exact")):
        run.add(Points(metric, late, np.ones(10), np.full(10, np.nan), f"{metric}.log", precision=precision))
        assert chosen(run) == expected


@pytest.mark.parametrize(
    ("title", "own", "outlived"),
    [
        ("it logged what the others did and stopped", range(31), False),
        ("it went on itself", range(60), True),
        ("it logs a point now and then", range(0, 30, 10), True),
        ("it has no points", range(0), True),
    ],
)
def test_a_rank_that_logs_its_progress_is_outlived_by_itself_alone(
    title: str, own: range, outlived: bool
) -> None:
    run = Run(role_of=lambda _: RoleGuess("train.loss"))
    for rank, steps in ((0, range(60)), (2, own)):
        at = np.array(steps, np.int64)
        if len(at):
            none = np.full(len(at), np.nan)
            run.add(Points("loss", at, np.ones(len(at)), none, f"rank_{rank}.log", at + 1, rank))
    word = Line("RuntimeError: uncorrectable ECC error", "rank_2.log", 32, step=30, rank=2)
    assert run.outlived(word) is outlived, title
