"""Metric names -> roles.

A name is looked up as it is, then without the words around it that tell the part of the data (`eval/`,
`_val`), the span (`_step`, `_epoch`) or the averaging (`avg_`), then in the patterns of the frameworks, and
last by its final word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from hrmdoc.record.series import RoleGuess
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.rulebook import Framework, Rulebook

_SEPARATORS = patterns.lazy(r"[\s/._:\\|-]+")
_HUMPS = patterns.lazy(r"(?<=[a-z])(?=[A-Z][a-z])")
_GLUED = patterns.lazy(
    r"^(train|valid|val|test|dev|eval)(?=(?:loss|acc|accuracy|ppl|perplexity)$)", re.IGNORECASE
)
_UNIT = patterns.lazy(r"\s*[(\[](?:s|ms|gib|gb|mib|mb|iter/s|it/s|tok/s)[)\]]\s*$")
_EVAL = frozenset(
    {
        "eval",
        "evaluation",
        "evaluate",
        "cv",
        "val",
        "vali",
        "va",
        "valid",
        "validation",
        "validate",
        "dev",
        "heldout",
    },
)
_TEST = frozenset({"test", "testing"})
_TRAIN = frozenset({"train", "training", "trn", "tr", "learn"})
_AVERAGED = frozenset(
    {"avg", "average", "mean", "running", "smoothed", "ema", "epoch", "global", "overall", "reduced"}
)
_AROUND = frozenset(
    "final metrics metric step batch iter current logs log last history all set curve values list (%)".split()  # noqa: SIM905
)
_ONE_OF_MANY = {
    "losses": "loss",
    "accs": "acc",
    "accuracies": "accuracy",
    "perplexities": "perplexity",
    "ppls": "ppl",
    "lrs": "lr",
    "rates": "rate",
    "returns": "return",
}
"""Lists that a program fills epoch by epoch are often named in the plural."""
_GROUPS = frozenset(
    {"perf", "performance", "optim", "optimizer", "opt", "system", "sys", "timing", "speed", "debug", "stats"}
)
"""First words that sort metrics into groups and say nothing else."""
_NO_CURVE = frozenset(
    {
        "best",
        "min",
        "max",
        "std",
        "var",
        "lowest",
        "highest",
        "patience",
        "delta",
        "improvement",
        "target",
        "previous",
    }
)
_PART_OF_LOSS = frozenset(
    """
    kl aux auxiliary z balance balancing load reg regularization penalty l1 l2 commit commitment vq disc
    discriminator gen generator g d adv adversarial gan contrastive entropy value vf policy pg critic actor
    router moe distill teacher distillation weight ortho orthogonal sparsity smooth consistency perceptual
    lpips style content cycle identity box cls dfl obj objectness rpn mask bbox giou iou seg pose kobj dice
    boundary temporal spatial physics halt continue ponder codebook diversity alignment cfm sft chosen
    rejected mtp
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
_LAST_WORD = {
    "loss": "train.loss",
    "nll": "train.loss",
    "nloglik": "train.loss",
    "crossentropy": "train.loss",
    "acc": "train.accuracy",
    "accuracy": "train.accuracy",
    "perplexity": "perplexity",
    "ppl": "perplexity",
    "reward": "rl.reward",
    "rewards": "rl.reward",
    "return": "rl.reward",
    "gradnorm": "grad_norm",
    "lr": "lr",
}
_AT = patterns.lazy(r"^(?:recall|precision|prec|hits?|hr|ndcg|mrr|map)@k?\d{0,4}$")
"""Scores of the first so many answers, which say nothing else by themselves: a precision alone is traded for
recall."""
_ERRORS = frozenset({"error", "err"})
_EVAL_ROLES = {"perplexity": "eval.perplexity"}


def normalised(name: str) -> str:
    """`name` in lower case, its separators as underscores, without a unit in brackets."""
    return _SEPARATORS.sub("_", _UNIT.sub("", name.strip().lower())).strip("_")


