"""Known cases, from symptoms to ranked causes, with the rules as they are shipped."""

from __future__ import annotations

import pytest

from hrmdoc import rulebook
from hrmdoc.diagnosis.diagnose import Diagnosis, diagnose
from hrmdoc.examination.symptom import Symptom
from hrmdoc.rulebook import Rulebook, SymptomRule


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return rulebook.load()


def as_symptom(name: str, rule: SymptomRule | None, state: str, **fields: object) -> Symptom:
    severity = rule.severity if rule else "warning"
    group = rule.group if rule else None
    return Symptom(
        name, title=rule.title if rule else name, severity=severity, state=state, group=group, **fields
    )  # type: ignore[arg-type]


def examine(
    book: Rulebook, kind: str, present: str, absent: str = "", values: dict[str, object] | None = None
) -> Diagnosis:
    """Diagnoses a run with these symptoms; every other symptom was not evaluated."""
    symptoms = [
        as_symptom(name, book.symptoms.get(name), "present", values=values or {}) for name in present.split()
    ]
    symptoms += [as_symptom(name, book.symptoms.get(name), "absent") for name in absent.split()]
    return diagnose(symptoms, book, kind=kind)


def ranked(diagnosis: Diagnosis) -> list[str]:
    return [one.cause for one in diagnosis.hypotheses]


def remedies(diagnosis: Diagnosis, cause: str) -> set[str]:
    return {name for one in diagnosis.hypotheses if one.cause == cause for name in one.remedies}


ZERO_LOSS_SIGNS = (
    "loss-zero eval-loss-zero train-loss-near-zero params-per-sample-high dropout-low-for-size "
    "weight-decay-low "
    "no-early-stopping eval-too-rare"
)
ZERO_LOSS_NEAR_MISSES = (
    "loss-zero-from-start overfitting loss-nonfinite loss-plateau loss-divergence "
    "generalization-gap "
    "learns-well"
)


def test_zero_loss_on_a_small_set_is_memorization_with_leakage_and_masked_labels_as_rivals(
    book: Rulebook,
) -> None:
    diagnosis = examine(book, "classification", ZERO_LOSS_SIGNS, ZERO_LOSS_NEAR_MISSES)
    assert diagnosis.verdict == "critical"
    assert ranked(diagnosis)[0] == "memorization"
    assert {"data-leakage", "labels-masked"} <= set(ranked(diagnosis))
    assert diagnosis.hypotheses[0].probability > 0.5


@pytest.mark.parametrize("good_signs", ["learns-well", "learns-well solved-metrics"])
def test_a_loss_of_exactly_zero_is_never_excused_by_how_well_it_fell(book: Rulebook, good_signs: str) -> None:
    near_misses = " ".join(name for name in ZERO_LOSS_NEAR_MISSES.split() if name not in good_signs)
    diagnosis = examine(book, "classification", f"{ZERO_LOSS_SIGNS} {good_signs}", near_misses)
    assert diagnosis.verdict == "critical"
    assert ranked(diagnosis)[0] == "memorization"
    assert diagnosis.next_check == book.causes["memorization"].check


def test_zero_loss_remedies_are_those_of_the_case(book: Rulebook) -> None:
    diagnosis = examine(book, "classification", ZERO_LOSS_SIGNS, ZERO_LOSS_NEAR_MISSES)
    offered = [book.remedies[name] for name in remedies(diagnosis, "memorization")]
    changes = {change.key: change for remedy in offered for change in remedy.changes}
    multiplied = {key: change.value for key, change in changes.items() if change.op == "multiply"}
    set_to = {key: change.value for key, change in changes.items() if change.op == "set"}
    at_most = {key: change.max for key, change in changes.items() if change.op == "clamp"}
    assert multiplied == dict.fromkeys(
        ("model.hidden_size", "model.layers", "model.low_layers", "model.ff_size"), 0.5
    )
    assert set_to == {
        "data.augmentation": True,
        "model.dropout": "=max(0.4, current)",
        "optimizer.weight_decay": "=max(0.1, current)",
        "eval.early_stopping": 5,
        "train.label_smoothing": 0.1,
        "schedule.warmup_steps": "=max(10, current, ceil(0.05 * run.total_steps))",
    }
    assert at_most == {"optimizer.lr": 1e-4, "eval.interval": 20}
    assert any(remedy.id == "augment-data" and remedy.kind == "manual" for remedy in offered)


