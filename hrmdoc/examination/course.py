"""The course of a run in a few numbers, and what experience with labelled runs says of it.

A rule sees one shape of one curve. Whether somebody should be alerted depends on what became of the run as a
whole, and how often runs like it deserved it can be counted: `rules/experience/` keeps that count.
"""

from __future__ import annotations

from hrmdoc.examination.outcome import FEW, of_role
from hrmdoc.examination.scene import Scene
from hrmdoc.measures.outcome import Goal
from hrmdoc.rulebook.schema.experience import Experience

CURVES: dict[str, tuple[Goal, tuple[str, ...]]] = {
    "train_loss": ("min", ("train.loss", "perplexity")),
    "eval_loss": ("min", ("eval.loss", "eval.perplexity")),
    "eval_score": ("max", ("eval.exact_accuracy", "eval.accuracy", "eval.score")),
    "reward": ("max", ("rl.reward",)),
}
"""What is judged of a run: the first of these roles that has points enough."""
COURSE = "course"
"""The experience that is asked, by its id."""
LOG_RATIO = "course.log_ratio"
"""The fact that holds what it says."""
_SHARE = 1.5
"""A score beyond counts in percent."""
MEASURES = ("gained", "kept", "rise", "since", "thrown", "wasted", "distance")


def course(scene: Scene) -> dict[str, float]:
    """The measures of `hrmdoc.measures.outcome` of each curve of the last run, as `<curve>.<measure>`, and
    `eval_score.end`, the share of its ceiling at which the score stands."""
    measured: dict[str, float] = {}
    for curve, (goal, roles) in CURVES.items():
        judged = next((one for role in roles if (one := of_role(scene, role, goal, FEW)) is not None), None)
        if judged is None:
            continue
        measured |= {f"{curve}.{name}": float(getattr(judged, name)) for name in MEASURES}
        if curve == "eval_score":
            measured["eval_score.end"] = -judged.end / (100.0 if -judged.best > _SHARE else 1.0)
    return measured


def log_ratio(scene: Scene, experience: Experience) -> float | None:
    """How much likelier a run with a fault takes such a course than one without, as a logarithm; None where
    there is no curve to judge."""
    measured = course(scene)
    return experience.log_ratio(measured) if measured else None
