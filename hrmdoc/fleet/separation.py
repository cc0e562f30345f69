"""Which settings separate sick runs from healthy ones, tested against chance.

Each setting is cut in two wherever it can be (`lr >= 0.003`, `optimizer = sgd`), and each cut gets the p
value of Fisher's exact test on its four-field table. Many cuts are tried, and some separate by chance: what
is said holds after Bonferroni's correction for all of them. Cuts that part the runs alike count once and are
named together, since nothing in the runs tells them apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hrmdoc.fleet.origin import Plain
from hrmdoc.fleet.summary import Summary
from hrmdoc.record.records import FloatArray

FEWEST = 6
"""Runs of which something can be said."""
FEWEST_OF_A_KIND = 2
MOST_CUTS = 64
MOST_TOLD = 10
LEVEL = 0.05
Bools = NDArray[np.bool_]


class Separation(Struct, frozen=True):
    """A cut through the settings, and how many runs on either side of it are sick.

    Attributes:
        cut: as a person says it, `lr >= 0.003`.
        alike: cuts through other settings that part the runs in the same way.
        p: of Fisher's exact test, two-sided, times the number of cuts that were `tried`.
        folder: where the runs lie; empty for all that were named.
    """

    cut: str
    alike: tuple[str, ...]
    sick: int
    of: int
    others_sick: int
    others: int
    p: float
    tried: int
    folder: str = ""

    @property
    def said(self) -> str:
        """In one line."""
        also = f" (or {', '.join(self.alike[:3])}: the runs do not say which)" if self.alike else ""
        return (
            f"{self.cut}{also}: {self.sick} of {self.of} sick, else {self.others_sick} of {self.others} "
            f"(p = {self.p:.2g} after {self.tried:,} cuts)"
        )


def separations(runs: Iterable[Summary]) -> list[Separation]:
    """What separates sick from healthy runs, of all together and of each folder that holds enough; the surest
    first. Runs without a verdict do not count."""
    judged = [run for run in runs if run.verdict in ("critical", "warning", "info", "healthy")]
    families = {"": judged, **_by_folder(judged)}
    cuts = [(folder, _cuts(members), members) for folder, members in families.items() if _worth(members)]
    tried = sum(len(found) for _, found, _ in cuts)
    best = [one for folder, found, members in cuts for one in _separations_of(folder, found, members, tried)]
    return sorted(best, key=lambda one: (one.p, -one.of, one.cut))[:MOST_TOLD]


def _by_folder(runs: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Runs side by side, such as the trials of a sweep; nothing where all lie in one folder."""
    found: dict[str, list[Summary]] = defaultdict(list)
    for run in runs:
        found[run.path.replace("\\", "/").rpartition("/")[0]].append(run)
    return dict(found) if len(found) > 1 else {}


def _worth(runs: Sequence[Summary]) -> bool:
    sick = sum(run.sick for run in runs)
    return len(runs) >= FEWEST and FEWEST_OF_A_KIND <= sick <= len(runs) - FEWEST_OF_A_KIND


def _cuts(runs: Sequence[Summary]) -> dict[bytes, list[tuple[str, str, Bools, Bools]]]:
    """Every cut: those that part the runs alike together, each as its setting, its words, the runs that have
    the setting, and those that are on its side."""
    found: dict[bytes, list[tuple[str, str, Bools, Bools]]] = defaultdict(list)
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    for key in keys:
        values = [run.settings.get(key) for run in runs]
        known = np.array([key in run.settings for run in runs])
        for words, inside in _of_setting(key, values, known):
            side = inside if inside[np.argmax(known)] else known & ~inside
            found[known.tobytes() + side.tobytes()].append((key, words, known, inside))
    return found


def _of_setting(key: str, values: Sequence[Plain], known: Bools) -> Iterator[tuple[str, Bools]]:
    """The cuts through one setting: a threshold for numbers, one value against the others for words."""
    given = [value for value, is_known in zip(values, known, strict=True) if is_known]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)
    if numeric and len(set(given)) > 2:
        yield from _thresholds(key, values, known)
        return
    counted: Mapping[Plain, int] = {value: given.count(value) for value in dict.fromkeys(given)}
    for value in sorted(counted, key=lambda one: -counted[one])[:MOST_CUTS]:
        if FEWEST_OF_A_KIND <= counted[value] <= len(given) - 1:
            yield f"{key} = {_spelt(value)}", np.array([v == value for v in values]) & known


def _thresholds(key: str, values: Sequence[Plain], known: Bools) -> Iterator[tuple[str, Bools]]:
    numbers = np.array([float(v) if isinstance(v, int | float) else np.nan for v in values])
    distinct = np.unique(numbers[known])
    places = np.unique(np.linspace(1, len(distinct) - 1, min(MOST_CUTS, len(distinct) - 1)).astype(int))
    for cut in distinct[places]:
        yield f"{key} >= {cut:g}", known & (numbers >= cut)


def _spelt(value: Plain) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _separations_of(
    folder: str,
    found: Mapping[bytes, list[tuple[str, str, Bools, Bools]]],
    runs: Sequence[Summary],
    tried: int,
) -> Iterator[Separation]:
    """The best cut through each setting that holds after the correction."""
    sick = np.array([run.sick for run in runs])
    table = _log_factorials(len(runs))
    best: dict[str, Separation] = {}
    for alike in found.values():
        key, words, known, inside = alike[0]
        counts = (int((sick & inside).sum()), int(inside.sum()), int((sick & known).sum()), int(known.sum()))
        p = min(1.0, fisher(*counts, table=table) * tried)
        if p >= LEVEL or (key in best and best[key].p <= p):
            continue
        hit, of, all_sick, total = counts
        if hit * (total - of) < (all_sick - hit) * of:  # said from the side that is sick
            same = (other[1] for other in alike[1:] if other[0] == key)  # the other of two values
            words, hit, of = next(same, _opposite(words)), all_sick - hit, total - of
        names = dict.fromkeys(other[0] for other in alike[1:] if other[0] != key)
        others = tuple(name for name in names if not _is_same(key, name, runs))
        best[key] = Separation(words, others, hit, of, all_sick - hit, total - of, p, tried, folder)
    yield from best.values()


def _is_same(key: str, other: str, runs: Sequence[Summary]) -> bool:
    """Whether two names are of one setting, as `optimizer.lr` and the `lr` of a config that it was read from:
    the values of all runs are the same, and so are their names or more than two values."""
    pairs = {(run.settings.get(key), run.settings.get(other)) for run in runs}
    named = key.rpartition(".")[2] == other.rpartition(".")[2]
    return all(one == two for one, two in pairs) and (named or len(pairs) > 2)


def _opposite(words: str) -> str:
    return words.replace(" >= ", " < ", 1) if " >= " in words else words.replace(" = ", " is not ", 1)


def _log_factorials(most: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])


def fisher(hit: int, of: int, marked: int, total: int, *, table: FloatArray | None = None) -> float:
    """The two-sided p value of Fisher's exact test: that of `of` drawn from `total`, of which `marked` bear
    the mark, as improbable a number of marked ones is among them as `hit`."""
    log = _log_factorials(total) if table is None else table
    low, high = max(0, of + marked - total), min(of, marked)
    k = np.arange(low, high + 1)
    logs = (
        log[marked] - log[k] - log[marked - k] + log[total - marked] - log[of - k]
        - log[total - marked - of + k] - log[total] + log[of] + log[total - of]
    )  # fmt: skip
    chosen = logs <= logs[hit - low] + 1e-7
    return float(min(1.0, np.exp(logs[chosen]).sum()))
