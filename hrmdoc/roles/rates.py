"""The learning rates that are usual for a run, from its optimizer, its kind and the size of its model.

Tuned rates of published recipes scatter over a decade or more, so rules speak only of what lies far outside
these wide ranges. Remedies take a rate that does back to a point inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

LORA = (1e-4, 3e-4)
"""Hu et al. 2021 and the training stability guide."""
FULL_FINE_TUNE = (1e-5, 7e-5)
"""Training stability guide: 1e-5 to 5e-5."""
POLICY = (1e-7, 3.4e-5)
"""TRL's examples: 1e-6 for GRPO and PPO, 5e-7 for DPO; a decade to either side."""
CONTROL = (1e-5, 3e-3)
"""Policies that write no text: 3e-4 is the default of PPO in Stable-Baselines3, whose zoo goes from 1e-5 to
1e-3."""
HRM_FULL_SIZE = (1e-4, 3.4e-4)
"""HRM's recipes: 7e-5 to 3e-4 with AdamATan2."""
SGD = (1e-4, 3.4)
"""0.1 from scratch at a batch of 256 (He et al. 2015), thousandths when fine-tuning, a few units at batches
of thousands."""
SGD_FROM_SCRATCH = (1e-2, 3.4)
SGD_SUITED = 0.1
"""He et al. 2015, where nothing was learned before; what Adam needs is a tenth to a hundredth of that."""
SGD_BY_ITS_RATE = 0.05
"""Where nobody names the optimizer of a language model, such a rate does."""
ADAM_ANY = (1e-5, 1e-2)
"""Adam where neither the size of the model nor whether it was trained before is known."""
ADAM_EVERYWHERE = 3e-4
"""A rate of Adam that is taken for models of any size, however much more the small ones could take."""
ADAM_EXTREME = 0.1
"""Above this a step of Adam, which moves each weight by about the rate, is as large as the weights
themselves."""
HIGHEST_FROM_SCRATCH = 6.7e-3
SMALL_HRM = 3.4e-3
LION_SHARE = 0.2
"""Chen et al. 2023: Lion takes a third to a tenth of AdamW's rate."""
SMALL_FOR_FINE_TUNE = 50_000_000
"""Models below are trained from scratch or as adapters of their own, whatever the stage is called."""
SMALL_FOR_HRM = 5_000_000
GPT3_SMALL = (1.25e8, 6e-4)
"""Parameters and peak rate of the smallest GPT-3, which nanoGPT takes over for its GPT-2."""
FROM_SCRATCH = ("pretraining", "hrm")
ADAM_BY_DEFAULT = frozenset(
    (
        *("hf-trainer", "trl", "axolotl", "llama-factory", "ms-swift", "unsloth"),
        *("verl", "openrlhf"),
        *("nanogpt", "megatron", "nanotron", "torchtitan", "olmo", "hrm"),
    )
)
"""Frameworks that take AdamW unless they are told otherwise, which a log without its config does not say."""
CONTROLLERS = frozenset(("stable-baselines3", "spinningup"))
"""Frameworks whose policies steer something and write no text."""
TUNED = {"sft": FULL_FINE_TUNE, "preference": POLICY, "rl": POLICY}

Range = tuple[float, float]


def typical_rate(facts: Mapping[str, Any]) -> Range | None:
    """Lowest and highest usual learning rate; None for optimizers that scale the rate themselves.

    Args:
        facts: canonical facts: `run.kind`, `run.framework`, `optimizer.name`, `lora.rank` and the size of the
            model count.
    """
    kind, family = facts.get("run.kind"), _family(facts)
    parameters = _parameters(facts)
    if family == "scaled":
        return None
    if facts.get("lora.rank") is not None:
        return LORA
    if family == "sgd":
        return SGD_FROM_SCRATCH if kind in FROM_SCRATCH else SGD
    share = LION_SHARE if family == "lion" else 1.0
    control = kind == "rl" and facts.get("run.framework") in CONTROLLERS
    low, high = CONTROL if control else _adam(str(kind), family, parameters)
    return low * share, high * share


def _parameters(facts: Mapping[str, Any]) -> float | None:
    """How many the model has, as stated or by its width, depth and vocabulary: a block of a transformer has
    12 widths squared."""
    stated = _positive(facts, "model.parameters")
    width, layers = _positive(facts, "model.hidden_size"), _positive(facts, "model.layers")
    if stated is not None or width is None or layers is None or facts.get("run.kind") not in TUNED:
        return stated
    return 12 * layers * width**2 + (_positive(facts, "data.vocab_size") or 0.0) * width


