"""A two-layer noisy-OR belief network with exact inference over all sets of up to three causes.

Causes produce findings: `P(finding j absent | causes S) = (1 - leak_j) * prod_{i in S} (1 - w_ij)`;
beforehand, causes are independent (Shwe et al. 1991, QMR-DT; Heckerman 1990). With q = 1 - w the unnormalised
log weight of a set S is

    sum_{i in S} [logit(prior_i) + sum_{absent j} log q_ij] + sum_{present j} log(1 - (1 - leak_j) * prod_{i
    in S} q_ij)

so absent findings cost one sum a cause, and only causes that produce something present ("active" ones) need
to be enumerated. The others enter every set through the elementary symmetric polynomials of their odds, which
is exact as well.

Shapes: n causes, P present findings, A absent ones, M enumerated sets of active causes (members [M, 3],
padded with n).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LARGEST_SET = 3
NEGLIGIBLE = 30.0
"""Sets this many nats below the likeliest one (a factor of 1e-13) are left out."""
CERTAIN = 0.999
RAREST = 1e-5


class Observed(Struct, frozen=True):
    """What was found, in numbers: `prior` [n], `present` [n, P] and `absent` [n, A] hold w, `present_leak`
    [P] the leaks.

    Probabilities are kept away from 0 and 1: no frequency in a rule is known better than that.
    """

    prior: FloatArray
    present: FloatArray
    present_leak: FloatArray
    absent: FloatArray

    def __post_init__(self) -> None:
        force_setattr(self, "prior", np.clip(self.prior, RAREST, CERTAIN))
        force_setattr(self, "present", np.clip(self.present, 0.0, CERTAIN))
        force_setattr(self, "absent", np.clip(self.absent, 0.0, CERTAIN))
        force_setattr(self, "present_leak", np.clip(self.present_leak, RAREST, CERTAIN))


class Posterior(Struct, frozen=True):
    """What the findings say about the causes.

    Attributes:
        marginal: P(cause i | findings), shape [n].
        members: the enumerated sets of active causes, shape [M, 3], padded with n.
        weight: their posterior probabilities, shape [M], summing to 1 (causes that produce nothing present
            are summed out).
        empty: posterior probability that no cause at all is at work.
        truncated: upper estimate of the share that sets of more than three causes, or pruned ones, would have
            had.
    """

    marginal: FloatArray
    members: IntArray
    weight: FloatArray
    empty: float
    truncated: float

    def contains(self, causes: IntArray) -> BoolArray:
        """Which sets hold which of `causes`; shape [M, len(causes)]."""
        found: BoolArray = (self.members[:, :, None] == causes[None, None, :]).any(axis=1)
        return found

    def likeliest(self, most: int) -> IntArray:
        """Indices of the `most` likeliest sets, best first."""
        return np.argsort(-self.weight, kind="stable")[:most].astype(np.int64)


def infer(observed: Observed) -> Posterior:
    """The exact posterior over all sets of at most three causes."""
    n = len(observed.prior)
    gain = np.log(observed.prior) - np.log1p(-observed.prior) + np.log1p(-observed.absent).sum(axis=1)
    shows = (observed.present > 0).any(axis=1)
    active, idle = np.flatnonzero(shows), np.flatnonzero(~shows)
    members, log_weight, pruned = _enumerate(observed, gain, active)
    top = log_weight.max()
    raw = np.exp(log_weight - top)
    sizes = (members < n).sum(axis=1)
    odds = np.exp(gain[idle])
    polynomials = _symmetric(odds)
    whole = raw * np.cumsum(polynomials)[LARGEST_SET - sizes]
    total = whole.sum()
    marginal = np.zeros(n + 1)
    for column in range(LARGEST_SET):
        marginal += np.bincount(members[:, column], weights=whole, minlength=n + 1)
    marginal[idle] = _idle_mass(raw, sizes, odds, polynomials)
    return Posterior(
        marginal=marginal[:n] / total,
        members=members,
        weight=whole / total,
        empty=float(raw[sizes == 0].sum() / total),
        truncated=_truncated(raw, sizes, polynomials, float(np.exp(pruned - top))),
    )


def show_probability(members: IntArray, w: FloatArray, leak: FloatArray) -> FloatArray:
    """P(finding shows | set): `members` [M, 3] padded with n, `w` [n, J], `leak` [J] -> [M, J]."""
    return 1.0 - (1.0 - leak) * _missed(members, 1.0 - w)


def _missed(members: IntArray, q: FloatArray) -> FloatArray:
    """prod of q over each set's members; `q` [n, J] -> [M, J]."""
    padded = np.vstack([q, np.ones((1, q.shape[1]))])
    product: FloatArray = padded[members[:, 0]] * padded[members[:, 1]] * padded[members[:, 2]]
    return product


