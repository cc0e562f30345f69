"""Faults and healthy shapes of seven programs that were written before their author had read a rule."""

from __future__ import annotations

from benchmarks.lab.case import Case
from benchmarks.lab.spec import Value

_SPENT = ("lr-schedule-misconfigured", "learning-rate-too-low")
_FROZEN = ("frozen-parameters", "gradient-flow-broken")
_DECAY = ("weight-decay-too-high", "regularization-too-strong")
_SIGN = ("reward-function-broken", "reward-misspecified")


def _cases(**causes: tuple[str, ...]) -> list[Case]:
    return [Case(name.replace("_", "-"), those) for name, those in causes.items()]


FAULTS: dict[str, list[Case]] = {
    "autoencoder": _cases(
        divergence_weighs_200=("regularization-too-strong", "unscaled-loss-terms"),
        frozen_decoder=_FROZEN,
        rate_decays_by_batch=_SPENT,
        rate_too_high=("learning-rate-too-high",),
    ),
    "deep-q": _cases(
        epsilon_kept=("sampling-too-random",),
        rate_too_high=("learning-rate-too-high",),
        rate_too_low=("learning-rate-too-low",),
        reward_negated=_SIGN,
        target_never_renewed=("stale-off-policy-samples",),
    ),
    "actor-critic": _cases(
        advantage_negated=_SIGN,
        range_too_narrow=("clipping-too-aggressive",),
        rate_too_high=("learning-rate-too-high", "policy-diverged-from-reference"),
        ratio_detached=_FROZEN,
    ),
    "speech": _cases(
        decay_of_one=_DECAY,
        frozen_encoder=_FROZEN,
        other_blank=("loss-misapplied", "wrong-targets", "label-out-of-range"),
        phones_shuffled=("wrong-targets",),
        rate_decays_by_batch=_SPENT,
        rate_too_high=("learning-rate-too-high",),
    ),
    "segmenter": _cases(
        mask_of_255=("wrong-targets", "loss-misapplied", "label-out-of-range"),
        one_batch=("data-order-or-replay", "memorization"),
        other_parameters=_FROZEN,
        picture_flipped_alone=("wrong-targets",),
        rate_too_low=("learning-rate-too-low",),
    ),
    "detector": _cases(
        box_weighs_10000=("unscaled-loss-terms",),
        dead_units=("bad-initialization", "gradient-flow-broken", "numeric-saturation"),
        frozen_body=_FROZEN,
        one_kind_in_thirty=("class-imbalance", "distribution-shift"),
        rate_decays_by_batch=_SPENT,
        shifted_without_boxes=("wrong-targets", "data-pipeline-broken"),
        sorted_by_kind=("data-order-or-replay",),
    ),
    "recommender": _cases(
        decay_of_five=_DECAY,
        items_misnumbered=("wrong-targets",),
        one_batch=("data-order-or-replay", "memorization"),
        order_reversed=("loss-misapplied", "wrong-targets"),
        rate_decays_by_batch=_SPENT,
        tables_too_large=("bad-initialization",),
    ),
}
HEALTHY: dict[str, dict[str, dict[str, Value]]] = {
    "autoencoder": {
        "": {},
        "divergence-warms-up": {"warm": 5},
        "begun-again": {"again": 6},
        "small-batch": {"batch_size": 20},
    },
    "deep-q": {"": {}, "slow-decay": {"decay": 0.99}, "small-batch": {"batch_size": 16}},
    "actor-critic": {
        "": {},
        "annealed": {"anneal": 1},
        "few-epochs": {"epochs": 3},
        "no-bonus": {"bonus": 0.0},
    },
    "speech": {"": {}, "short-first": {"short_first": 1}, "small-batch": {"batch_size": 8}},
    "segmenter": {"": {}, "sgd": {"optimizer": "sgd"}, "small-batch": {"batch_size": 4}},
    "detector": {"": {}, "sgd": {"optimizer": "sgd"}, "small-batch": {"batch_size": 8, "epochs": 8}},
    "recommender": {"": {}, "small-batch": {"batch_size": 64}, "wide": {"width": 64}},
}
