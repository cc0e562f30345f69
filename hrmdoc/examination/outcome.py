"""How a run ended, judged over all of it: what rules of shapes (`alarms: outcome`) are measured against.

A loss that jumped, swung or wandered and stands at its best again is a story, no alarm. It is one while the
run is away from its best, live as well: what is judged is what there is so far.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.examination.scene import Scene
from hrmdoc.measures.outcome import Goal, Outcome, outcome
from hrmdoc.measures.pyramid import middle

EXCUSED = 0.6
"""A rise of the evaluation loss up to which a score at its best excuses it."""
SOLVED = 0.97
"""Share of its ceiling from which a score leaves next to nothing to learn."""
_CEILINGS = (1.0, 100.0)
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
    grows more certain of its errors. What cannot be judged did not end well.
    """
    side = "eval" if role.startswith("eval.") else "train"
    losses = [judged for name in _LOSSES[side] if (judged := of_role(scene, name)) is not None]
    if not losses or losses[0].fine:
        return bool(losses) or scores_well(scene)
    if losses[0].rise > EXCUSED and side == "eval":
        return False
    elsewhere = None if side == "eval" else of_role(scene, "eval.loss")
    return (elsewhere is None or elsewhere.fine) and scores_well(scene)


def scores_well(scene: Scene) -> bool:
    """Whether every score of the evaluation, or the reward, ends well; not where there is none."""
    scores = [judged for name, goal in _SCORES.items() if (judged := of_role(scene, name, goal)) is not None]
    return bool(scores) and all(judged.fine for judged in scores)


def solved(scene: Scene) -> bool:
    """Whether a score of the last run, of the evaluation where there is one, stands near its ceiling."""
    series = scene.run.best("eval.accuracy") or scene.run.best("train.accuracy")
    if series is None or not len(series):
        return False
    values = series.values[np.isfinite(series.values)]
    ceiling = _CEILINGS[len(values) > 0 and float(values.max()) > _CEILINGS[0]]
    return len(values) > 0 and SOLVED <= middle(values[-3:]) / ceiling <= 1


def of_role(scene: Scene, role: str, goal: Goal = "min") -> Outcome | None:
    """The outcome of the last run in the best series of a role; None where it is too short."""
    series = scene.run.best(role)
    if series is None:
        return None
    fresh = scene.falls(series).fresh
    return outcome(series.values[fresh[-1] if fresh else 0 :], goal)
