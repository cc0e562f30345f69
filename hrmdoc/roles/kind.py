"""What sort of training a run is, and where in it a step lies. Both come with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hrmdoc.roles.classifier import CLASSIFIER
from hrmdoc.roles.company import shared

if TYPE_CHECKING:
    from hrmdoc.record.run import Run

Kind = Literal[
    "pretraining", "sft", "preference", "rl", "hrm", "classification", "regression", "detection", "unknown"
]
Phase = Literal["warmup", "early", "middle", "end"]

_CLASSIFICATION = frozenset(
    {"auc", "auroc", "precision", "recall", "f1", "top1", "top5", "acc@1", "acc@5", "f1_score", "f1-score"}
)
_REGRESSION = frozenset(
    {
        "mae",
        "rmse",
        "mse",
        "r2",
        "mape",
        "mean_absolute_error",
        "mean_squared_error",
        "val_mae",
        "val_rmse",
        "val_mse",
    }
)
_DETECTION = frozenset(
    {
        "map",
        "map50",
        "map50-95",
        "bbox_map",
        "loss_box_reg",
        "box_loss",
        "rpn_loss_cls",
        "loss_bbox",
        "giou_loss",
    }
)
_PRETRAINING = frozenset({"lm_loss", "lm loss", "lm-loss", "languagecrossentropy", "languageperplexity"})
_LANGUAGE = frozenset({"mean_token_accuracy", "num_tokens", "num_input_tokens_seen"})
_PERPLEXITY = frozenset({"perplexity", "ppl"})
_BY_REWARD = frozenset({"grpo", "gdpo", "rloo", "ppo", "reinforce", "ebft", "dapo", "gspo"})
_BY_PREFERENCE = frozenset({"dpo", "ipo", "kto", "orpo", "simpo", "cpo"})
_CLASSES = (
    ("classification", CLASSIFIER),
    ("detection", re.compile(r"ForObjectDetection$")),
    (
        "sft",
        re.compile(
            r"For(?:CausalLM|MaskedLM|ConditionalGeneration|Seq2SeqLM|PreTraining|QuestionAnswering)$|LMHeadModel$"
        ),
    ),
)
"""What the names of classes of transformers say; a language model without the name of one that was trained
before is trained from nothing."""
FROM_THE_START = 2e-3
"""Learning rate above which nobody fine-tunes a language model, not by an adapter either."""


def infer_kind(run: Run, facts: Mapping[str, Any]) -> tuple[Kind, str]:
    """The kind of run, and why. `facts` maps canonical keys to values; a `run.kind` among them is the user's
    word."""
    stated = facts.get("run.kind")
    if isinstance(stated, str) and stated:
        return _kind_named(stated), "stated"
    if said := by_settings(facts):
        return said
    roles = {series.role.role: series.key.metric for series in run.series.values() if series.role.role}
    if by_roles := _by_roles(roles):
        return by_roles
    framework = facts.get("run.framework")
    words = {part for key in run.series for part in _name_words(key.metric)}
    usual = facts.get("run.framework_kind")
    if isinstance(usual, str) and usual:
        return _kind_named(usual), f"{framework} runs usually are"
    if facts.get("lora.rank"):
        return "sft", "it trains a LoRA adapter"
    rate = facts.get("optimizer.lr") or _highest_rate(run)
    return _by_words(words, roles, run, framework, rate, str(facts.get("run.finetunes") or ""))


def _highest_rate(run: Run) -> float | None:
    """The highest learning rate that was logged; None of a run without one."""
    rates = run.best("lr")
    return float(np.nanmax(rates.values)) if rates is not None and np.isfinite(rates.values).any() else None


def by_settings(facts: Mapping[str, Any]) -> tuple[Kind, str] | None:
    """What the config says: a named algorithm, or settings that only trainings by reward have."""
    algorithm = str(facts.get("rl.algorithm") or "").lower()
    for known, kind in ((_BY_REWARD, "rl"), (_BY_PREFERENCE, "preference")):
        if algorithm in known:
            return _kind_named(kind), f"its config says {algorithm}"
    if facts.get("rl.num_generations"):
        return "rl", "its config asks for several generations a prompt"
    return None


def _by_roles(roles: Mapping[str, str]) -> tuple[Kind, str] | None:
    """What metrics say that only one kind of training has. `roles`: role -> metric."""
    for prefix, kind in (("act.", "hrm"), ("dpo.", "preference"), ("rl.", "rl")):
        for role in sorted(roles):
            if role.startswith(prefix) and not _elsewhere_too(role, roles[role]):
                return _kind_named(kind), f"it logs {roles[role]}"
    return None


def _elsewhere_too(role: str, metric: str) -> bool:
    """Whether other trainings log the same: an entropy, an epsilon, which private training has too, and what
    bears a name that they share (`company.py`)."""
    return role in ("rl.entropy", "rl.exploration") or shared(role, metric)


def _by_words(
    words: set[str],
    roles: Mapping[str, str],
    run: Run,
    framework: object,
    rate: object,
    finetuned: str,
) -> tuple[Kind, str]:
    for known, kind in ((_DETECTION, "detection"), (_PRETRAINING, "pretraining"), (_LANGUAGE, "sft")):
        if found := sorted(words & known):
            return _kind_named(kind), f"it logs {found[0]}"
    if found := sorted(words & _PERPLEXITY):
        high = isinstance(rate, int | float) and rate >= FROM_THE_START
        why = f", and its learning rate of {rate:g} is not one of fine-tuning" if high else ""
        return "pretraining" if high else "sft", f"it logs {found[0]}{why}"
    if framework == "trl":
        return "sft", "trl runs without rewards are"
    if by_class := _by_class(run, finetuned):
        return by_class
    if by_measures := _by_measures(words, roles):
        return by_measures
    if finetuned:
        return "sft", f"it goes on from a {finetuned} that was trained before"
    if ("config", "vocab_size") in run.facts or ("run", "data.vocab_size") in run.facts:
        return "pretraining", "its config has a vocabulary"
    return "unknown", "nothing in it says"


def _by_measures(words: set[str], roles: Mapping[str, str]) -> tuple[Kind, str] | None:
    """What it is measured by: labels that are right, or numbers that are near."""
    if found := sorted(words & _CLASSIFICATION):
        return "classification", f"it logs {found[0]}"
    accuracy = roles.get("train.accuracy") or roles.get("eval.accuracy")
    if accuracy:
        return "classification", f"it logs {accuracy}"
    if found := sorted(words & _REGRESSION):
        return "regression", f"it logs {found[0]}"
    return None


def _by_class(run: Run, finetuned: str) -> tuple[Kind, str] | None:
    """What the model's own class says, as a monitor in the `Trainer` of transformers notes it, or as the log
    says of the one that was loaded."""
    fact = run.facts.get(("config", "model_config.architectures"))
    name = str(fact.value) if fact is not None else finetuned
    kind = next((kind for kind, known in _CLASSES if known.search(name)), None)
    before = run.facts.get(("config", "model_config._name_or_path"))
    if kind == "sft" and before is not None and not before.value:
        return "pretraining", f"it trains a {name} from nothing"
    return (_kind_named(kind), f"it trains a {name}") if kind else None


def _name_words(metric: str) -> list[str]:
    lowered = metric.lower()
    return [lowered, *(part for part in lowered.replace("(b)", "").replace("/", " ").split())]


def _kind_named(kind: str) -> Kind:
    kinds: tuple[Kind, ...] = (
        "pretraining",
        "sft",
        "preference",
        "rl",
        "hrm",
        "classification",
        "regression",
        "detection",
    )
    return next((one for one in kinds if one == kind), "unknown")


def infer_phase(step: int | None, facts: Mapping[str, Any]) -> tuple[Phase, str]:
    """Where a step lies in the run, and why: warm-up by the schedule, then thirds of the planned length."""
    warmup, total = facts.get("schedule.warmup_steps"), facts.get("run.total_steps")
    if step is None:
        return "early", "no step is known"
    if isinstance(warmup, int | float) and step < warmup:
        return "warmup", f"step {step} of {warmup:g} warm-up steps"
    if not isinstance(total, int | float) or total <= 0:
        return "middle", "the length of the run is unknown"
    share = step / total
    phase: Phase = "early" if share < 1 / 3 else "middle" if share < 2 / 3 else "end"
    return phase, f"step {step} of {total:g}"
