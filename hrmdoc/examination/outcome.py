"""How a run ended, judged over all of it: what rules of shapes (`alarms: outcome`) are measured against.

A loss that jumped, swung or wandered and stands at its best again is a story, no alarm. It is one while the
run is away from its best, live as well: what is judged is what there is so far.
"""

from __future__ import annotations

from hrmdoc.examination.scene import Scene
from hrmdoc.measures.outcome import FEWEST, Goal, Outcome, outcome
from hrmdoc.roles.typical import typical_facts

MEASURED = ("gain", "gained", "kept", "distance", "rise", "noise", "since", "thrown", "wasted")
FEW = 3
"""Evaluations of a short fine-tuning, one an epoch, whose score tells how it ended."""
_LOSSES = {"eval": ("eval.loss", "eval.perplexity"), "train": ("train.loss", "perplexity")}
_SCORES: dict[str, Goal] = {
    "eval.exact_accuracy": "max",
    "eval.accuracy": "max",
    "eval.score": "max",
    "eval.error_rate": "min",
    "eval.error": "min",
    "rl.reward": "max",
}


def ended_well(scene: Scene, role: str) -> bool:
    """Whether what was gained is there at the end, by the loss of the data that `role` is of.

    Where that loss does not end well, what is asked of the model may: a score at its best beside a model that
    grows more certain of its errors. What a policy does is judged by its reward, where that is logged: its
    loss has no level. What cannot be judged did not end well.
    """
    if role.startswith("rl.") and (reward := of_role(scene, "rl.reward", "max")) is not None:
        return says(scene, reward, "well")
    side = "eval" if role.startswith("eval.") else "train"
    losses = _losses(scene, side, FEWEST)
    if not losses:
        few = _losses(scene, side, FEW)
        return all(says(scene, one, "excusable") for one in few) and scores_well(scene)
    if says(scene, losses[0], "well"):
        return True
    if side == "eval":
        return says(scene, losses[0], "excusable") and scores_well(scene)
    elsewhere = of_role(scene, "eval.loss")
    return (elsewhere is None or says(scene, elsewhere, "well")) and scores_well(scene)


def _losses(scene: Scene, side: str, fewest: int) -> list[Outcome]:
    """The outcomes of the losses of the evaluation or of the training set, as far as they are long enough."""
    judged = (of_role(scene, name, fewest=fewest) for name in _LOSSES[side])
    return [one for one in judged if one is not None]


def scores_well(scene: Scene) -> bool:
    """Whether every score of the evaluation, or the reward, ends well; not where there is none."""
    for fewest in (FEWEST, FEW):
        judged = [of_role(scene, name, goal, fewest) for name, goal in _SCORES.items()]
        if scores := [one for one in judged if one is not None]:
            return all(says(scene, one, "well") for one in scores)
    return False


def solved(scene: Scene, role: str) -> bool:
    """Whether a score of the last run, of the evaluation where there is one, stands near its ceiling. Of what
    the evaluation shows, no score of the training set tells that."""
    if role.startswith("eval.") and scene.run.best("eval.accuracy") is None:
        return False
    return bool(scene.facts.get("run.solved"))


def learned(scene: Scene, role: str) -> bool:
    """Whether the evaluation gained much and ended well: a loss that stands still beside it is no measure of
    what is learned, but a part of the loss, a cost or a count that bears its name.

    An evaluation loss that stands still itself says neither, and is judged so by the scores alone.
    """
    losses = [one for name in _LOSSES["eval"] if (one := of_role(scene, name)) is not None]
    scores = [
        one
        for name, goal in _SCORES.items()
        if name.startswith("eval.") and (one := of_role(scene, name, goal)) is not None
    ]
    moved = [one for one in losses if not says(scene, one, "still")]
    known = scores + moved
    if role.startswith("eval.") and moved:
        return False
    return all(says(scene, one, "well") for one in known) and any(
        says(scene, one, "learned") for one in known
    )


def stands_still(scene: Scene, role: str) -> bool:
    """Whether the program itself says that all points of a series are of one step: samples that are adapted
    to one by one, or measured; no course of a training."""
    series = scene.run.best(role)
    return (
        series is not None
        and series.axis == "step"
        and len(series) >= FEWEST
        and bool((series.steps == series.steps[0]).all())
    )


def says(scene: Scene, judged: Outcome, what: str) -> bool:
    """What `rules/typical/outcome.yaml` says of an outcome."""
    measured = {f"outcome.{name}": getattr(judged, name) for name in MEASURED}
    return bool(typical_facts({**scene.facts, **measured}, scene.usual).get(f"outcome.{what}"))


def of_role(scene: Scene, role: str, goal: Goal = "min", fewest: int = FEWEST) -> Outcome | None:
    """The outcome of the last run in the best series of a role; None where it is too short."""
    series = scene.run.best(role)
    if series is None:
        return None
    fresh = scene.falls(series).fresh
    return outcome(series.values[fresh[-1] if fresh else 0 :], goal, fewest)
