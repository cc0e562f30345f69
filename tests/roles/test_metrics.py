"""hrmdoc.roles.metrics: names of metrics -> roles."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import RoleMap, settle
from hrmdoc.roles.names import normalised

BOOK = rulebook.load()
ROLE = RoleMap(BOOK)


@pytest.mark.parametrize(
    "metric",
    [
        "best_val_loss",
        "kl_loss",
        "train/aux_loss",
        "loss_weight",
        "eval_runtime",
        "train/total_flos",
        "val/grad_norm",
        "x",
        "",
        "all.q_halt_accuracy",
        "rewards/chosen",
        "lr/pg1",
        "lrm",
        "metrics/precision(B)",
        "___",
        "lm loss vs samples",
        "center_rewards_loss",
        "critic/mfu",
        "g_losses",
        "netD_loss",
        "train_G",
        "lr_d",
        "best_losses",
        "aux_loss_coef",
        "info/learner/default_policy/learner_stats/cur_kl_coeff",
        "score",
        "Test_score",
        "d_acc",
        "G_accuracy",
        "Random baseline accuracy",
        "top_10_accuracy",
        "Initial validation loss",
    ],
)
def test_names_that_are_no_curve_of_interest_have_no_role(metric: str) -> None:
    assert ROLE(metric).role is None


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("log_probs/chosen", "dpo.logp_chosen"),
        ("EpRew", "rl.reward"),
        ("Accuracy (Top-1)", "train.accuracy"),
        ("optim/grad_norm", "grad_norm"),
        ("perf/data_time", "data_time"),
        ("actor/mfu", "mfu"),
        ("perf/time_per_step", "step_time"),
        ("n_tokens_seen", "num_tokens"),
        ("performance/tokens_per_sec_per_gpu", "tokens_per_second"),
        ("batch_cost", "step_time"),
        ("response_clip_ratio", "rl.completions_clipped"),
        ("Mean Generation Length", "rl.completion_length"),
        ("entropy/mean", "rl.entropy"),
        ("Eval metrics/eval/CrossEntropy", "eval.loss"),
        ("Train metrics/train/MulticlassAccuracy", "train.accuracy"),
        ("metrics/my-set/MulticlassAccuracy", "eval.accuracy"),
        ("loss", "train.loss"),
        ("train/loss", "train.loss"),
        ("Train Loss", "train.loss"),
        ("train_loss_step", "train.loss"),
        ("lm loss", "train.loss"),
        ("train/CE loss", "train.loss"),
        ("reduced_train_loss", "train.loss"),
        ("Train/Samples/train_loss", "train.loss"),
        ("train/lm_loss", "train.loss"),
        ("loss_metrics/global_avg_loss", "train.loss"),
        ("train/box+cls+dfl_loss", "train.loss"),
        ("val/box+obj+cls_loss", "eval.loss"),
        ("eval_loss", "eval.loss"),
        ("val/loss", "eval.loss"),
        ("valid_loss", "eval.loss"),
        ("Loss/validation", "eval.loss"),
        ("validation/epoch_loss", "eval.loss"),
        ("final_metrics.val_loss", "eval.loss"),
        ("val_lm loss value", "eval.loss"),
        ("all.lm_loss", "eval.loss"),
        ("Validation bpb", "eval.loss"),
        ("val_accuracy", "eval.accuracy"),
        ("eval_accuracy", "eval.accuracy"),
        ("train_acc", "train.accuracy"),
        ("all.exact_accuracy", "eval.exact_accuracy"),
        ("train/exact_accuracy", "train.exact_accuracy"),
        ("exact", "train.exact_accuracy"),
        ("train/steps", "act.steps"),
        ("train/q_halt_loss", "act.q_halt_loss"),
        ("train/count", "act.halted_count"),
        ("grad_norm", "grad_norm"),
        ("train/grad_norm", "grad_norm"),
        ("grad norm", "grad_norm"),
        ("gnorm", "grad_norm"),
        ("optim/total grad norm", "grad_norm"),
        ("learning_rate", "lr"),
        ("train/learning_rate", "lr"),
        ("learning-rate", "lr"),
        ("lr-AdamW", "lr"),
        ("optim/learning_rate_group0", "lr"),
        ("loss scale", "loss_scale"),
        ("eval_ppl", "eval.perplexity"),
        ("ppl", "perplexity"),
        ("tps", "tokens_per_second"),
        ("dt", "step_time"),
        ("reward", "rl.reward"),
        ("rollout/ep_rew_mean", "rl.reward"),
        ("critic/score/mean", "rl.reward"),
        ("cv_loss", "eval.loss"),
        ("Vali Loss", "eval.loss"),
        ("val_acc (%)", "eval.accuracy"),
        ("act_loss", "rl.policy_loss"),
        ("cri_loss", "rl.value_loss"),
        ("info/learner/default_policy/learner_stats/entropy", "rl.entropy"),
        ("info/learner/default_policy/learner_stats/cur_lr", "lr"),
        ("rewards/format_reward/mean", "rl.format_reward"),
        ("frac_reward_zero_std", "rl.frac_reward_zero_std"),
        ("completions/clipped_ratio", "rl.completions_clipped"),
        ("actor/ppo_kl", "rl.kl"),
        ("sampling/importance_sampling_ratio/min", "rl.is_ratio_min"),
        ("clip_ratio/region_mean", "rl.clip_ratio"),
        ("rewards/margins", "dpo.margin"),
        ("logps/rejected", "dpo.logp_rejected"),
        ("perf/data_time_s", "data_time"),
        ("mfu(%)", "mfu"),
    ],
)
def test_names_of_frameworks_are_known(metric: str, role: str) -> None:
    assert ROLE(metric) == RoleGuess(role, guessed=False)


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("val_pr_auc", "eval.score"),
        ("val_ap", "eval.score"),
        ("ROUGE-1", "train.score"),
        ("eval_rougeLsum", "eval.score"),
        ("val_top5", "eval.score"),
        ("Acc@5", "train.score"),
        ("valid valid mae", "eval.loss"),
        ("evaluation/average_reward", "rl.reward"),
        ("my_model_loss", "train.loss"),
        ("train_loss_epoch", "train.loss"),
        ("avg_loss", "train.loss"),
        ("test_Acc@1", "eval.accuracy"),
        ("norm", "grad_norm"),
        ("eval_wikitext_loss", "eval.loss"),
        ("rewards/length_func/mean", "rl.reward"),
        ("mse", "train.loss"),
        ("valid_1.binary_logloss", "eval.loss"),
        ("train-gamma-nloglik", "train.loss"),
        ("val_mean_squared_error", "eval.loss"),
        ("valid_1/auc", "eval.accuracy"),
        ("validation score", "eval.accuracy"),
        ("lr_g", "lr"),
        ("generator learning rate", "lr"),
        ("dev_FB1", "eval.accuracy"),
        ("Vaildation F1", "eval.accuracy"),
        ("val_f-score", "eval.accuracy"),
        ("val_oa", "eval.accuracy"),
        ("l_pix", "train.loss"),
    ],
)
def test_other_names_are_guessed_and_say_so(metric: str, role: str) -> None:
    guess = ROLE(metric)
    assert guess.role == role
    assert guess.guessed or metric == "test_Acc@1"


@pytest.mark.parametrize("metric", ["BestValLoss", "ObjLoss", "KLLoss", "evaluation", "validate"])
def test_humps_do_not_make_a_role_where_there_is_none(metric: str) -> None:
    assert ROLE(metric).role is None


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("TrainLoss", "train.loss"),
        ("trainAcc", "train.accuracy"),
        ("ValLoss", "eval.loss"),
        ("validationAccuracy", "eval.accuracy"),
        ("va_loss", "eval.loss"),
        ("valacc", "eval.accuracy"),
        ("trainloss", "train.loss"),
    ],
)
def test_words_may_be_parted_by_capitals_or_not_at_all(metric: str, role: str) -> None:
    assert ROLE(metric).role == role


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("train_losses", "train.loss"),
        ("val_losses", "eval.loss"),
        ("train_accs", "train.accuracy"),
        ("val_accuracies", "eval.accuracy"),
        ("loss_curve", "train.loss"),
        ("val_loss_history", "eval.loss"),
        ("learning_rates", "lr"),
        ("train_ppls", "perplexity"),
    ],
)
def test_lists_named_in_the_plural_are_known(metric: str, role: str) -> None:
    assert ROLE(metric).role == role


def test_the_user_has_the_last_word_and_takes_the_role_from_all_others() -> None:
    roles = RoleMap(BOOK, {"my_metric": "train.loss", "noise": ""})
    assert roles("my_metric") == RoleGuess("train.loss")
    assert roles("loss").role == "train.loss", "until the run has the metric that the user named"
    assert roles.settle("unknown", {"my_metric": 3, "loss": 3})
    assert roles("loss").role is None
    assert roles("noise").role is None
    assert roles("eval_loss").role == "eval.loss"


def test_no_two_frameworks_contradict_each_other_on_a_name() -> None:
    seen: dict[str, tuple[str, str]] = {}
    for framework in BOOK.frameworks.values():
        for name, role in framework.metrics.items():
            if not name.startswith("/"):
                known = seen.setdefault(normalised(name), (role, framework.id))
                assert known[0] == role, f"{name}: {known} against {(role, framework.id)}"


def test_separators_case_and_units_do_not_matter() -> None:
    assert (
        len(
            {
                normalised(name)
                for name in ("Train/Loss", "train_loss", "train loss", "train.loss", "TRAIN-LOSS (s)")
            }
        )
        == 1
    )


def test_a_name_means_what_the_framework_that_wrote_the_run_means_by_it() -> None:
    run = Run("run", RoleMap(BOOK))
    numbers = np.arange(3)
    run.add(Points("accuracy", numbers, numbers / 2.0, numbers * np.nan, "log.jsonl"))
    [series] = run.series.values()
    settle(run, "keras")
    assert series.role == RoleGuess("train.accuracy")
    version = run.version
    settle(run, "llama-factory")
    assert series.role == RoleGuess("dpo.accuracy"), "there it is the share of pairs in the right order"
    assert run.version > version
    assert run.role_of("loss") == RoleGuess("train.loss"), "other names stay"


def test_the_users_word_wins_over_the_framework() -> None:
    role = RoleMap(BOOK, {"accuracy": "train.exact_accuracy"})
    assert role.settle("fastai")
    assert role("accuracy") == RoleGuess("train.exact_accuracy")


def test_settling_twice_changes_nothing() -> None:
    role = RoleMap(BOOK)
    assert [role.settle(name) for name in ("fastai", "fastai", "unknown", "hf-trainer")] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("metric", ["val_dice_mean", "val_iou", "valid/mIoU", "val_map50", "eval_bleu"])
def test_a_score_of_an_evaluation_is_one_whatever_it_counts(metric: str) -> None:
    assert ROLE(metric).role == "eval.score"


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("Model test error", "eval.error"),
        ("valid/angle_err", "eval.error"),
        ("td_error", None),
        ("best_val_angle_error", None),
        ("test/ndcg@10", "eval.score"),
        ("val_recall@20", "eval.score"),
        ("val_prec", "eval.score"),
        ("val_recall", None),
        ("val_precision", None),
    ],
)
def test_an_error_and_a_ranking_of_held_out_data_are_what_their_words_say(
    metric: str, role: str | None
) -> None:
    assert ROLE(metric).role == role


def test_a_score_beside_an_epsilon_is_the_reward_and_without_one_it_is_nothing_known() -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", {"Average Score", "Epsilon", "Loss"})
    assert roles("Average Score") == RoleGuess("rl.reward", guessed=True)
    assert roles("Epsilon").role == "rl.exploration"
    roles.settle("unknown", {"Average Score", "Loss"})
    assert roles("Average Score").role is None


def test_of_several_scores_the_averaged_one_is_the_reward_and_a_known_reward_stays() -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", {"Score", "Avg Score", "epsilon"})
    assert (roles("Avg Score").role, roles("Score").role) == ("rl.reward", None)
    roles.settle("unknown", {"Score", "reward", "epsilon"})
    assert (roles("reward").role, roles("Score").role) == ("rl.reward", None)


@pytest.mark.parametrize(
    ("metrics", "reward"),
    [
        (("test/success_rate", "train/success_rate", "test/episode"), "test/success_rate"),
        (("Mean Score", "Frames"), "Mean Score"),
        (("success_rate", "train_loss"), None),
        (("Mean Score", "Frames", "val_acc"), None),
    ],
)
def test_what_a_policy_won_is_its_reward_where_it_is_counted_what_it_played(
    metrics: tuple[str, ...], reward: str | None
) -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", dict.fromkeys(metrics, 30))
    assert [name for name in metrics if roles(name).role == "rl.reward"] == ([reward] if reward else [])


@pytest.mark.parametrize("metric", ["train_kl_step", "kl", "kl_loss", "avg_kld", "v_loss", "cfm_loss"])
def test_names_that_others_use_are_those_of_a_training_by_reward_in_such_company_alone(metric: str) -> None:
    roles = RoleMap(BOOK)
    alone = {"train_loss": 9, "val_loss": 9, "entropy": 9, metric: 9}
    roles.settle("unknown", alone)
    assert not (roles(metric).role or "").startswith("rl.")
    named = RoleMap(BOOK)(metric).role
    for framework, company, said in (
        ("unknown", {"reward": 9}, False),
        ("trl", {}, False),
        ("unknown", {}, True),
    ):
        roles.settle(framework, alone | company, by_reward=said)
        assert roles(metric).role == named


def test_settling_gives_the_roles_anew_once_and_says_so_by_the_version() -> None:
    at = np.arange(3)
    mine = Run("run", role_of=RoleMap(rulebook.load(), {"my_loss": "train.loss"}))
    for name in ("loss", "my_loss"):
        mine.add(Points(name, at, np.ones(3), np.full(3, np.nan), "log"))
    before = mine.version
    settle(mine, "unknown")
    assert {key.metric: series.role.role for key, series in mine.series.items()} == {
        "loss": None,
        "my_loss": "train.loss",
    }
    assert mine.version == before + 1
    settle(mine, "unknown")
    assert mine.version == before + 1


def test_a_score_that_episodes_count_is_the_reward() -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", {"Score": 9, "Average Score": 9}, episodic=True)
    assert roles("Average Score").role == "rl.reward"
    assert roles("Score").role is None
    roles.settle("unknown", {"Average Score": 9, "max score": 9, "average maximum score": 9}, episodic=True)
    assert roles("Average Score").role == "rl.reward"
    roles.settle("unknown", {"Average Score": 9, "reward": 9}, episodic=True)
    assert roles("Average Score").role is None


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("val loss per event", "eval.loss"),
        ("train_loss_per_token", "train.loss"),
        ("reward per episode", "rl.reward"),
        ("steps_per_epoch", None),
        ("tokens per second", "tokens_per_second"),
        ("test PER", None),
    ],
)
def test_of_what_each_one_is_meant_is_no_part_of_the_name(metric: str, role: str | None) -> None:
    assert ROLE(metric).role == role


@pytest.mark.parametrize(
    ("metrics", "risen", "found"),
    [
        ({"total", "PDE", "lr"}, set(), {"total": "train.loss"}),
        ({"Tot", "val_total"}, set(), {"Tot": "train.loss", "val_total": "eval.loss"}),
        ({"train_total", "test_MSE"}, set(), {"train_total": "train.loss"}),
        ({"total", "PDE"}, {"total"}, {}),  # it may count anything
        ({"total", "loss"}, set(), {}),
        ({"total", "reward"}, set(), {}),
        ({"total", "Tot"}, set(), {}),
        ({"total_images"}, set(), {}),
    ],
)
def test_a_total_that_falls_is_the_loss_that_a_run_has_no_other_name_for(
    metrics: set[str], risen: set[str], found: dict[str, str]
) -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", dict.fromkeys(metrics, 9), risen=risen)
    guessed = {name: roles(name).role for name in metrics if "tot" in name.lower() and roles(name).guessed}
    assert guessed == found


@pytest.mark.parametrize(("falls", "known"), [(True, True), (False, False)])
def test_whether_a_training_has_risen_is_seen_within_one_run(falls: bool, known: bool) -> None:
    run = Run("log", role_of=RoleMap(BOOK))
    course = 1 / np.arange(1, 10)
    steps, values = np.tile(np.arange(1, 10), 2), np.concatenate([course, 5 * course])
    for name in ("train", "val"):
        given = values if falls else values[::-1]
        run.add(Points(name, steps, given, np.full(18, np.nan), "log", np.arange(18)))
    settle(run, "unknown")
    roles = {series.role.role for series in run.series.values()}
    assert roles == ({"train.loss", "eval.loss"} if known else {None})
