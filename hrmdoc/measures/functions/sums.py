"""What arithmetic says of a loss that is logged beside its terms: with which weight each counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

FEWEST = 12
"""Points from which weights are believed."""
MOST_TERMS = 6
EXACT = 2e-3
"""Share of the loss by which a sum of printed terms may miss it: they are rounded."""
FAMILIES = frozenset({"loss", "divergence", "error", ""})
"""Of what may be a term; one of no family is known as one by the sum alone."""
RESTRAINTS = frozenset(
    {
        "reg",
        "regularization",
        "penalty",
        "l1",
        "l2",
        "wd",
        "aux",
        "balance",
        "commit",
        "commitment",
        "ent",
        "entropy",
    }
)
"""Words of terms that are not to fall."""
LITTLE = 0.02
DWARFS = 0.98
STANDS = 0.9
STARVES = 0.4
SOLVED = 1 / 300
"""Share of its first value below which a term has nothing left to teach."""


@function("run", roles=0)
def term_left_out(run: Run) -> Series | None:
    """A term that is logged beside the loss, grows to the size of it and is no part of it: the loss is the
    sum of the others alone."""
    for whole, terms in _sums(run):
        weights = _weights(whole, terms)
        if weights is None:
            continue
        for term, weight in zip(terms, weights, strict=True):
            sizes = np.abs(term.values)
            grown = _late(sizes) > 10.0 * max(_early(sizes), 1e-9) and _late(sizes) > 0.5 * _late(
                whole.values
            )
            if abs(weight) < LITTLE and grown and term.nature.family:
                return term
    return None


@function("run", roles=0)
def term_dwarfed(run: Run) -> Series | None:
    """A term that stands where it began, while another one that makes up all but a fiftieth of the loss from
    first to last falls: what is learned is learned for that one."""
    for whole, terms in _sums(run):
        weights = _weights(whole, terms)
        if weights is None:
            continue
        shares = [
            middle(weight * term.values / whole.values) for term, weight in zip(terms, weights, strict=True)
        ]
        large = int(np.argmax(shares))
        if shares[large] < DWARFS or _late(terms[large].values) > STANDS * _early(terms[large].values):
            continue
        for at, term in enumerate(terms):
            stands = _late(term.values) > STANDS * _early(term.values) > 0
            if at != large and stands and weights[at] > LITTLE and term.nature.family != "divergence":
                return term
    return None


@function("run", roles=0)
def term_stands(run: Run) -> Series | None:
    """A term that stands where it began, to the end of the run, while the others fall and it has come to be
    most of the loss: what it asks for is not learned."""
    for whole, terms in _sums(run):
        weights = _weights(whole, terms) if len(whole) >= 2 * FEWEST else None
        if weights is None:
            continue
        for term, weight in zip(terms, weights, strict=True):
            share = weight * _late(term.values) / _late(whole.values)
            stands = min(_late(term.values), term.values[-1]) > STANDS * _early(term.values) > 0
            if stands and share > 0.5 and not _restrains(term) and _early(whole.values) > 0.05:
                return term
    return None


@function("run", roles=0)
def term_starved(run: Run) -> Series | None:
    """A term that is still at two fifths of its first value at the end, while another one fell to less than
    a three-hundredth of its own and what is left of the loss is nearly all the first: the easy one alone was
    learned."""
    for whole, terms in _sums(run):
        weights = _weights(whole, terms)
        if weights is None or any(_late(term.values) <= 0 for term in terms):
            continue
        solved = [_late(term.values) < SOLVED * term.values[0] for term in terms]
        for term, weight in zip(terms, weights, strict=True):
            left = min(_late(term.values), term.values[-1]) / term.values[0]
            rest = weight * _late(term.values) > STANDS * _late(whole.values)
            if STARVES < left < 1.0 and rest and any(solved) and not _restrains(term):
                return term
    return None


def _restrains(term: Series) -> bool:
    """Whether a term is not to fall."""
    return term.nature.family == "divergence" or not RESTRAINTS.isdisjoint(term.nature.words)


def _sums(run: Run) -> Iterator[tuple[Series, list[Series]]]:
    """A loss and what is logged beside it at the same steps by the same source."""
    whole = run.best("train.loss")
    if (
        whole is None
        or len(whole) < FEWEST
        or not np.isfinite(whole.values).all()
        or (whole.values <= 0).any()
    ):
        return
    beside = [
        series
        for series in run.series.values()
        if series is not whole
        and series.key.source == whole.key.source
        and series.nature.family in FAMILIES
        and not str(series.role.role).startswith("eval.")
        and len(series) == len(whole)
        and np.array_equal(series.steps, whole.steps)
        and np.isfinite(series.values).all()
    ]
    if 2 <= len(beside) <= MOST_TERMS:
        yield whole, beside


def _weights(whole: Series, terms: list[Series]) -> FloatArray | None:
    """The weights of the terms, [terms]; None where no weighted sum of them is the loss at every point, or
    where more than one is."""
    table = np.stack([term.values for term in terms], axis=1)
    scale = np.abs(table).max(axis=0)
    if (scale == 0).any():
        return None
    found, _, rank, _ = np.linalg.lstsq(table / scale, whole.values, rcond=1e-6)
    if rank < len(terms):
        return None
    missed = np.abs(table @ (found / scale) - whole.values)
    weights: FloatArray = found / scale
    return weights if (missed <= EXACT * whole.values).all() else None


def _early(values: FloatArray) -> float:
    return middle(values[: max(3, len(values) // 12)])


def _late(values: FloatArray) -> float:
    return middle(values[-max(3, len(values) // 4) :])