def _enumerate(observed: Observed, gain: FloatArray, active: IntArray) -> tuple[IntArray, FloatArray, float]:
    """All sets of active causes that are not negligible, their log weights, and the log of what the others
    hold at most."""
    n, m = len(gain), len(active)
    small = _pad(np.concatenate([np.full((1, 2), n), _column(active, n), active[_pairs(m)]]), n)
    small_weight = _log_weight(observed, gain, small)
    if m < LARGEST_SET:
        return small, small_weight, -np.inf
    pair_weight = np.full((m, m), -np.inf)
    i, j = _pairs(m).T
    pair_weight[i, j] = pair_weight[j, i] = small_weight[1 + m :]
    # One more cause multiplies a weight by at most its odds times what it adds to the findings if it stands
    # alone.
    leak = observed.present_leak
    most = gain[active] + np.log1p((1.0 - leak) / leak * observed.present[active]).sum(axis=1)
    a, b, c = _triples(m).T
    bound = np.minimum(
        np.minimum(pair_weight[a, b] + most[c], pair_weight[a, c] + most[b]), pair_weight[b, c] + most[a]
    )
    kept = bound > small_weight.max() - NEGLIGIBLE
    triples = active[_triples(m)[kept]]
    pruned = float(np.logaddexp.reduce(bound[~kept]))
    return (
        np.vstack([small, triples]),
        np.concatenate([small_weight, _log_weight(observed, gain, triples)]),
        pruned,
    )


def _log_weight(observed: Observed, gain: FloatArray, members: IntArray) -> FloatArray:
    shown = show_probability(members, observed.present, observed.present_leak)
    total: FloatArray = np.append(gain, 0.0)[members].sum(axis=1) + np.log(shown).sum(axis=1)
    return total


def _column(active: IntArray, n: int) -> IntArray:
    return np.stack([active, np.full(len(active), n)], axis=1)


def _pad(pairs: IntArray, n: int) -> IntArray:
    return np.hstack([pairs, np.full((len(pairs), 1), n)])


@lru_cache(maxsize=32)
def _pairs(m: int) -> IntArray:
    return np.stack(np.triu_indices(m, 1), axis=1).astype(np.int64)


@lru_cache(maxsize=32)
def _triples(m: int) -> IntArray:
    """All i < j < k below m, shape [m(m-1)(m-2)/6, 3]."""
    pairs = _pairs(m)
    repeats = m - 1 - pairs[:, 1]
    first = np.repeat(pairs, repeats, axis=0)
    start = np.repeat(np.cumsum(repeats) - repeats, repeats)
    third = first[:, 1] + 1 + np.arange(len(first)) - start
    return np.column_stack([first, third]).astype(np.int64)


def _symmetric(odds: FloatArray) -> FloatArray:
    """Elementary symmetric polynomials e_0..e_3 of `odds`, shape [..., n] -> [..., 4], by Newton's
    identities."""
    p1, p2, p3 = (np.power(odds, k).sum(axis=-1) for k in (1, 2, 3))
    e2 = (p1 * p1 - p2) / 2
    e3 = (p1 * p1 * p1 - 3 * p1 * p2 + 2 * p3) / 6
    return np.stack([np.ones_like(p1), p1, np.maximum(e2, 0.0), np.maximum(e3, 0.0)], axis=-1)


def _idle_mass(raw: FloatArray, sizes: IntArray, odds: FloatArray, polynomials: FloatArray) -> FloatArray:
    """Unnormalised mass of the sets that hold each idle cause, shape [len(odds)]."""
    by_size = np.bincount(sizes, weights=raw, minlength=LARGEST_SET + 1)
    without1 = polynomials[1] - odds
    without2 = polynomials[2] - odds * without1
    others = by_size[0] * (1 + without1 + without2) + by_size[1] * (1 + without1) + by_size[2]
    mass: FloatArray = odds * others
    return mass