def test_a_loss_that_is_zero_from_the_start_means_masked_labels(book: Rulebook) -> None:
    diagnosis = examine(
        book, "sft", "loss-zero loss-zero-from-start grad-norm-zero", "loss-nonfinite learns-well overfitting"
    )
    assert ranked(diagnosis)[0] == "labels-masked"
    assert "inspect-label-mask" in remedies(diagnosis, "labels-masked")


def test_grpo_with_a_loss_of_zero_and_a_rising_reward_is_healthy(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "loss-zero learns-well",
        "reward-zero reward-low reward-std-zero frac-reward-zero-std-high entropy-collapse kl-high",
    )
    assert diagnosis.verdict in ("healthy", "info")
    assert diagnosis.hypotheses[0].benign


def test_grpo_whose_groups_never_differ_has_no_advantage_signal(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "loss-zero frac-reward-zero-std-high reward-std-zero grad-norm-zero",
        "reward-zero entropy-collapse kl-high learns-well",
    )
    assert ranked(diagnosis)[0] == "no-advantage-signal"
    assert diagnosis.verdict in ("warning", "critical")


def test_a_reward_of_zero_points_to_the_reward_function_or_the_task(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "reward-zero reward-std-zero frac-reward-zero-std-high",
        "entropy-collapse kl-high learns-well",
    )
    named = [name for name in ranked(diagnosis) if not book.causes[name].benign]
    assert named[0] == "reward-function-broken"
    assert "task-too-hard" in named[:4]


def test_entropy_collapse_is_mode_collapse_with_the_guides_remedies(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "entropy-collapse frac-reward-zero-std-high",
        "reward-zero kl-high solved-metrics learns-well grad-norm-explosion",
    )
    assert ranked(diagnosis)[0] == "mode-collapse"
    assert {"raise-temperature", "add-kl-penalty", "more-generations", "reduce-learning-rate"} <= remedies(
        diagnosis, "mode-collapse"
    )


def test_low_entropy_at_the_highest_reward_is_a_solved_task(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "entropy-collapse frac-reward-zero-std-high solved-metrics learns-well",
        "reward-zero reward-low kl-high",
    )
    assert ranked(diagnosis)[0] == "solved"
    assert diagnosis.verdict in ("healthy", "info")


def test_stale_samples_are_synced_more_often_not_less(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "rl",
        "is-ratio-collapse logp-difference-high vllm-sync-interval-long",
        "kl-high entropy-collapse",
    )
    assert ranked(diagnosis)[0] == "stale-off-policy-samples"
    change = book.remedies["sync-weights-often"].changes[0]
    assert change.key == "rl.vllm_sync_interval"
    assert change.op == "multiply"
    assert change.value < 1


def test_nan_behind_an_exploding_gradient_norm_comes_from_the_backward_pass(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "sft",
        "loss-nonfinite grad-nonfinite grad-norm-explosion loss-spike no-gradient-clipping",
        "loss-zero loss-scale-collapse",
    )
    assert set(ranked(diagnosis)[:2]) == {"learning-rate-too-high", "gradient-clipping-missing"}


def test_nan_behind_healthy_gradients_comes_from_the_forward_pass(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "sft",
        "loss-nonfinite grad-nonfinite",
        "grad-norm-explosion grad-norm-spike grad-norm-unstable loss-spike loss-divergence "
        "loss-oscillating loss-scale-collapse "
        "fp16-overflow-skips no-gradient-clipping loss-plateau loss-at-chance loss-zero",
    )
    assert set(ranked(diagnosis)[:2]) <= {
        "malformed-or-empty-samples",
        "numeric-saturation",
        "fp8-zero-scale",
    }


