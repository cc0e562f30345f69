"""What scores do beside a loss."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hrmdoc.measures.function import Member
from hrmdoc.measures.functions import beside
from hrmdoc.record.series import Nature


def loss(values: list[float], role: str | None = "train.loss", *, guessed: bool = False) -> Member:
    return _member("loss", values, "loss", SimpleNamespace(role=role, guessed=guessed))


def score(values: list[float], name: str = "val hit", *, held_out: bool = True) -> Member:
    return _member(name, values, "score", SimpleNamespace(role=None, guessed=False), held_out=held_out)


def _member(
    name: str, values: list[float], family: str, role: SimpleNamespace, *, held_out: bool = False
) -> Member:
    nature = Nature(family=family, words=tuple(name.split()), held_out=held_out)
    series = SimpleNamespace(name=name, nature=nature, role=role)
    return Member(series, np.array(values, np.float64))  # type: ignore[arg-type]


STANDS = [4.61, 4.6, 4.62, 4.61, 4.6, 4.61]
FALLS = [4.6, 3.0, 2.0, 1.5, 1.2, 1.0]


def test_a_score_and_a_loss_that_stand_are_shown_by_the_score() -> None:
    still = score([0.05] * 6)
    assert beside.nothing_moves((loss(STANDS), still)) is still.series
    assert beside.nothing_moves((loss(FALLS), still)) is None
    assert beside.nothing_moves((loss(STANDS), score([0.05] * 5 + [0.06]))) is None
    assert beside.nothing_moves((loss(STANDS), score([0.0] * 6))) is None
    assert beside.nothing_moves((loss(STANDS), score([97.0] * 6))) is None
    assert beside.nothing_moves((still,)) is None


def test_a_loss_that_was_only_guessed_stands_back_behind_the_one_that_is_known() -> None:
    known, guessed = loss(STANDS), loss(FALLS, guessed=True)
    assert beside.nothing_moves((known, guessed, score([0.05] * 6))) is not None
    assert beside.nothing_moves((guessed, score([0.05] * 6))) is None


def test_scores_of_training_and_repeated_ones_are_left_aside_where_others_are_held_out() -> None:
    gains = score([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "accuracy", held_out=False)
    stays = score([0.1, 0.09, 0.1, 0.1, 0.08, 0.1])
    assert beside.scores_gain_nothing((loss(FALLS), gains, stays)) is stays.series
    assert beside.scores_gain_nothing((loss(FALLS), gains)) is None
    assert beside.scores_gain_nothing((loss(FALLS), score([0.1] * 6, "best hit"))) is None


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.2, 0.2, 0.1, 0.2, 0.1, 0.2], True),
        ([0.2, 0.2, 0.21, 0.2, 0.1, 0.2], False),  # few evaluations: one was better
        ([20.0, 21.0, 19.0, 20.0, 22.0, 23.0, 21.0, 22.0], True),  # many: no more than a fifth
        ([20.0, 21.0, 19.0, 20.0, 22.0, 25.0, 21.0, 22.0], False),
        ([0.0, 0.0, 0.001, 0.004, 0.008, 0.01, 0.012, 0.01], True),
        ([0.41] * 6, False),
        ([-0.1] * 6, False),
        ([0.0] * 6, False),
    ],
)
def test_a_low_score_gains_nothing_while_the_loss_falls(values: list[float], *, shown: bool) -> None:
    falls = [4.6 * 0.8**at for at in range(len(values))]
    assert (beside.scores_gain_nothing((loss(falls), score(values))) is not None) is shown
    assert beside.scores_gain_nothing((loss([4.6] * len(values)), score(values))) is None


def test_scores_sink_where_the_first_evaluations_were_best_and_the_loss_gains_nothing() -> None:
    sinks = score([0.25, 0.2, 0.15, 0.1, 0.09, 0.08])
    assert beside.scores_sink((loss(STANDS), sinks)) is sinks.series
    assert beside.scores_sink((loss(FALLS), sinks)) is None
    assert beside.scores_sink((loss(STANDS), score([0.1, 0.15, 0.2, 0.25, 0.1, 0.08]))) is None
    assert beside.scores_sink((loss(STANDS), score([0.25, 0.2, 0.2, 0.19, 0.18, 0.17]))) is None
    assert beside.scores_sink((loss(STANDS), sinks, score([0.1] * 6))) is None


def test_all_is_right_from_the_start_at_a_loss_that_says_otherwise() -> None:
    right = score([1.0] * 6)
    assert beside.right_from_start((loss(FALLS), right)) is right.series
    assert beside.right_from_start((loss(FALLS), score([100.0] * 6))) is not None
    assert beside.right_from_start((loss([0.9, 0.8, 0.75, 0.72, 0.71, 0.705]), right)) is None
    assert beside.right_from_start((loss([4.6, 3.0, 2.0, 1.0, 0.8, 0.6]), right)) is None
    assert beside.right_from_start((loss(STANDS), right)) is None
    assert beside.right_from_start((loss(FALLS), score([0.99] + [1.0] * 5))) is None
