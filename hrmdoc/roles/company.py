"""Names that trainings by reward share with others.

A divergence that is called no more than that stands in the loss of autoencoders and distillations too, a
loss of one letter may be that of the validation, and flows are matched elsewhere. Such names mean their role
in the company of others of the kind alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
