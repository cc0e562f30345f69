"""The course of a run in a few numbers, and what experience with labelled runs says of it.

A rule sees one shape of one curve. Whether somebody should be alerted depends on what became of the run as a
whole, and how often runs like it deserved it can be counted: `rules/experience/` keeps that count.
"""

from __future__ import annotations

from collections.abc import Iterable

from hrmdoc.examination.outcome import FEW, of_role
from hrmdoc.examination.scene import Scene
from hrmdoc.measures.outcome import Goal, Outcome
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
    `eval_score.end`, the share of its ceiling at which the score stands. What a policy does is judged by its
    reward, where that is logged: its losses have no level."""
    judged = {curve: _judged(scene, goal, roles) for curve, (goal, roles) in CURVES.items()}
    if judged["reward"] is not None:
        judged = {"reward": judged["reward"]}
    measured: dict[str, float] = {}
    for curve, one in judged.items():
        if one is None:
            continue
        measured |= {f"{curve}.{name}": float(getattr(one, name)) for name in MEASURES}
        if curve == "eval_score":
            measured["eval_score.end"] = -one.end / (100.0 if -one.best > _SHARE else 1.0)
    return measured


def _judged(scene: Scene, goal: Goal, roles: Iterable[str]) -> Outcome | None:
    """The outcome of the first of the roles that has points enough."""
    return next((one for role in roles if (one := of_role(scene, role, goal, FEW)) is not None), None)


def log_ratio(scene: Scene, experience: Experience) -> float | None:
    """How much likelier a run with a fault takes such a course than one without, as a logarithm; None where
    there is no curve to judge."""
    measured = course(scene)
    return experience.log_ratio(measured) if measured else None