def _parted(metric: str) -> str:
    """`TrainLoss` and `valacc` with a separator between their words; other names as they are."""
    return _GLUED.sub(r"\1_", _HUMPS.sub("_", metric))


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
        self._exact, self._patterns = _tables(book.frameworks.values())
        self._frameworks = book.frameworks
        self._here: dict[str, RoleGuess] = {}
        self._seen: dict[str, RoleGuess] = {}

    def __call__(self, metric: str) -> RoleGuess:
        """The role of a metric, from memory where it was asked for before."""
        known = self._seen.get(metric)
        if known is None:
            known = self._seen[metric] = self._stated(metric) or self._look_up(metric)
        return known

    def settle(self, framework: str, metrics: Collection[str] = ()) -> bool:
        """Takes in which framework wrote the run and which metrics it has; says whether names mean something
        else than before.

        A role that the user gave to a metric is taken from all others once the run has that metric: a name
        that is absent must not leave the role without any.
        """
        known = self._frameworks.get(framework)
        here = {normalised(name): _guess(role) for name, role in known.own_metrics.items()} if known else {}
        taken = frozenset(role for metric, role in self._own.items() if role and metric in metrics)
        if here == self._here and taken == self._taken:
            return False
        self._here, self._taken, self._seen = here, taken, {}
        return True

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
        words = [word for word in name.split("_") if word]
        if (
            len(words) > 1
            and words[0] in _EVAL | _TRAIN
            and (whole := self._exact.get("_".join(words[1:])))
            and whole.role
        ):
            role = whole.role if words[0] in _TRAIN else evaluated(whole.role)
            if role:
                return RoleGuess(role, whole.guessed)
        if len(words) > 1 and words[0] in _GROUPS and (whole := self._exact.get("_".join(words[1:]))):
            return whole
        part, rest, averaged = _stripped(words)
        rest = [_ONE_OF_MANY.get(word, word) for word in rest]
        found = self._in_part(part, rest, averaged) if rest else RoleGuess(None)
        parted = _parted(metric) if found.role is None else metric
        return found if parted == metric else self._known(parted)

    def _in_part(self, part: str, words: list[str], averaged: bool) -> RoleGuess:
        """The role of the words that remain, on the part of the data that the others told."""
        found = self._exact.get("_".join(words)) or self._exact.get("".join(words)) or _by_last_word(words)
        if found is None and part in ("eval", "test") and words[-1] in _ERRORS and not set(words) & _NO_CURVE:
            return RoleGuess("eval.error", guessed=True)
        if found is None and "@" in words[-1] and _AT.match(words[-1]):
            found = RoleGuess("train.score", guessed=True)
        if found is None or found.role is None:
            return RoleGuess(None)
        role = found.role if part in ("", "train") else evaluated(found.role)
        return RoleGuess(role, found.guessed or averaged or part == "test") if role else RoleGuess(None)


def settle(run: Run, framework: str) -> None:
    """Gives the metrics of `run` the roles that their names have in runs of `framework`, unless the user said
    otherwise."""
    if isinstance(run.role_of, RoleMap) and run.role_of.settle(framework, run.metrics):
        for series in run.series.values():
            series.role = run.role_of(series.key.metric)
        run.version += 1


def _guess(role: str) -> RoleGuess:
    """A role as rules write it."""
    return RoleGuess(None if role == "none" else role.removesuffix("?"), role.endswith("?"))


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


def _stripped(words: list[str]) -> tuple[str, list[str], bool]:
    """The part of the data, the words that name the metric, and whether it is an average beside a finer
    curve."""
    part, averaged = "", False
    rest: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if word.isdigit() and before in _EVAL:  # the second of several evaluation sets
            averaged = True
        elif word in _EVAL and not part:
            part = "eval"
        elif word in _TEST and not part:
            part = "test"
        elif word in _TRAIN and not part:
            part = "train"
        elif word in _AVERAGED:
            averaged = True
        elif word not in _AROUND:
            rest.append(word)
    return part, rest, averaged


def _by_last_word(words: list[str]) -> RoleGuess | None:
    """A guess: `my_model_loss` is a loss, `kl_loss` only a part of one, `best_loss` no curve at all."""
    role = _LAST_WORD.get(words[-1])
    before = set(words[:-1])
    if (
        role is None
        or before & _NO_CURVE
        or (role == "train.loss" and before & _PART_OF_LOSS)
        or len(words) > 6
    ):
        return None
    return RoleGuess(role, guessed=True)