def _positive(facts: Mapping[str, Any], name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _family(facts: Mapping[str, Any]) -> str:
    default = "adam" if facts.get("run.framework") in ADAM_BY_DEFAULT else ""
    family, rate = optimizer_family(str(facts.get("optimizer.name") or default)), facts.get("optimizer.lr")
    if (
        not family
        and facts.get("run.kind") == "sft"
        and isinstance(rate, int | float)
        and rate >= SGD_BY_ITS_RATE
    ):
        return "sgd"  # a language model of old, by the perplexity that it logs
    return family


def _adam(kind: str, family: str, parameters: float | None) -> Range:
    if kind in TUNED:
        low, high = TUNED[kind]
        small = parameters is not None and parameters <= SMALL_FOR_FINE_TUNE
        return (low, HIGHEST_FROM_SCRATCH) if small else (low, high)
    if kind == "hrm" and (parameters is None or parameters > SMALL_FOR_HRM):
        return (HRM_FULL_SIZE[0], SMALL_HRM) if parameters is None else HRM_FULL_SIZE
    if kind in FROM_SCRATCH:
        high = SMALL_HRM if kind == "hrm" else HIGHEST_FROM_SCRATCH
        return ADAM_ANY[0] if parameters is None else min(
            suited_to_size(parameters) / 5, ADAM_EVERYWHERE
        ), high
    return ADAM_ANY if family else (ADAM_ANY[0], SGD[1])


def usual_facts(facts: Mapping[str, Any]) -> dict[str, float]:
    """`optimizer.lr_usual_low`, `.lr_usual_high` and `.lr_suited`, or nothing: what rules and remedies
    compute with.

    With Adam and its kin, `optimizer.lr_extreme` as well.
    """
    usual, suited = typical_rate(facts), suited_rate(facts)
    if usual is None or suited is None:
        return {}
    share = {"adam": 1.0, "lion": LION_SHARE}.get(_family(facts))
    extreme = {} if share is None else {"optimizer.lr_extreme": ADAM_EXTREME * share}
    return {
        "optimizer.lr_usual_low": usual[0],
        "optimizer.lr_usual_high": usual[1],
        "optimizer.lr_suited": suited,
    } | extreme


def suited_rate(facts: Mapping[str, Any]) -> float | None:
    """A rate to start from where the one in use is far outside of what is usual; None where no range is
    known.

    From scratch that is what suits the size of the model with Adam, and He's rate with SGD; else the
    geometric middle of the range. One digit is enough.
    """
    usual = typical_rate(facts)
    if usual is None:
        return None
    size, family = facts.get("model.parameters"), optimizer_family(str(facts.get("optimizer.name") or ""))
    scratch = (
        facts.get("run.kind") in FROM_SCRATCH and facts.get("lora.rank") is None and family in ("", "adam")
    )
    if usual == SGD_FROM_SCRATCH:
        middle = SGD_SUITED
    elif scratch and isinstance(size, int | float) and size > 0:
        middle = min(max(usual[0], suited_to_size(float(size))), usual[1])
    else:
        middle = math.sqrt(usual[0] * usual[1])
    unit = 10.0 ** math.floor(math.log10(middle))
    digit = round(middle / unit)
    return float(f"{(digit if digit * unit <= usual[1] else digit - 1) * unit:.1g}")


def suited_to_size(parameters: float) -> float:
    """Peak rate of Adam that suits a transformer of so many parameters.

    The rates of GPT-3's eight sizes (Brown et al. 2020, table 2.1) lie within a factor of 1.5 of this power
    of the size. Yang et al. 2022 (muP) derive the same: one over the width, where depth grows with width.
    """
    size, rate = GPT3_SMALL
    return rate * math.pow(size / parameters, 1 / 3)


def optimizer_family(name: str) -> str:
    """`adam`, `sgd`, `lion`, `scaled` for those whose rate is no step size, or "" when the name tells
    nothing."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    families = {
        "scaled": (
            "adafactor",
            "prodigy",
            "dadapt",
            "muon",
            "shampoo",
            "adagrad",
            "adadelta",
            "lars",
            "schedulefree",
        ),
        "lion": ("lion",),
        "adam": ("adam", "adan", "lamb", "rmsprop", "sophia", "soap", "signsgd"),
        "sgd": ("sgd", "momentum", "nesterov"),
    }
    return next((family for family, names in families.items() if any(one in plain for one in names)), "")
