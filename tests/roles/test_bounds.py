"""Where names stop to tell a role: the last one that does, and the first that does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess, Series, SeriesKey
from hrmdoc.roles import Families, RoleMap, Tables, settle
from hrmdoc.roles.alone import only_losses, only_reward
from hrmdoc.roles.families import allowed
from hrmdoc.roles.names import by_form, by_last_word, normalised, parted, stripped
from hrmdoc.roles.sides import scores_of_evaluation
from hrmdoc.roles.sweeps import _comes_and_goes, _counts_nothing
from hrmdoc.rulebook import load

BOOK = load()
EPOCHS = {"train_loss": 20, "val_loss": 20}
SIDES: dict[str, str | None] = {"train_loss": "train.loss", "val_loss": "eval.loss", "F1": "train.accuracy"}


@pytest.mark.parametrize(("points", "found"), [(18, False), (19, True), (20, True), (21, True), (22, False)])
def test_a_score_of_the_evaluation_is_written_as_often_as_its_loss_but_for_one(
    points: int, found: bool
) -> None:
    told = scores_of_evaluation(SIDES, EPOCHS | {"F1": points})
    assert told == ({"F1": RoleGuess("eval.accuracy", guessed=True)} if found else {})


def test_of_a_score_that_was_not_counted_there_are_no_points() -> None:
    fresh = {"train_loss": 1, "val_loss": 1}
    assert scores_of_evaluation(SIDES, fresh) == {"F1": RoleGuess("eval.accuracy", guessed=True)}
    assert scores_of_evaluation(SIDES, EPOCHS) == {}
    assert scores_of_evaluation(SIDES, {"F1": 1}) == {"F1": RoleGuess("eval.accuracy", guessed=True)}
    assert scores_of_evaluation(SIDES, {"F1": 2}) == {}
    more: dict[str, str | None] = {**SIDES, "vali_loss": "eval.loss"}
    assert scores_of_evaluation(more, {"val_loss": 5, "vali_loss": 20, "F1": 20}) != {}


@pytest.mark.parametrize(
    ("name", "part", "rest", "averaged"),
    [
        ("train_loss", "train", ["loss"], False),
        ("eval_2_loss", "eval", ["loss"], True),
        ("layer_2_loss", "", ["layer", "2", "loss"], False),
        ("test_acc", "test", ["acc"], False),
        ("val_train_loss", "eval", ["train", "loss"], False),
        ("train_val_loss", "train", ["val", "loss"], False),
        ("val_test_loss", "eval", ["test", "loss"], False),
        ("avg_loss", "", ["loss"], True),
        ("batch_loss_step", "", ["loss"], False),
        ("final_metrics", "", [], False),
    ],
)  # fmt: skip
def test_a_name_is_stripped_of_part_span_and_averaging(
    name: str, part: str, rest: list[str], averaged: bool
) -> None:
    assert stripped(name.split("_")) == (part, rest, averaged)


LOSS = RoleGuess("train.loss", guessed=True)


@pytest.mark.parametrize(
    ("words", "guess"),
    [
        ("my model loss", LOSS),
        ("p o i n t loss", LOSS),
        ("p o i n t s loss", None),  # of seven words the last one says too little
        ("kl loss", None),
        ("kl acc", RoleGuess("train.accuracy", guessed=True)),
        ("best acc", None),
        ("my ppl", RoleGuess("perplexity", guessed=True)),
        ("my value", None),
    ],
)
def test_the_last_word_of_a_name_is_a_guess(words: str, guess: RoleGuess | None) -> None:
    assert by_last_word(words.split()) == guess


@pytest.mark.parametrize(
    ("part", "words", "role"),
    [
        ("eval", "angle err", "eval.error"),
        ("test", "error", "eval.error"),
        ("train", "error", None),
        ("eval", "best error", None),
        ("eval", "recall@20", "train.score"),
        ("", "hits@k1000", "eval.score"),
        ("train", "hits@k1000", "train.score"),
        ("", "prec@1", "train.score"),
        ("", "recall@20000", None),
        ("", "area@20", None),
    ],
)
def test_errors_of_held_out_data_and_rankings_are_known_by_their_form(
    part: str, words: str, role: str | None
) -> None:
    assert by_form(part, words.split()) == (None if role is None else RoleGuess(role, guessed=True))


@pytest.mark.parametrize(
    ("name", "apart"),
    [("TrainLoss", "Train_Loss"), ("valacc", "val_acc"), ("TRAINloss", "TRAIN_loss"), ("Valloss", "Val_loss"),
     ("valaccess", "valaccess"), ("KLLoss", "KLLoss")],
)  # fmt: skip
def test_glued_words_are_parted_whatever_their_case(name: str, apart: str) -> None:
    assert parted(name) == apart


def test_names_are_compared_without_case_separators_and_units() -> None:
    assert normalised("  Train / Loss (s) ") == "train_loss"
    assert normalised("_loss_") == "loss"


@pytest.mark.parametrize(
    ("roles", "reward"),
    [
        ({"Score": None, "eps": "rl.exploration"}, "Score"),
        ({"Score": None}, None),
        ({"Avg Results": None, "eps": "rl.exploration"}, "Avg Results"),
        ({"Score": None, "eps": "rl.exploration", "r": "rl.reward"}, None),
        ({"Score": None, "Return": None, "eps": "rl.exploration"}, None),
        ({"Score": None, "Avg Return": None, "eps": "rl.exploration"}, "Avg Return"),
        ({"Avg Score": None, "Avg Return": None, "eps": "rl.exploration"}, None),
        ({"Score": "eval.score", "eps": "rl.exploration"}, None),
    ],
)
def test_a_score_is_the_reward_where_it_is_the_only_one(
    roles: dict[str, str | None], reward: str | None
) -> None:
    expected = {} if reward is None else {reward: RoleGuess("rl.reward", guessed=True)}
    assert only_reward(roles) == expected


@pytest.mark.parametrize(
    ("roles", "stated", "found"),
    [
        ({"my_loss": None, "val_loss_x": None}, set(), {"my_loss": "train.loss", "val_loss_x": "eval.loss"}),
        ({"my_loss": None, "val_my_loss": None}, {"train.loss"}, {"val_my_loss": "eval.loss"}),
        ({"my_loss": None, "val_my_loss": None}, {"eval.loss"}, {"my_loss": "train.loss"}),
        ({"my_loss": None, "loss": "train.loss", "val_my_loss": None}, set(), {"val_my_loss": "eval.loss"}),
        ({"my_loss": None}, {"rl.reward"}, {}),
        ({"my_loss": None, "total_my_loss": None}, set(), {"total_my_loss": "train.loss"}),
        ({"my_loss": None, "gan_loss": None}, set(), {}),
    ],
)  # fmt: skip
def test_the_only_loss_of_a_side_is_its_loss(
    roles: dict[str, str | None], stated: set[str], found: dict[str, str]
) -> None:
    told = only_losses(roles, Families(BOOK.families.values()), stated)
    assert told == {name: RoleGuess(role, guessed=True) for name, role in found.items()}


def series(values: list[float], metric: str = "mAP50") -> Series:
    made = Series(SeriesKey(metric, None, "x"), RoleGuess(None), "step", 1)
    at = np.arange(len(values))
    made.extend(Points(metric, at, np.array(values, np.float64), np.full(len(at), math.nan), "x"))
    made.nature = Families(BOOK.families.values())(metric)
    return made


def test_a_score_of_no_numbers_is_allowed() -> None:
    assert allowed(series([math.nan, math.nan]))
    assert not allowed(series([math.nan, 102.0]))


@pytest.mark.parametrize(
    ("steps", "nothing"),
    [
        ([0, 9, 5, 9, 5, 9, 5, 9, 5], True),
        ([0, 9, 5, 9, 5, 9, 5, 9], False),  # three falls are few
        ([9, 0, 9, 0, 9, 1, 9, 0], False),  # where runs begin
        ([9, 0, 9, 1, 9, 2, 9, 0], False),  # a quarter of them elsewhere
        ([9, 0, 9, 3, 9, 2, 9, 0], True),
    ],
)
def test_epochs_count_nothing_where_they_fall_again_and_again_to_where_no_run_begins(
    steps: list[int], nothing: bool
) -> None:
    assert _counts_nothing(np.array(steps)) is nothing


@pytest.mark.parametrize(
    ("values", "found"), [([1, 2, 1], False), ([1, 2, 1, 2], True), ([2, 1, 1, 2], True)]
)
def test_four_rows_tell_whether_a_setting_comes_and_goes(values: list[float], found: bool) -> None:
    assert _comes_and_goes(series(values, "lr")) is found


def test_beyond_ten_thousand_rows_nobody_searched() -> None:
    assert _comes_and_goes(series([1.0, 2.0] * 5_000, "lr"))
    assert not _comes_and_goes(series([1.0, 2.0] * 5_001, "lr"))


def swept(stated: dict[str, str] | None = None, **columns: list[float]) -> Run:
    run = Run("run", RoleMap(BOOK, stated or {}))
    for name, values in columns.items():
        at = np.arange(len(values))
        run.add(Points(name, at, np.array(values), at * math.nan, "sweep.csv", axis="index"))
    settle(run, "unknown")
    return run


LOSSES = [0.5, 0.4, 0.6, 0.3]


@pytest.mark.parametrize(
    ("columns", "curve"),
    [
        ({"loss": LOSSES, "dropout": [0.1, 0.3, 0.1, 0.3]}, False),
        ({"loss": LOSSES, "seed": [1.0, 2.0, 1.0, 2.0]}, False),
        ({"loss": LOSSES, "lr": [0.1, 0.3, 0.1, 0.3]}, True),  # a schedule alone does that
        ({"loss": LOSSES, "lr": [0.1, 0.3, 0.1, 0.3], "batch_size": [4.0, 4.0, 8.0, 8.0]}, False),
        ({"loss": LOSSES, "dropout": [0.1, 0.1, 0.1, 0.1]}, True),
        ({"loss": LOSSES, "epoch": [0.0, 1.0, 0.0, 1.0], "lr": [0.1, 0.3, 0.1, 0.3]}, True),
    ],
)
def test_rows_are_runs_where_a_fixed_setting_or_two_others_come_and_go(
    columns: dict[str, list[float]], curve: bool
) -> None:
    run = swept(**columns)
    before = run.version
    Tables(BOOK.frameworks.values()).leave_out(run)
    assert (run.best("train.loss") is not None) is curve
    assert (run.version == before) is curve
    settled = run.version
    Tables(BOOK.frameworks.values()).leave_out(run)
    assert run.version == settled


def test_a_table_of_runs_of_which_the_user_speaks_is_believed() -> None:
    run = swept({"loss": "train.loss"}, loss=LOSSES, dropout=[0.1, 0.3, 0.1, 0.3])
    Tables(BOOK.frameworks.values()).leave_out(run)
    assert run.best("train.loss") is not None
