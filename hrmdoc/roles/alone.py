"""What no table knows by its name and the other metrics tell: the loss of a run that has no other
(`seg_loss`, or `CE T` beside `CE V`), and the score of a game that is explored at random or counted by what
was played (`Average Score` beside `Epsilon`, `test/success_rate` beside `test/episode`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Set

from hrmdoc.record.series import RoleGuess
from hrmdoc.roles.families import Families, words_of
from hrmdoc.roles.names import of_both_sides, totals_of

_WHOLE = frozenset({"total", "overall", "full", "sum", "all", "combined"})
_OF_ONE_SIDE = frozenset(
    """
    g d gen generator netg netd disc gail curiosity discriminator dis adv adversarial gan wgan lsgan real fake
    actor policy pi alpha kl kld kldiv critic value vf q qf td entropy ent aux auxiliary reg regularization
    penalty gp commitment commit vq codebook router balance balancing ponder
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
"""Words of losses that wander by their nature, or only restrain another one, and say nothing of the whole."""

_RETURNS = frozenset({"score", "scores", "reward", "rewards", "return", "returns", "result", "results"})
_AGAINST_CHANCE = tuple(map(frozenset, (("win", "random"), ("wins", "random"), ("winrate", "random"))))
"""A player at random does not learn: what is won against it tells what a policy can do."""
_SHARES_WON = (frozenset({"success", "rate"}), frozenset({"win", "rate"}), *_AGAINST_CHANCE)
_PLAYED = frozenset({"episode", "episodes", "frame", "frames"})
"""What is counted where a policy acts."""
_TESTED = frozenset({"test", "eval", "evaluation"})
_EXTREMES = frozenset({"max", "maximum", "best", "highest", "min", "minimum", "lowest"})
"""What was the best of some is no course of a score."""
_AVERAGED = frozenset({"average", "avg", "mean", "ave", "running", "moving", "ma"})


def only_reward(roles: Mapping[str, str | None], *, episodic: bool = False) -> dict[str, RoleGuess]:
    """A guessed role for the score of a run that logs its rate of exploration, or counts what it played, and
    no known reward nor an accuracy: its score, or the share of what it played that was won.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        episodic: what the run counts are episodes.
    """
    words = {name: set(words_of(name)) for name in roles}
    if "rl.reward" in roles.values() or not (episodic or _acts(roles, words)):
        return {}
    scores = _scores({name: words[name] for name, role in roles.items() if role is None})
    averaged = [name for name in scores if words[name] & _AVERAGED]
    tested = [name for name in scores if words[name] & _TESTED]
    for chosen in (scores, averaged, tested):
        if len(chosen) == 1:
            return {chosen[0]: RoleGuess("rl.reward", guessed=True)}
    return {}


def _acts(roles: Mapping[str, str | None], words: Mapping[str, set[str]]) -> bool:
    """Whether a policy acts: by what it tries at random, what it played, or whom it played against."""
    if "rl.exploration" in roles.values() or _plays(roles, words):
        return True
    return any(won <= said for said in words.values() for won in _AGAINST_CHANCE)


def _plays(roles: Mapping[str, str | None], words: Mapping[str, set[str]]) -> bool:
    """Whether a run counts what it played and is judged by no accuracy and on no held-out data."""
    judged = any(role and (role.startswith("eval.") or role == "train.accuracy") for role in roles.values())
    return not judged and any(said & _PLAYED for said in words.values())


def _scores(words: Mapping[str, set[str]]) -> list[str]:
    """The names of scores, or else of shares that were won; of the best of some only where there are no
    others."""
    plain = {name: said for name, said in words.items() if _EXTREMES.isdisjoint(said)}
    return _returns_or_won(plain) or _returns_or_won(words)


def _returns_or_won(words: Mapping[str, set[str]]) -> list[str]:
    scores = [name for name, said in words.items() if said & _RETURNS]
    return scores or [name for name, said in words.items() if any(won <= said for won in _SHARES_WON)]


def only_losses(
    roles: Mapping[str, str | None], families: Families, stated: Set[str]
) -> dict[str, RoleGuess]:
    """Guessed roles for metrics that have none: the training loss and that of held-out data, each where
    nothing else has that role and one metric alone may be meant.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        families: what tells their family.
        stated: roles that the user gave to metrics.
    """
    taken = stated | set(roles.values())
    known = {name: families(name) for name, role in roles.items() if role is None}
    losses = {name: one for name, one in known.items() if one.family == "loss"}
    found: dict[str, RoleGuess] = {}
    for held_out, role in ((False, "train.loss"), (True, "eval.loss")):
        if role in taken or "rl.reward" in taken:
            continue
        side = [name for name, one in losses.items() if one.held_out == held_out]
        if (name := _meant(side)) is not None:
            found[name] = RoleGuess(role, guessed=True)
    return found


def bare_losses(roles: Mapping[str, str | None], risen: Set[str]) -> dict[str, RoleGuess]:
    """Guessed roles for `train` and `val`, of which a program says no more: losses, where the training has
    not risen. Asked of runs without a loss and a reward.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        risen: metrics that have risen so far.
    """
    sides = of_both_sides(name for name, role in roles.items() if role is None)
    each = {side: [name for name, of in sides.items() if of == side] for side in sides.values()}
    if any(len(names) > 1 for names in each.values()) or any(name in risen for name in each.get("train", ())):
        return {}
    return {name: RoleGuess(f"{side}.loss", guessed=True) for name, side in sides.items()}


def total_losses(
    roles: Mapping[str, str | None], risen: Set[str], taken: Collection[str | None]
) -> dict[str, RoleGuess]:
    """Guessed roles for `total` beside its terms: the loss of a side that has none, where it has fallen.

    Args:
        roles, risen: as those of `bare_losses`.
        taken: roles that metrics have.
    """
    totals = totals_of(name for name, role in roles.items() if role is None)
    sides = Counter(totals.values())
    return {
        name: RoleGuess(f"{side}.loss", guessed=True)
        for name, side in totals.items()
        if sides[side] == 1 and name not in risen and {f"{side}.loss", "rl.reward"}.isdisjoint(taken)
    }


def _meant(names: list[str]) -> str | None:
    """The one that is the loss: the only one there is, or the only one that is called the whole."""
    able = [name for name in names if _OF_ONE_SIDE.isdisjoint(words_of(name))]
    whole = [name for name in able if not _WHOLE.isdisjoint(words_of(name))]
    for chosen in (names if len(names) == len(able) else [], whole):
        if len(chosen) == 1:
            return chosen[0]
    return None
