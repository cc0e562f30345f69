"""Metric names -> roles.

A name is looked up as it is, then without the words around it that name the part of the data (`eval/`,
`_val`), the span (`_step`, `_epoch`) or the averaging (`avg_`), then in the patterns of the frameworks, and
last by its final word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.record.series import RoleGuess
from hrmdoc.roles.alone import bare_losses, only_losses, only_reward, total_losses
from hrmdoc.roles.company import games_lost, meters, out_of_place
from hrmdoc.roles.families import Families
from hrmdoc.roles.names import (
    EVAL,
    GROUPS,
    ONE_OF_MANY,
    TRAIN,
    by_form,
    by_last_word,
    normalised,
    of_both_sides,
    of_each,
    parted,
    stripped,
    totals_of,
)
from hrmdoc.roles.sides import scores_of_evaluation
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.record.series import Series
    from hrmdoc.rulebook import Framework, Rulebook

_LOSSES = frozenset({"train.loss", "eval.loss", "rl.reward"})
_RISEN = 1.02
_EVAL_ROLES = {"perplexity": "eval.perplexity", "rl.reward": "rl.reward"}


def evaluated(role: str) -> str | None:
    """The role of the same number on held-out data; None where that is nothing that rules look at."""
    if role.startswith("train."):
        return "eval." + role.removeprefix("train.")
    return role if role.startswith("eval.") else _EVAL_ROLES.get(role)


class RoleMap:
    """A callable from metric name to `RoleGuess`.

    Args:
        book: the rulebook, whose frameworks know the names.
        overrides: metric name -> role, as the user states it. A metric of the empty role has none.
    """

    def __init__(self, book: Rulebook, overrides: Mapping[str, str] | None = None) -> None:
        self._own = dict(overrides or {})
        self._taken: frozenset[str] = frozenset()
        self._exact, self._patterns = _tables_of(book)
        self._frameworks = book.frameworks
        self._families = Families(book.families.values())
        self._here: dict[str, RoleGuess] = {}
        self._alone: dict[str, RoleGuess] = {}
        self._seen: dict[str, RoleGuess] = {}

    def __call__(self, metric: str) -> RoleGuess:
        """The role of a metric, from memory where it was asked for before."""
        known = self._seen.get(metric)
        if known is None:
            known = self._seen[metric] = (
                self._stated(metric) or self._alone.get(metric) or self._look_up(metric)
            )
        return known

    def settle(
        self,
        framework: str,
        metrics: Mapping[str, int] | None = None,
        *,
        by_reward: bool = False,
        episodic: bool = False,
        risen: Set[str] = frozenset(),
    ) -> bool:
        """Takes in which framework wrote the run, which metrics it has, each with its number of points,
        whether the config says that it trains by reward or preference, whether what it counts are
        episodes, and which metrics have risen; says whether names mean something else than before.

        A role that the user gave to a metric is taken from all others once the run has that metric: a name
        that is absent must not leave the role without any.
        """
        metrics = metrics or {}
        known = self._frameworks.get(framework)
        here = {normalised(name): _guess(role) for name, role in known.own_metrics.items()} if known else {}
        taken = frozenset(role for metric, role in self._own.items() if role and metric in metrics)
        changed = here != self._here or taken != self._taken
        if changed:
            self._here, self._taken, self._seen = here, taken, {}
        alone = self._by_others(metrics, by_reward or _trains_by_reward(known), episodic, risen)
        if changed or alone != self._alone:
            self._alone, self._seen = alone, {}
            return True
        return False

    def _by_others(
        self, metrics: Mapping[str, int], by_reward: bool, episodic: bool, risen: Set[str]
    ) -> dict[str, RoleGuess]:
        """What the other metrics of the run tell of those whose names do not."""
        games = games_lost(metrics)
        known = {name: self._look_up(name).role for name in metrics if name not in self._own}
        unstated = {name: role for name, role in known.items() if name not in games}
        strange = {*out_of_place(unstated, by_reward)}
        unstated |= dict.fromkeys(strange)
        rewarded = {} if "rl.reward" in self._taken else only_reward(unstated, episodic=episodic)
        taken = self._taken | ({"rl.reward"} if rewarded else set())
        losses = only_losses(unstated, self._families, taken)
        if not losses and _LOSSES.isdisjoint({*taken, *unstated.values()}):
            losses = bare_losses(unstated, risen)
        guessed = {guess.role for guess in losses.values()}
        losses |= total_losses(unstated, risen, {*taken, *unstated.values(), *guessed})
        alone = {name: RoleGuess(None) for name in strange | games.intersection(known)}
        timed = {name: RoleGuess(role, guessed=True) for name, role in meters(unstated).items()}
        return alone | rewarded | losses | timed | scores_of_evaluation(unstated, metrics)

    @property
    def stated(self) -> Collection[str]:
        """The metrics of which the user says what they are."""
        return self._own.keys()

    def absent(self, metrics: Collection[str]) -> dict[str, str]:
        """The roles that the user gave to metrics that the run does not have: metric -> role."""
        return {metric: role for metric, role in self._own.items() if metric not in metrics}

    def _stated(self, metric: str) -> RoleGuess | None:
        if metric in self._own:
            return RoleGuess(self._own[metric] or None)
        return None

    def _look_up(self, metric: str) -> RoleGuess:
        guess = self._known(metric)
        if guess.role in self._taken:  # the user named another metric for it
            return RoleGuess(None)
        return guess

    def _known(self, metric: str) -> RoleGuess:
        name = normalised(metric)
        if (found := self._here.get(name) or self._exact.get(name)) is not None:
            return found
        for pattern, guess in self._patterns:
            if pattern.search(metric):
                return guess
        return self._in_group(name) or self._by_words(metric, name)

    def _in_group(self, name: str) -> RoleGuess | None:
        """The role of a known name behind a first word that says which part of the data, or which group of
        metrics, it belongs to."""
        words = [word for word in name.split("_") if word]
        whole = self._exact.get("_".join(words[1:])) if len(words) > 1 else None
        if whole is None:
            return None
        if whole.role and words[0] in EVAL | TRAIN:
            role = whole.role if words[0] in TRAIN else evaluated(whole.role)
            if role:
                return RoleGuess(role, whole.guessed or _beside(words[0], role))
        return whole if words[0] in GROUPS else None

    def _by_words(self, metric: str, name: str) -> RoleGuess:
        """The role of what remains of a name once words around it are taken away."""
        words = [word for word in name.split("_") if word]
        found = self._stripped(words)
        if found.role is None and (spread := of_each(words)) != words:
            found = self._stripped(spread)
        apart = parted(metric) if found.role is None else metric
        return found if apart == metric else self._known(apart)

    def _stripped(self, words: list[str]) -> RoleGuess:
        part, rest, averaged = stripped(words)
        rest = [ONE_OF_MANY.get(word, word) for word in rest]
        return self._in_part(part, rest, averaged) if rest else RoleGuess(None)

    def _in_part(self, part: str, words: list[str], averaged: bool) -> RoleGuess:
        """The role of the words that remain, on the part of the data that the others named."""
        name = "_".join(words)
        known = self._exact.get(name) or self._exact.get("".join(words)) or self._here.get(name)
        found = known or by_last_word(words) or by_form(part, words)
        if found is None or found.role is None:
            return RoleGuess(None)
        role = found.role if part in ("", "train") else evaluated(found.role)
        guessed = found.guessed or averaged or part == "test" or _beside(part, role)
        return RoleGuess(role, guessed) if role else RoleGuess(None)


def _beside(part: str, role: str | None) -> bool:
    """Whether what a policy gets where it is evaluated stands beside what it got in training."""
    return part in EVAL and role == "rl.reward"


def _trains_by_reward(framework: Framework | None) -> bool:
    """Whether a framework has names of its own for what only a training by reward or preference has."""
    return (
        framework is not None
        and framework.id != "generic"
        and any(
            role.startswith(("rl.", "dpo."))
            for role in (*framework.metrics.values(), *framework.own_metrics.values())
        )
    )


def settle(run: Run, framework: str, *, by_reward: bool = False) -> None:
    """Gives the metrics of `run` the roles that their names have in runs of `framework`, unless the user said
    otherwise; `by_reward`: whether its config names an algorithm of training by reward or preference."""
    if not isinstance(run.role_of, RoleMap):
        return
    counts: dict[str, int] = {}
    for series in run.series.values():
        counts[series.key.metric] = max(counts.get(series.key.metric, 0), len(series))
    counted = run.fact("run.counts")
    episodic = counted is not None and counted.value == "episodes"
    risen = _risen(run, of_both_sides(counts), totals_of(counts))
    if run.role_of.settle(framework, counts, by_reward=by_reward, episodic=episodic, risen=risen):
        for series in run.series.values():
            series.role = run.role_of(series.key.metric)
        run.version += 1


def _risen(run: Run, sides: Collection[str], totals: Collection[str]) -> set[str]:
    """Those of some metrics that came to more than they began at, or of totals, that did not come to less:
    these may count anything."""
    found = set()
    for series in run.series.values():
        name = series.key.metric
        if name in sides or name in totals:
            first, last = _course(series)
            if last > _RISEN * first or (name in totals and not 0 < last < first):
                found.add(name)
    return found


def _course(series: Series) -> tuple[float, float]:
    """The levels of the first and of the last third of a series; of several runs in one file, of the
    longest."""
    begun = np.flatnonzero(np.diff(series.steps) < 0) + 1
    values = max(np.split(series.values, begun), key=len)
    third = max(1, len(values) // 3)
    return float(np.median(values[:third])), float(np.median(values[-third:]))


def _guess(role: str) -> RoleGuess:
    """A role as rules write it."""
    return RoleGuess(None if role == "none" else role.removesuffix("?"), role.endswith("?"))


_newest: list[tuple[Rulebook, tuple[dict[str, RoleGuess], list[tuple[re.Pattern[str], RoleGuess]]]]] = []


def _tables_of(book: Rulebook) -> tuple[dict[str, RoleGuess], list[tuple[re.Pattern[str], RoleGuess]]]:
    """The tables of the rulebook, made once for all runs that follow one another with it."""
    if not _newest or _newest[0][0] is not book:
        _newest[:] = [(book, _tables(book.frameworks.values()))]
    return _newest[0][1]


def _tables(
    frameworks: Iterable[Framework],
) -> tuple[dict[str, RoleGuess], list[tuple[re.Pattern[str], RoleGuess]]]:
    """Names as they are, and patterns in slashes. A role that ends with `?` is a guess; `none` says that
    there is no role."""
    exact: dict[str, RoleGuess] = {}
    by_pattern: list[tuple[re.Pattern[str], RoleGuess]] = []
    for framework in sorted(frameworks, key=lambda one: (one.id == "generic", one.id)):
        for name, role in framework.metrics.items():
            guess = _guess(role)
            if len(name) > 2 and name.startswith("/") and name.endswith("/"):
                by_pattern.append((patterns.lazy(name[1:-1], re.IGNORECASE), guess))
            else:
                exact.setdefault(normalised(name), guess)
    return exact, by_pattern
