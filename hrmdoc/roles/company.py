"""Names that mean one thing in the company of some metrics, and another in that of others.

A divergence that is called no more than that stands in the loss of autoencoders and distillations too, a
loss of one letter may be that of the validation, and flows are matched elsewhere. Such names mean their role
in trainings by reward alone, in the company of others of the kind. And losses beside wins are games.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hrmdoc.roles.names import EVAL, TRAIN, normalised

_SHARED = {
    "rl.kl": frozenset({"kl", "kls", "kld", "kldiv", "div", "divergence"}),
    "rl.value_loss": frozenset({"v", "loss"}),
    "rl.ebft_cfm_loss": frozenset({"cfm", "loss"}),
}
"""Roles, and the words of which such names are made; `approx_kl` and `value_loss` are none."""
_AROUND = EVAL | TRAIN | {"test", "avg", "average", "step", "epoch", "loss", "term"}
_NO_COMPANY = frozenset({"rl.entropy", "rl.exploration"})
"""Classifiers have an entropy, and private training an epsilon."""

_METERS = {"time": "step_time", "data": "data_time"}
_WON = {"losses": "wins", "lost": "won", "lose": "win", "loss": "win"}
_DRAWN = frozenset({"draw", "draws", "tie", "ties"})


def games_lost(metrics: Iterable[str]) -> frozenset[str]:
    """The metrics that count games that were lost: those of which another one counts what was won; of a mere
    `loss` beside `win`, only where games may be drawn."""
    names = {normalised(metric): metric for metric in metrics}
    lost = {name for name in names if (won := _won(name)) != name and won in names}
    if _DRAWN.isdisjoint(names):
        lost.discard("loss")
    return frozenset(names[name] for name in lost)


def _won(name: str) -> str:
    """The name of what was won, by that of what was lost."""
    return "_".join(_WON.get(word, word) for word in name.split("_"))


def meters(metrics: Iterable[str]) -> dict[str, str]:
    """`Time` beside `Data`, as the meters of the ImageNet example and its copies are called: what a step took
    and how long it waited for its batch."""
    found = {normalised(metric): metric for metric in metrics}
    return {found[name]: role for name, role in _METERS.items()} if _METERS.keys() <= found.keys() else {}


def shared(role: str | None, metric: str) -> bool:
    """Whether a metric bears a name that other trainings than those by reward use as well."""
    own = _SHARED.get(role or "")
    if own is None:
        return False
    words = {word for word in normalised(metric).split("_") if word}
    return bool(words & own) and words <= own | _AROUND


def out_of_place(roles: Mapping[str, str | None], by_reward: bool) -> Collection[str]:
    """The metrics whose role is one of a training by reward, in a run that shows nothing else of such a one.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        by_reward: whether the framework or the config says that the run is one.
    """
    found = [name for name, role in roles.items() if shared(role, name)]
    if by_reward or not found:
        return ()
    company = any(
        role is not None
        and role.startswith(("rl.", "dpo."))
        and role not in _NO_COMPANY
        and not shared(role, name)
        for name, role in roles.items()
    )
    return () if company else found
