"""hrmdoc.roles.canonical, framework and kind: facts of a run -> what it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Fact, Line, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import RoleMap, canonical, detect, infer_kind, infer_phase
from hrmdoc.roles.framework import chain

BOOK = rulebook.load()


def run_of(
    config: dict[str, Any] | None = None,
    *,
    stated: dict[str, Any] | None = None,
    metrics: tuple[str, ...] = (),
    text: str = "",
) -> Run:
    run = Run("run", RoleMap(BOOK))
    for line, (key, value) in enumerate((config or {}).items(), 1):
        run.add(Fact(key, value, "config", "config.yaml", line))
    for key, value in (stated or {}).items():
        run.add(Fact(key, value, "run", "run.json"))
    for metric in metrics:
        run.add(Points(metric, np.array([1]), np.array([1.0]), np.array([np.nan]), "log"))
    if text:
        run.add(Line(text, "log", 1))
    return run


def values(run: Run) -> dict[str, Any]:
    return {key: fact.value for key, fact in canonical(run, BOOK).items()}


def test_a_fact_keeps_the_file_and_line_it_came_from() -> None:
    fact = canonical(run_of({"x": 1, "learning_rate": "1e-4"}), BOOK)["optimizer.lr"]
    assert fact == Fact("optimizer.lr", 1e-4, "run", "config.yaml", 2)


def test_what_a_reader_stated_wins_over_a_config_key() -> None:
    assert values(run_of({"max_steps": -1, "seed": 1}, stated={"run.total_steps": 500, "seed": 2})) == {
        "run.total_steps": 500,
        "seed": 2,
    }


def test_the_batch_of_a_step_is_micro_batch_times_accumulation_times_ranks() -> None:
    config = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "learning_rate": 1e-5}
    found = values(run_of(config, stated={"world_size": 2}))
    assert (found["data.micro_batch_size"], found["data.batch_size"]) == (4, 64)


def test_a_global_batch_stays_as_it_is() -> None:
    found = values(
        run_of(
            {"global_batch_size": 768, "arch.halt_max_steps": 16, "puzzle_emb_lr": 1e-2},
            stated={"world_size": 8},
        )
    )
    assert (found["data.batch_size"], found["data.micro_batch_size"]) == (768, 96)


def test_length_and_warm_up_follow_from_each_other() -> None:
    found = values(
        run_of(
            {"warmup_ratio": 0.1, "num_train_epochs": 2, "per_device_train_batch_size": 10},
            stated={"data.samples": 1000},
        )
    )
    assert (found["run.steps_per_epoch"], found["run.total_steps"], found["schedule.warmup_steps"]) == (
        100,
        200,
        20,
    )
    assert values(run_of({"max_steps": 200, "warmup_steps": 10}))["schedule.warmup_ratio"] == 0.05


@pytest.mark.parametrize(
    ("config", "precision"),
    [
        ({"fp16": False, "bf16": True}, "bf16"),
        ({"fp16": True, "bf16": False}, "fp16"),
        ({"fp16": False, "bf16": False}, "fp32"),
        ({"trainer.precision": "16-mixed"}, "fp16"),
        ({"mixed_precision": "bf16"}, "bf16"),
        ({"torch_dtype": "torch.bfloat16"}, "bf16"),
        ({"arch.forward_dtype": "bfloat16"}, "bf16"),
        ({"bf16.enabled": False, "fp16.enabled": True}, "fp16"),
        ({"fsdp.use_mixed_precision": True}, "fp16"),
        ({"fsdp.use_mixed_precision": False}, "fp32"),
        ({"fp8": True, "bf16": True, "sequence_len": 512, "micro_batch_size": 2, "val_set_size": 0.1}, "fp8"),
        ({"dtype": "auto"}, None),
    ],
)
def test_precision_in_its_many_spellings(config: dict[str, Any], precision: str | None) -> None:
    assert values(run_of(config)).get("precision") == precision


@pytest.mark.parametrize(
    ("config", "also"),
    [
        ({"fp16": False, "bf16": True}, None),
        ({"fp16": True, "bf16": "auto"}, None),
        ({"bf16": True, "fp8": True}, None),
        ({"fp16": True, "bf16": True}, "fp16"),
        ({"bf16.enabled": True, "fp16.enabled": True}, "fp16"),
    ],
)
def test_two_half_precisions_at_once_are_both_told(config: dict[str, Any], also: str | None) -> None:
    assert values(run_of(config)).get("precision.also") == also


def test_a_clip_that_is_off_is_zero_and_one_that_is_unknown_is_missing() -> None:
    assert values(run_of({"grad_clip": None}))["optimizer.grad_clip"] == 0.0
    assert "optimizer.grad_clip" not in values(run_of({"lr": 1e-4}))


def test_defaults_hold_only_where_the_config_of_the_framework_was_seen() -> None:
    hrm = {"lr": 1e-4, "arch.halt_max_steps": 8, "puzzle_emb_lr": 1e-2, "epochs": 100}
    found = canonical(run_of(hrm), BOOK)
    assert found["schedule.warmup_steps"].value == 2000
    assert found["schedule.warmup_steps"].file == ""
    assert found["optimizer.grad_clip"].value == 0.0
    assert "schedule.warmup_steps" not in values(run_of(metrics=("train/q_halt_loss", "all.exact_accuracy")))


def test_a_default_rate_gives_way_to_the_one_that_is_logged() -> None:
    config = {
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 4,
        "num_train_epochs": 3,
        "logging_steps": 4,
    }
    names = ("train_runtime", "train_samples_per_second", "learning_rate")
    assert values(run_of(config, metrics=names[:2]))["optimizer.lr"] == 5e-5
    assert "optimizer.lr" not in values(run_of(config, metrics=names))
    assert values(run_of({**config, "learning_rate": 1e-3}, metrics=names))["optimizer.lr"] == 1e-3


def test_hrm_keys_of_the_trainer_are_all_mapped() -> None:
    config = {
        "lr": 1e-4,
        "lr_warmup_steps": 500,
        "grad_clip": 1.0,
        "early_stopping.patience": 0,
        "arch.halt_max_steps": 16,
        "arch.H_layers": 4,
        "dtype": "auto",
    }
    found = values(run_of(config))
    assert (
        found["optimizer.grad_clip"],
        found["schedule.warmup_steps"],
        found["act.halt_max_steps"],
        found["model.layers"],
    ) == (
        1.0,
        500,
        16,
        4,
    )
    assert found["eval.early_stopping"] is False
    assert "precision" not in found


def test_values_that_are_nonsense_are_left_out() -> None:
    assert (
        values(
            run_of({"lr": "${base_lr}", "epochs": "many", "batch_size": 0, "seed": "nan", "dropout": None})
        )
        == {}
    )


@pytest.mark.parametrize(
    ("run", "framework"),
    [
        (run_of(metrics=("train/q_halt_loss", "train/lm_loss")), "hrm"),
        (
            run_of(metrics=("reward", "frac_reward_zero_std", "completions/clipped_ratio", "num_tokens")),
            "trl",
        ),
        (run_of({"per_device_train_batch_size": 3}), "hf-trainer"),
        (run_of({"sequence_len": 3, "micro_batch_size": 2, "base_model": "x"}), "axolotl"),
        (run_of({"zero_optimization.stage": 3, "train_micro_batch_size_per_gpu": 1}), "deepspeed"),
        (run_of({"training.learning_rate": 1e-4, "training.batch_size": 8}), "distributed-lab"),
        (run_of({"d_model": 256, "ff_dim": 1024}), "chimera"),
        (run_of(metrics=("train/box_loss", "metrics/mAP50(B)")), "ultralytics"),
        (run_of(metrics=("rollout/ep_rew_mean", "time/fps")), "stable-baselines3"),
        (run_of(metrics=("actor/pg_clipfrac", "critic/score/mean")), "verl"),
        (run_of(metrics=("LOSS TOK2VEC", "LOSS NER", "SCORE")), "spacy"),
        (run_of(metrics=("pg", "glen", "ret")), "openrlhf"),
        (run_of(metrics=("Generation KL Error", "Loss")), "nemo-rl"),
        (run_of(metrics=("lm loss", "number of nan iterations")), "megatron"),
        (run_of(text="[2026-01-02 03:04:05,678] [INFO] [axolotl.train] starting"), "axolotl"),
        (run_of(stated={"run.framework": "nanochat"}), "nanochat"),
        (run_of(stated={"run.framework": "paddle"}), "paddle"),
        (run_of(metrics=("loss",)), None),
    ],
)
def test_the_framework_is_told_by_its_marks(run: Run, framework: str | None) -> None:
    found = detect(run, BOOK)
    assert found.id == framework
    assert found.reason


def test_the_lookup_order_begins_with_the_framework_and_what_it_builds_on() -> None:
    assert [one.id for one in chain("trl", BOOK)][:2] == ["trl", "hf-trainer"]
    assert chain(None, BOOK)[0].id == "generic"
    assert len(chain("hrm", BOOK)) == len(BOOK.frameworks)


@pytest.mark.parametrize(
    ("metrics", "facts", "kind"),
    [
        (("loss",), {}, "unknown"),
        (("loss", "entropy", "mean_token_accuracy"), {}, "sft"),
        (("loss", "rewards/margins"), {}, "preference"),
        (("loss", "kl", "entropy"), {}, "unknown"),
        (("Total Loss", "KL Divergence"), {}, "unknown"),
        (("loss", "kl", "v_loss"), {}, "unknown"),
        (("loss", "value_loss"), {}, "rl"),
        (("reward", "kl", "entropy"), {}, "rl"),
        (("loss", "actor/ppo_kl"), {}, "rl"),
        (("train/lm_loss", "train/q_halt_loss"), {}, "hrm"),
        (("loss", "accuracy", "val_accuracy"), {}, "classification"),
        (("loss", "val_mae"), {}, "regression"),
        (("train/box_loss",), {}, "detection"),
        (("lm loss",), {"run.framework": "megatron", "run.framework_kind": "pretraining"}, "pretraining"),
        (("loss",), {"run.kind": "rl"}, "rl"),
        (("loss",), {"run.kind": "nonsense"}, "unknown"),
    ],
)
def test_the_kind_is_inferred_with_a_reason(
    metrics: tuple[str, ...], facts: dict[str, Any], kind: str
) -> None:
    found, reason = infer_kind(run_of(metrics=metrics), facts)
    assert found == kind
    assert reason


@pytest.mark.parametrize(
    ("step", "facts", "phase"),
    [
        (None, {}, "early"),
        (50, {}, "middle"),
        (5, {"schedule.warmup_steps": 10, "run.total_steps": 100}, "warmup"),
        (20, {"schedule.warmup_steps": 10, "run.total_steps": 100}, "early"),
        (50, {"run.total_steps": 100}, "middle"),
        (99, {"run.total_steps": 100}, "end"),
    ],
)
def test_the_phase_is_inferred(step: int | None, facts: dict[str, Any], phase: str) -> None:
    assert infer_phase(step, facts)[0] == phase


OF_ONE_FRAMEWORK = {"memory.use_reentrant", "lora.alpha", "lora.target_linear", "data.augmentation"}


def test_every_framework_maps_to_known_keys_and_has_references() -> None:
    known = (
        set(BOOK.frameworks["generic"].config)
        | set(BOOK.frameworks["hrm"].config)
        | set(BOOK.frameworks["trl"].config)
    )
    for framework in BOOK.frameworks.values():
        assert set(framework.config) <= known | OF_ONE_FRAMEWORK, framework.id
        assert framework.references or framework.id == "generic"


def test_several_keys_tell_a_framework_only_together() -> None:
    whole = {"data_path": "data", "lr": 0.1, "arch.hidden_size": 64}
    assert detect(run_of(whole), BOOK).id == "hrm"
    for key in whole:
        assert (
            detect(run_of({name: value for name, value in whole.items() if name != key}), BOOK).id != "hrm"
        ), key


def test_a_length_that_every_row_of_a_log_repeats_is_the_planned_one() -> None:
    run = run_of()
    run.add(
        Points(
            "total_steps",
            np.array([1, 2]),
            np.array([900.0, 900.0]),
            np.full(2, np.nan),
            "log.jsonl",
            np.array([1, 2]),
        )
    )
    assert canonical(run, BOOK)["run.total_steps"] == Fact("run.total_steps", 900, "run", "log.jsonl", 2)


@pytest.mark.parametrize(
    ("metrics", "kind"),
    [
        (("train/loss", "val/loss", "metrics/accuracy_top1", "lr/pg0"), "classification"),
        (("train/box_loss", "val/box_loss", "metrics/mAP50(B)", "lr/pg0"), "detection"),
    ],
)
def test_what_ultralytics_trains_is_told_by_its_measures(metrics: tuple[str, ...], kind: str) -> None:
    run = run_of(metrics=metrics)
    assert detect(run, BOOK).id == "ultralytics"
    assert infer_kind(run, values(run))[0] == kind


def test_a_loss_named_of_a_language_model_tells_pretraining_where_no_framework_does() -> None:
    run = run_of(metrics=("lm_loss",))
    assert infer_kind(run, {})[0] == "pretraining"
    assert infer_kind(run_of(metrics=("lm_losses",)), {})[0] == "unknown"


@pytest.mark.parametrize(
    ("names", "framework"),
    [
        (("epoch", "train_loss", "valid_loss", "accuracy"), "fastai"),
        (("epoch", "accuracy", "train_loss", "valid_loss"), None),
        (("epoch", "train_loss", "valid_loss_smoothed"), None),
    ],
)
def test_a_table_of_fastai_is_told_by_its_first_columns(
    names: tuple[str, ...], framework: str | None
) -> None:
    run = run_of(metrics=names)
    run.formats.append("csv")
    assert detect(run, BOOK).id == framework


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("trl", ["trl", "hf-trainer"]),
        ("llama-factory", ["llama-factory", "hf-trainer"]),
        ("nemo", ["nemo", "lightning"]),
        ("fastai", ["fastai", "generic"]),
        (None, ["generic"]),
        ("no-such", ["generic"]),
    ],
)
def test_keys_are_looked_up_in_the_framework_then_in_what_it_builds_on_then_in_all_others(
    name: str | None, first: list[str]
) -> None:
    order = [one.id for one in chain(name, BOOK)]
    assert order[: len(first)] == first
    assert sorted(order) == sorted(BOOK.frameworks)


@pytest.mark.parametrize(("named", "stage"), [("configs/DS_ZeRO3.json", 3), ("zero2", 2), ("ds.json", None)])
def test_the_name_of_a_deepspeed_config_says_its_stage(named: str, stage: int | None) -> None:
    run = Run("run")
    run.extend([Fact("parallel.deepspeed", named, "run", "a.yaml", 3)])
    found = canonical(run, BOOK).get("parallel.zero_stage")
    assert (found.value if found else None) == stage
    run.add(Fact("parallel.zero_stage", 1, "run"))
    assert canonical(run, BOOK)["parallel.zero_stage"].value == 1


def test_perplexity_at_a_rate_that_nobody_fine_tunes_with_is_of_a_model_from_the_start() -> None:
    def run(rate: float) -> Run:
        found = Run("log", role_of=lambda name: RoleGuess(name if name == "lr" else None))
        for name, value in (("lr", rate), ("ppl", 20.0)):
            found.add(Points(name, np.arange(4), np.full(4, value), np.full(4, math.nan), "train.log"))
        return found

    assert infer_kind(run(5.0), {})[0] == "pretraining"
    assert infer_kind(run(2e-5), {})[0] == "sft"


PREFERENCES = {"beta": 0.1, "learning_rate": 5e-5, "warmup_ratio": 0.1, "max_length": 1024, "gamma": 0.9}


def test_settings_that_others_have_too_make_no_training_by_reward() -> None:
    marks = ("rewards/margins", "rewards/chosen")
    run = run_of(PREFERENCES, stated={"run.framework": "trl"}, metrics=marks)
    found = values(run)
    assert "rl.num_generations" not in found
    assert infer_kind(run, found)[0] == "preference"
    by_reward = values(run_of(PREFERENCES, stated={"run.framework": "trl"}, metrics=("reward",)))
    assert by_reward["rl.num_generations"] == 8


def test_generations_of_a_search_by_evolution_are_none_of_a_language_model() -> None:
    assert values(run_of({"num_generations": 50}))["rl.num_generations"] == 50
    assert "rl.num_generations" not in values(run_of({"num_generations": 50, "sol_per_pop": 8}))


def test_an_accumulation_of_nothing_divides_no_batch() -> None:
    found = values(run_of(stated={"data.batch_size": 32, "data.grad_accum": 0}))
    assert found["data.micro_batch_size"] == 32


def test_the_vocabulary_of_a_classifier_is_none_of_its_answers() -> None:
    config = {"architectures": "BertForSequenceClassification", "vocab_size": 30522}
    found = values(run_of(config))
    assert (found["data.classes"], found["model.vocab_size"]) == (2, 30522)
    assert "data.vocab_size" not in found
    assert values(run_of({**config, "id2label": 5}))["data.classes"] == 5
    labels = {f"model_config.id2label.{n}": f"LABEL_{n}" for n in range(3)}
    assert values(run_of({**config, **labels}))["data.classes"] == 3
    assert "data.classes" not in values(run_of({**config, "problem_type": "multi_label_classification"}))
    assert values(run_of({**config, "architectures": "GPT2LMHeadModel"}))["data.vocab_size"] == 30522
