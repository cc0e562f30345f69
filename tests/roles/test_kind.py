"""Of what kind a run is and in which phase a step lies, with the reason that is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Fact, Points
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap, infer_kind, infer_phase

BOOK = rulebook.load()


def run_of(*metrics: str, rate: float | None = None) -> Run:
    run = Run("run", RoleMap(BOOK))
    logged = {**dict.fromkeys(metrics, 1.0), **({} if rate is None else {"lr": rate})}
    for name, value in logged.items():
        run.add(Points(name, np.arange(2), np.array([value, math.nan]), np.full(2, math.nan), "log"))
    return run


@pytest.mark.parametrize(
    ("metrics", "facts", "kind", "reason"),
    [
        (["loss"], {"run.kind": "sft"}, "sft", "stated"),
        (["loss"], {"run.kind": "cooking"}, "unknown", "stated"),
        (["loss"], {"run.kind": ""}, "unknown", "nothing in it says"),
        (["loss"], {"rl.algorithm": "GRPO"}, "rl", "its config says grpo"),
        (["loss"], {"rl.algorithm": "dpo"}, "preference", "its config says dpo"),
        (["loss"], {"rl.algorithm": "own", "rl.num_generations": 8}, "rl", "its config asks for several"),
        (["loss"], {"rl.num_generations": 0}, "unknown", "nothing in it says"),
        (["reward", "q_halt_loss"], {}, "hrm", "it logs q_halt_loss"),
        (["reward", "rewards/margins"], {}, "preference", "it logs rewards/margins"),
        (["reward", "loss"], {}, "rl", "it logs reward"),
        (["entropy", "epsilon"], {}, "unknown", "nothing in it says"),
        (["loss", "kl", "v_loss"], {}, "unknown", "nothing in it says"),
        (["loss"], {"run.framework": "nemo", "run.framework_kind": "sft"}, "sft", "nemo runs usually are"),
        (["loss"], {"run.framework_kind": ""}, "unknown", "nothing in it says"),
        (["loss"], {"run.finetunes": "BertForQuestionAnswering"}, "sft", "it trains a BertForQuestion"),
        (["loss"], {"run.finetunes": "BertForTokenClassification"}, "classification", "it trains a Bert"),
        (["loss"], {"run.finetunes": "BertTagger"}, "sft", "it goes on from a BertTagger"),
        (["loss", "f1"], {"run.finetunes": "BertTagger"}, "classification", "it logs f1"),
        (["val_mae"], {"lora.rank": 8}, "sft", "it trains a LoRA adapter"),
        (["val_mae"], {"lora.rank": 0}, "regression", "it logs val_mae"),
        (["box_loss", "lm loss"], {}, "detection", "it logs box_loss"),
        (["metrics/mAP50(B)"], {}, "detection", "it logs map50"),
        (["lm loss", "num_tokens"], {}, "pretraining", "it logs lm loss"),
        (["loss", "num_tokens", "ppl"], {}, "sft", "it logs num_tokens"),
        (["loss", "ppl"], {}, "sft", "it logs ppl"),
        (["loss", "ppl"], {"optimizer.lr": 1.99e-3}, "sft", "it logs ppl"),
        (["loss", "ppl"], {"optimizer.lr": "fast"}, "sft", "it logs ppl"),
        (["loss", "ppl"], {"optimizer.lr": 2e-3}, "pretraining", "it logs ppl, and its learning rate of"),
        (["loss"], {"run.framework": "trl"}, "sft", "trl runs without rewards are"),
        (["loss", "auc"], {"run.framework": "keras"}, "classification", "it logs auc"),
        (["loss", "my_accuracy"], {}, "classification", "it logs my_accuracy"),
        (["loss", "val_accuracy"], {}, "classification", "it logs val_accuracy"),
        (["loss", "rmse"], {}, "regression", "it logs rmse"),
        (["loss", "rmse", "f1"], {}, "classification", "it logs f1"),
    ],
)  # fmt: skip
def test_the_kind_of_a_run_comes_with_its_reason(
    metrics: list[str], facts: dict[str, Any], kind: str, reason: str
) -> None:
    found, why = infer_kind(run_of(*metrics), facts)
    assert found == kind
    assert why.startswith(reason)


@pytest.mark.parametrize(("rate", "kind"), [(5e-3, "pretraining"), (1e-3, "sft"), (math.nan, "sft")])
def test_the_highest_rate_that_is_logged_stands_for_the_configured_one(rate: float, kind: str) -> None:
    assert infer_kind(run_of("loss", "ppl", rate=rate), {})[0] == kind
    assert infer_kind(run_of("loss", "ppl", rate=rate), {"optimizer.lr": 1.0})[0] == "pretraining"


@pytest.mark.parametrize(
    ("name", "before", "kind"),
    [
        ("GPT2LMHeadModel", "", "pretraining"),
        ("LlamaForCausalLM", "some/model", "sft"),
        ("BertForSequenceClassification", "some/model", "classification"),
        ("DetrForObjectDetection", "", "detection"),
        ("ViTModel", "", "unknown"),
    ],
)
def test_the_class_of_a_model_of_transformers_tells_the_kind(name: str, before: str, kind: str) -> None:
    run = Run("run")
    run.add(Fact("model_config.architectures", name, "config"))
    run.add(Fact("model_config._name_or_path", before, "config"))
    assert infer_kind(run, {})[0] == kind


@pytest.mark.parametrize(("scope", "key"), [("config", "vocab_size"), ("run", "data.vocab_size")])
def test_a_vocabulary_in_the_config_tells_pretraining_where_nothing_else_does(scope: Any, key: str) -> None:
    run = run_of("loss")
    run.add(Fact(key, 50257, scope))
    assert infer_kind(run, {}) == ("pretraining", "its config has a vocabulary")
    other = run_of("loss")
    other.add(Fact(key, 50257, "version"))
    assert infer_kind(other, {}) == ("unknown", "nothing in it says")


WARMUP = {"schedule.warmup_steps": 10, "run.total_steps": 90}


@pytest.mark.parametrize(
    ("step", "facts", "phase", "reason"),
    [
        (None, WARMUP, "early", "no step is known"),
        (9, WARMUP, "warmup", "step 9 of 10 warm-up steps"),
        (10, WARMUP, "early", "step 10 of 90"),
        (29, WARMUP, "early", "step 29 of 90"),
        (30, WARMUP, "middle", "step 30 of 90"),
        (59, WARMUP, "middle", "step 59 of 90"),
        (60, WARMUP, "end", "step 60 of 90"),
        (5, {"schedule.warmup_steps": "auto", "run.total_steps": 90}, "early", "step 5 of 90"),
        (5, {}, "middle", "the length of the run is unknown"),
        (5, {"run.total_steps": 0}, "middle", "the length of the run is unknown"),
        (1, {"run.total_steps": 1}, "end", "step 1 of 1"),
        (5, {"run.total_steps": "auto"}, "middle", "the length of the run is unknown"),
    ],
)
def test_the_phase_of_a_step_comes_with_its_reason(
    step: int | None, facts: dict[str, Any], phase: str, reason: str
) -> None:
    assert infer_phase(step, facts) == (phase, reason)