def _truncated(raw: FloatArray, sizes: IntArray, polynomials: FloatArray, pruned: float) -> float:
    """How much may be missing. The sizes of sets of independent causes are log-concave (Newton), so W4 <=
    W3**2 / W2."""
    active = np.bincount(sizes, weights=raw)
    by_size = np.convolve(active, polynomials)[: LARGEST_SET + 1]
    beyond = by_size[3] ** 2 / by_size[2] if by_size[2] > 0 else 0.0
    missing = beyond + pruned
    return float(missing / (missing + by_size.sum()))


def leave_one_out(
    observed: Observed, posterior: Posterior, causes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How much each finding moves the log-odds of each of `causes` (active ones).

    Returns:
        For present findings, shape [P, len(causes)], and for absent ones, shape [A, len(causes)]: log-odds
        with all findings minus log-odds without that one. Positive speaks for the cause.
    """
    kept = posterior.weight > posterior.weight.max() * np.exp(-NEGLIGIBLE)
    members, weight = posterior.members[kept], posterior.weight[kept]
    holds = posterior.contains(causes)[kept].astype(np.float64)
    full = _log_odds(weight[None, :], holds)
    shown = show_probability(members, observed.present, observed.present_leak)
    for_present = full - _log_odds((weight[:, None] / shown).T, holds)
    missed = _missed(members, 1.0 - observed.absent)
    idle_share = _idle_share(observed, members)
    for_absent = full - _log_odds((weight[:, None] / missed * idle_share).T, holds)
    return for_present, for_absent


def _idle_share(observed: Observed, members: IntArray) -> FloatArray:
    """How the weight of each set changes, by its idle causes, when one absent finding is forgotten; shape [M,
    A]."""
    n = len(observed.prior)
    idle = ~(observed.present > 0).any(axis=1)
    log_q = np.log1p(-observed.absent[idle])
    gain = np.log(observed.prior[idle]) - np.log1p(-observed.prior[idle]) + log_q.sum(axis=1)
    with_all = np.cumsum(_symmetric(np.exp(gain)))
    without_one = np.cumsum(_symmetric(np.exp(gain[None, :] - log_q.T)), axis=-1)
    room = LARGEST_SET - (members < n).sum(axis=1)
    share: FloatArray = (without_one / with_all)[:, room].T
    return share


def _log_odds(weight: FloatArray, holds: FloatArray) -> FloatArray:
    """Log-odds of each cause under each weighting: `weight` [R, M], `holds` [M, H] -> [R, H]."""
    tiny = np.finfo(np.float64).tiny
    odds: FloatArray = np.log(np.maximum(weight @ holds, tiny)) - np.log(
        np.maximum(weight @ (1.0 - holds), tiny)
    )
    return odds


def benign_share(posterior: Posterior, w: FloatArray, leak: FloatArray, benign: BoolArray) -> FloatArray:
    """P(a benign cause produced the finding and no real one did | findings), for findings that show.

    Args:
        posterior: of the same causes.
        w: [n, J].
        leak: [J].
        benign: which causes are, [n].

    Returns:
        Shape [J].
    """
    by_benign = 1.0 - _missed(posterior.members, np.where(benign[:, None], 1.0 - w, 1.0))
    no_real = _missed(posterior.members, np.where(benign[:, None], 1.0, 1.0 - w))
    shown = np.maximum(show_probability(posterior.members, w, leak), RAREST)
    share: FloatArray = posterior.weight @ (by_benign * no_real / shown)
    return share


def information_gain(weight: FloatArray, answer: FloatArray) -> FloatArray:
    """Expected information in nats about which set is at work, from yes-or-no questions.

    Args:
        weight: probabilities of the sets, [M]; normalised here.
        answer: P(yes | set), [M, J].

    Returns:
        Mutual information between each answer and the set, shape [J].
    """
    weight = weight / weight.sum()
    gain: FloatArray = _entropy(weight @ answer) - weight @ _entropy(answer)
    return gain


def _entropy(p: FloatArray) -> FloatArray:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    entropy: FloatArray = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    return entropy
