"""What may be done to a run, without asking or after a person's yes: which risks and remedies, how often, and
with how much time between."""

from __future__ import annotations

from dataclasses import dataclass, field

from hrmdoc.rulebook import Remedy
from hrmdoc.settings import Policy


@dataclass(slots=True)
class Gate:
    """Counts what was done to one run and says whether one more remedy may be applied. Knows no clock of its
    own.

    Attributes:
        policy: the user's settings; by default nothing is done without asking.
        done: remedy and time (seconds on the caller's clock) of each that was applied, in order.
        failed: remedies that were tried and changed nothing: they are not tried again, and nothing waits for
            their effect.
    """

    policy: Policy
    done: list[tuple[str, float]] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def refusal(self, remedy: Remedy, now: float, reason: str = "") -> str | None:
        """Why `remedy` may not be applied at time `now` for `reason`, a cause or symptom; None when it may.
        What was applied once is not repeated."""
        if (barred := self.bars(remedy, reason)) is not None:
            return barred
        names = (remedy.id, *remedy.formerly)
        if (repeated := self._repeated(names)) is not None:
            return repeated
        waited = now - self.done[-1][1] if self.done else float("inf")
        if waited < self.policy.cooldown_s:
            return f"the last remedy was applied {waited:.0f} s ago; {self.policy.cooldown_s:.0f} s must pass"
        return None

    def _repeated(self, names: tuple[str, ...]) -> str | None:
        if any(name in names for name, _ in self.done):
            return "it was applied to this run before"
        if not self.failed.isdisjoint(names):
            return "it was tried on this run before, and could not be applied"
        return None

    def bars(self, remedy: Remedy, reason: str = "") -> str | None:
        """Why the policy does not allow `remedy` for `reason` at all, however long one waits. What it asks a
        person about needs no other leave, but stays within its names and its number."""
        policy = self.policy
        if remedy.risk not in policy.auto and not self.asks(remedy):
            allowed = ", ".join(policy.auto) or "nothing"
            return f"its risk is {remedy.risk}; without asking, {allowed} is allowed"
        for name in (remedy.id, reason):
            if name in policy.never:
                return f"the policy rules {name} out"
        if policy.remedies and remedy.id not in policy.remedies:
            return "it is not among the remedies that the policy allows"
        if policy.causes and reason not in policy.causes:
            return f"the policy allows nothing for {reason}"
        if len(self.done) >= policy.max_per_run and all(name != remedy.id for name, _ in self.done):
            return f"{len(self.done)} remedies were applied to this run, the most that is allowed"
        return None

    def asks(self, remedy: Remedy) -> bool:
        """Whether a person has to say yes first."""
        return remedy.id in self.policy.ask or remedy.risk in self.policy.ask

    def askable(self, remedy: Remedy, reason: str = "") -> bool:
        """Whether a person may be asked for it already, though it may be applied only later."""
        names = (remedy.id, *remedy.formerly)
        return self.asks(remedy) and self.bars(remedy, reason) is None and self._repeated(names) is None

    def forget(self, remedy: str) -> None:
        """Notes that `remedy` was taken back: it may be applied again, and counts no more."""
        self.done = [one for one in self.done if one[0] != remedy]
        self.failed.discard(remedy)

    def record(self, remedy: str, now: float, *, applied: bool = True) -> None:
        """Notes that `remedy` was applied, or that this was tried and failed."""
        if applied:
            self.done.append((remedy, now))
        else:
            self.failed.add(remedy)