def test_a_collapsing_loss_scale_means_the_range_of_half_precision(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "pretraining",
        "loss-scale-collapse fp16-overflow-skips grad-nonfinite",
        "learns-well loss-divergence",
    )
    assert ranked(diagnosis)[0] == "half-precision-range"


def test_a_few_skipped_steps_in_a_run_that_learns_are_the_search_for_the_scale(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "pretraining",
        "fp16-overflow-skips learns-well",
        "loss-scale-collapse loss-nonfinite loss-divergence",
    )
    assert ranked(diagnosis)[0] == "loss-scale-search"
    assert diagnosis.severities["fp16-overflow-skips"] == "info"


def test_hrm_at_chance_with_collapsed_halting_has_too_high_a_learning_rate(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "hrm",
        "loss-at-chance act-steps-collapsed q-halt-trivial lr-above-typical",
        "loss-nonfinite act-never-halts q-loss-instability exact-accuracy-falls-late learns-well overfitting",
    )
    assert ranked(diagnosis)[0] == "learning-rate-too-high"
    assert "halting-head-collapsed" in ranked(diagnosis)


def test_hrm_that_halts_at_once_without_other_signs_has_a_collapsed_halting_head(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "hrm",
        "act-halts-immediately act-steps-collapsed",
        "loss-at-chance lr-above-typical loss-divergence learns-well",
    )
    assert ranked(diagnosis)[0] == "halting-head-collapsed"


def test_hrm_whose_exact_accuracy_falls_late_should_stop_early(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "hrm",
        "exact-accuracy-falls-late q-loss-instability no-early-stopping",
        "loss-nonfinite act-steps-collapsed loss-at-chance",
    )
    assert ranked(diagnosis)[0] == "late-overfitting"
    assert "stop-early" in remedies(diagnosis, "late-overfitting")


def test_rising_eval_loss_in_fine_tuning_is_memorization(book: Rulebook) -> None:
    diagnosis = examine(
        book, "sft", "overfitting", "loss-zero loss-nonfinite loss-divergence eval-erratic loss-plateau"
    )
    assert ranked(diagnosis)[0] == "memorization"
    assert "regularization-too-weak" in ranked(diagnosis)[:4]


def test_gradient_and_config_oddities_of_a_run_that_learns_well_are_info(book: Rulebook) -> None:
    diagnosis = examine(
        book,
        "sft",
        "learns-well grad-norm-high grad-norm-unstable clipping-saturated lr-above-typical",
        "loss-divergence loss-nonfinite loss-plateau loss-oscillating initial-loss-off overfitting "
        "loss-spike",
    )
    assert diagnosis.verdict in ("healthy", "info")
    odd = examine(
        book,
        "sft",
        "grad-norm-high grad-norm-unstable clipping-saturated",
        "learns-well loss-nonfinite initial-loss-off",
    )
    assert odd.verdict in ("warning", "critical")


def test_learning_well_excuses_no_plateau_and_no_divergence(book: Rulebook) -> None:
    for name in ("loss-divergence", "loss-nonfinite", "overfitting"):
        rule = book.symptoms.get(name)
        diagnosis = examine(book, "sft", f"learns-well {name}")
        assert diagnosis.severities[name] == (rule.severity if rule else "warning"), name


