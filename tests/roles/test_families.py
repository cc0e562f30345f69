"""What the name of a series says of its family, and when a loss that no table knows is the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import Families, RoleMap
from hrmdoc.roles.families import allowed, classify, words_of
from hrmdoc.roles.quantities import Meanings
from hrmdoc.rulebook import load

NAMES = {
    "Loss_D": "loss",
    "val_L1": "loss",
    "grad_l2_norm": "norm",
    "Inception Score": "score",
    "errG": "error",
    "dloss": "loss",
    "val_ari": "score",
    "PSNR": "score",
    "val_r2": "score",
    "top5": "score",
    "KLD": "divergence",
    "kl_loss": "divergence",
    "grpo_loss/kl_divergence_mean": "divergence",
    "CE V": "loss",
    "critic/vf_loss": "loss",
    "val/clsloss": "loss",
    "valid PER": "error",
    "samples_per_second": "clock",
    "train_loss_kb": "resource",
    "communication_cost": "resource",
    "labelling cost": "loss",
    "loss_weight": "schedule",
    "fg_dice_coef": "score",
    "mAP50": "score",
    "val_F1_score": "score",
    "AvgReturn": "reward",
    "total_gradient_norm": "norm",
    "D(x)": "",
    "Test set score": "score",
    "rollout/success_rate": "score",
    "val_psnr": "score",
    "time_hr": "clock",
    "FID": "error",
    "mean edit distance": "error",
    "lpips_loss": "loss",
    "best_val_loss": "",
    "rewards/format/std": "",
}


@pytest.fixture(scope="module")
def families() -> Families:
    return Families(load().families.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_word_of_the_name_tells_the_family(families: Families, name: str) -> None:
    assert families(name).family == NAMES[name]


def test_a_role_tells_it_before_any_word(families: Families) -> None:
    assert families("my_score", "train.loss").family == "loss"


def test_what_a_name_promises_is_never_below_zero(families: Families) -> None:
    assert families("train/box_loss").floor == 0.0
    assert families("nll").floor == -math.inf
    assert families("PER").floor == 0.0


def test_a_name_says_whether_data_is_held_out(families: Families) -> None:
    assert families("CE V").held_out
    assert families("val_seg_loss").held_out
    assert not families("CE T").held_out


def test_words_stand_between_separators_and_where_capitals_begin() -> None:
    assert words_of("gloss valacc") == ("gloss", "g", "loss", "valacc", "val", "acc")
    assert words_of("valF1Score/Loss_D") == ("valf1score", "val", "f", "score", "loss", "d")


@pytest.mark.parametrize(
    ("metrics", "roles"),
    [
        (["CE T", "CE V", "acc V"], {"CE T": "train.loss", "CE V": "eval.loss", "acc V": None}),
        (["recon", "KLD", "total loss x"], {"recon": None, "total loss x": "train.loss"}),
        (["loss_a", "loss_b"], {"loss_a": None, "loss_b": None}),
        (["loss", "my_seg_loss"], {"loss": "train.loss", "my_seg_loss": None}),
        (["Loss_D", "Loss_G"], {"Loss_D": None, "Loss_G": None}),
        (["loss/gan_loss"], {"loss/gan_loss": None}),
        (["kld_loss"], {"kld_loss": None}),
        (["comm_cost_mb", "val_acc"], {"comm_cost_mb": None}),
        (["uplink_loss_ms"], {"uplink_loss_ms": None}),
        (["loss/dis_loss"], {"loss/dis_loss": None}),
        (["loss_netg"], {"loss_netg": None}),
        (
            ["train_G", "train_D", "train_L1", "val_L1"],
            {"train_G": None, "train_L1": "train.loss", "val_L1": "eval.loss"},
        ),
        (["loss/gan_loss", "seg_loss"], {"loss/gan_loss": None, "seg_loss": None}),
        (["sac_critic_loss_now"], {"sac_critic_loss_now": None}),
    ],
)
def test_the_only_loss_is_the_loss(metrics: list[str], roles: dict[str, str | None]) -> None:
    known = RoleMap(load())
    known.settle("unknown", dict.fromkeys(metrics, 3))
    assert {name: known(name).role for name in roles} == roles


def test_a_loss_that_comes_later_takes_the_role_back() -> None:
    known = RoleMap(load())
    assert known.settle("unknown", {"my_seg_loss": 3})
    assert known("my_seg_loss").role == "train.loss"
    assert known.settle("unknown", {"my_seg_loss": 3, "loss": 3})
    assert known("my_seg_loss").role is None


def scored(*values: float, name: str = "mAP50") -> Run:
    run = Run("run", role_of=lambda _: RoleGuess(None))
    at = np.arange(len(values))
    run.add(Points(name, at, np.array(values), np.full(len(at), math.nan), "log"))
    return run


@pytest.mark.parametrize(("highest", "fits"), [(1.0, True), (101.0, True), (101.5, False)])
def test_every_series_of_a_run_gets_its_family_whose_values_it_should_have(
    families: Families, highest: float, fits: bool
) -> None:
    run = scored(0.2, highest, math.nan)
    (series,) = run.series.values()
    classify(run, families, Meanings([]))
    assert series.nature.family == "score"
    assert series.nature.ceiling == 100.0
    assert allowed(series) is fits
