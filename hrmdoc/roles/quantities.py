"""Which quantity a metric is by its name, and which others of its run it can never exceed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.record.quantity import Quantity
    from hrmdoc.rulebook.schema.quantities import Quantities

_APART = patterns.lazy(r"[^a-z0-9]+")
_CAPITALS = patterns.lazy(r"(?<=[a-z])(?=[A-Z])")
_FIRST_K = patterns.lazy(r"(?:.*[\W_])?(?:hits?|hr|recall|r|acc|accuracy|top|pass|success)@(\d{1,4})(?!\d)")
"""A share of hits among the first k places: no shorter list has more of them."""
_SPREAD = frozenset({"std", "var", "stderr", "sem", "count", "num", "loss", "target", "threshold"})
"""Words of numbers that are taken of a metric and are not that metric."""


def plain(metric: str) -> str:
    """A name in lower case with blanks between its words: `metrics/mAP50-95(B)` gives `metrics map50 95
    b`."""
    return _APART.sub(" ", metric.lower()).strip()


class Meanings:
    """A callable from the name of a metric to its quantity, from memory where it was asked before.

    Args:
        fields: those of the rulebook.
    """

    def __init__(self, fields: Iterable[Quantities]) -> None:
        fields = list(fields)
        self._named = [
            (f" {name} ", quantity)
            for field in fields
            for quantity in field.quantities
            for name in quantity.names
        ]
        self._named.sort(key=lambda pair: -len(pair[0]))
        self._orders = [
            (f" {lower} ", f" {upper} ")
            for field in fields
            for order in field.orders
            for place, lower in enumerate(order)
            for upper in order[place + 1 :]
        ]
        self._seen: dict[str, Quantity | None] = {}

    def __call__(self, metric: str) -> Quantity | None:
        """The quantity that the longest of the known names in this one says."""
        if metric not in self._seen:
            self._seen[metric] = self._look_up(metric)
        return self._seen[metric]

    def _look_up(self, metric: str) -> Quantity | None:
        if not _SPREAD.isdisjoint(plain(metric).split()):
            return None
        for name in dict.fromkeys((f" {plain(metric)} ", f" {plain(_CAPITALS.sub(' ', metric))} ")):
            for phrase, quantity in self._named:
                if phrase in name:
                    return None if any(f" {word} " in name for word in quantity.unless) else quantity
        return None

    def above(self, metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """For each of the `metrics` of a run that is in an order with others: those that it can never
        exceed."""
        named = {plain(metric): metric for metric in metrics}
        found = _longer_lists(named.values())
        for name, metric in named.items():
            words = f" {name} "
            wider = [words.replace(*order, 1).strip() for order in self._orders if order[0] in words]
            found.setdefault(metric, []).extend(named[other] for other in wider if other in named)
        orders = {metric: tuple(others) for metric, others in found.items() if others}
        widest = {other for others in orders.values() for other in others}
        return dict.fromkeys(widest, ()) | orders


def _longer_lists(metrics: Iterable[str]) -> dict[str, list[str]]:
    """For each share of hits among the first k places those among more of them."""
    lists: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for metric in metrics:
        if "@" in metric and (first := _FIRST_K.match(metric.lower())):
            key = metric[: first.start(1)], metric[first.end(1) :]
            lists.setdefault(key, []).append((int(first[1]), metric))
    return {
        metric: [other for more, other in of_list if more > k]
        for of_list in lists.values()
        for k, metric in of_list
    }