def test_out_of_memory_before_a_collective_timeout_is_the_one_to_explain(book: Rulebook) -> None:
    roots = [
        as_symptom(
            "oom-cuda",
            book.symptoms.get("oom-cuda"),
            "present",
            values={"role": "root"},
            first_time=100.0,
            rank=3,
        ),
        as_symptom(
            "nccl-timeout",
            book.symptoms.get("nccl-timeout"),
            "present",
            values={"role": "root"},
            first_time=1900.0,
            rank=0,
        ),
        as_symptom(
            "nccl-aborted",
            book.symptoms.get("nccl-aborted"),
            "present",
            values={"role": "cascade"},
            first_time=1901.0,
        ),
    ]
    diagnosis = diagnose(roots, book, kind="sft")
    assert ranked(diagnosis)[0] == "gpu-memory-exceeded"
    assert diagnosis.verdict == "critical"


STUCK = "eval-loss-flat loss-hardly-falls accuracy-stuck"
USUAL_RATE = "lr-low lr-below-typical lr-high lr-above-typical"


@pytest.mark.parametrize(
    ("gait", "unusual", "causes"),
    [
        ("eval-creeps", "lr-low", {"learning-rate-too-low"}),
        ("eval-settles", "", {"frozen-parameters", "gradient-flow-broken"}),
        ("eval-wavers", "", {"wrong-targets"}),
        ("eval-trembles", "", {"frozen-parameters"}),
        ("restless-at-chance", "lr-high", {"learning-rate-too-high"}),
    ],
)
def test_how_the_evaluation_moves_tells_why_nothing_is_learned(
    book: Rulebook, gait: str, unusual: str, causes: set[str]
) -> None:
    absent = " ".join(name for name in USUAL_RATE.split() if name != unusual)
    diagnosis = examine(book, "classification", f"{STUCK} {gait} {unusual}", absent)
    assert ranked(diagnosis)[0] in causes
    assert diagnosis.verdict == "warning"


def test_a_rate_within_the_usual_range_is_evidence_against_one_that_is_too_low(book: Rulebook) -> None:
    unknown = examine(book, "classification", STUCK)
    usual = examine(book, "classification", STUCK, USUAL_RATE)
    chance = {one.cause: one.probability for one in unknown.hypotheses}
    later = {one.cause: one.probability for one in usual.hypotheses}
    assert later.get("learning-rate-too-low", 0.0) < 0.5 * chance["learning-rate-too-low"]


def test_a_loss_of_nan_whose_gradient_is_zero_is_the_mean_over_no_label(book: Rulebook) -> None:
    diagnosis = examine(book, "sft", "loss-nonfinite nonfinite-from-start nonfinite-without-gradient")
    assert ranked(diagnosis)[0] == "labels-masked"


def test_no_value_leaves_the_range_of_a_precision_that_has_a_large_one(book: Rulebook) -> None:
    broken, quiet = "loss-nonfinite grad-nonfinite", "loss-divergence loss-spike"
    diagnoses = [
        examine(book, "pretraining", f"{broken} half-precision", quiet),
        examine(book, "pretraining", broken, quiet),
        examine(book, "pretraining", broken, f"{quiet} half-precision"),
    ]
    chances = [
        {one.cause: one.probability for one in found.hypotheses}.get("half-precision-range", 0.0)
        for found in diagnoses
    ]
    assert chances[0] > 1.5 * chances[1] > 4 * chances[2]
    assert ranked(diagnoses[0])[0] == "half-precision-range"


@pytest.mark.parametrize(
    ("start", "cause"),
    [("train-loss-inflated", "unscaled-loss-terms"), ("evaluation-starts-high", "bad-initialization")],
)
def test_where_the_first_evaluation_stands_tells_a_bad_start_from_a_term_of_the_loss(
    book: Rulebook, start: str, cause: str
) -> None:
    absent = " ".join({"train-loss-inflated", "evaluation-starts-high"} - {start})
    diagnosis = examine(book, "classification", f"initial-loss-off loss-above-guess {start}", absent)
    assert ranked(diagnosis)[0] == cause


def test_uneven_step_times_of_one_process_are_no_straggler(book: Rulebook) -> None:
    diagnosis = examine(book, "classification", "step-time-outliers")
    assert "slow-collective-or-straggler" not in ranked(diagnosis)
