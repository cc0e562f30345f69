"""What the user states of a run, against what the rules know and what the run has: roles of metrics and the
run kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from hrmdoc.errors import UsageError, did_you_mean
from hrmdoc.roles.kind import Kind
from hrmdoc.roles.metrics import RoleMap
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.rulebook import Rulebook

_QUOTED = patterns.lazy(r"'([a-z][\w.]*)'")


def check_stated(
    book: Rulebook, roles: Mapping[str, str], facts: Mapping[str, Any], origin: str | None = None
) -> None:
    """Refuses a role that no rule asks for and no program logs, and a kind of run that no rule knows.

    Args:
        roles: metric name -> role; the empty role says that a metric has none.
        facts: canonical facts, of which `run.kind` is looked at.
        origin: the file that states them, if any.

    Raises:
        UsageError: naming what is known.
    """
    known = frozenset(_roles_in(book)) if roles else frozenset()
    for metric, role in roles.items():
        if role and role not in known:
            usual = "train.loss, eval.loss, train.accuracy, grad_norm, lr and rl.reward"
            hint = did_you_mean(role, known) or f"roles are names such as {usual}; `hrmdoc series` shows them"
            raise UsageError(f"no rule knows the role {role!r} (of {metric})", file=origin, hint=hint)
    kind = facts.get("run.kind")
    if kind is None:
        return
    kinds = _kinds_in(book)
    if kind not in kinds:
        guess = did_you_mean(str(kind), kinds)
        hint = f"{guess + ' ' if guess else ''}Kinds are {', '.join(kinds)}"
        raise UsageError(f"no rule knows the run kind {str(kind)!r}", file=origin, hint=hint)


def absent_metrics(run: Run) -> list[str]:
    """One sentence for each metric to which the user gave a role and that the run does not have."""
    if not isinstance(run.role_of, RoleMap):
        return []
    return [_missed(run, metric, role) for metric, role in run.role_of.absent(run.metrics).items() if role]


def _missed(run: Run, metric: str, role: str) -> str:
    guess = did_you_mean(metric, run.metrics)
    instead = run.best(role)
    what = f"{role} is read from {instead.key.metric} instead" if instead else f"nothing is read as {role}"
    return f"this run has no metric {metric!r}, stated to be {role}; {what}" + (f"; {guess}" if guess else "")


def _kinds_in(book: Rulebook) -> list[str]:
    own = {kind for rule in book.symptoms.values() for kind in rule.applies.kinds}
    return list(dict.fromkeys((*get_args(Kind), *sorted(own))))


def _roles_in(book: Rulebook) -> Iterator[str]:
    for framework in book.frameworks.values():
        for role in (*framework.metrics.values(), *framework.own_metrics.values()):
            yield role.removesuffix("?")
    for rule in book.symptoms.values():
        yield from (*rule.needs.roles, *rule.needs.any_role)
        for when in rule.when.walk():
            asked = (when.role,) if isinstance(when.role, str) else when.role or ()
            yield from (*asked, *filter(None, (when.against,)), *_QUOTED.findall(when.check or ""))
