"""How the name of a metric is taken apart: part of the data, span, averaging, and the words that remain."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hrmdoc.record.series import RoleGuess
from hrmdoc.text import patterns

_SEPARATORS = patterns.lazy(r"[\s/._:\\|-]+")
_HUMPS = patterns.lazy(r"(?<=[a-z])(?=[A-Z][a-z])")
_GLUED = patterns.lazy(
    r"^(train|valid|val|test|dev|eval)(?=(?:loss|acc|accuracy|ppl|perplexity)$)", re.IGNORECASE
)
_UNIT = patterns.lazy(r"\s*[(\[](?:s|ms|gib|gb|mib|mb|iter/s|it/s|tok/s|top-?1)[)\]]\s*$")
EVAL = frozenset(
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
        "vaild",
        "vaildation",
        "valdation",
        "validaiton",
        "validaton",
        "vallidation",
    },
)
_TEST = frozenset({"test", "testing"})
TRAIN = frozenset({"train", "training", "trn", "tr", "learn"})
_AVERAGED = frozenset(
    {"avg", "average", "mean", "running", "smoothed", "ema", "epoch", "global", "overall", "reduced"}
)
_AROUND = frozenset(
    "final metrics metric step batch iter current logs log last history all set curve values list (%)".split()  # noqa: SIM905
)
ONE_OF_MANY = {
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
GROUPS = frozenset(
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
        "initial",
        "baseline",
        "chance",
        "majority",
    }
)
_OF_TWO_NETS = frozenset(
    {"d", "g", "dis", "disc", "discriminator", "generator", "real", "fake", "critic", "netd", "netg"}
)
"""Words of accuracies that are to fall to one half where a GAN goes well."""
_PART_OF_LOSS = frozenset(
    """
    kl kld kldiv wgan lsgan netd netg
    aux auxiliary z balance balancing load reg regularization penalty l1 l2 commit commitment vq disc dis
    gail curiosity alpha temperature ent
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
_AT = patterns.lazy(r"^(?:recall|precision|prec|r|p|hits?|hr|ndcg|mrr|map)@k?\d{0,4}$")
"""Scores of the first so many answers, which say nothing else by themselves: a precision alone is traded for
recall."""
_ERRORS = frozenset({"error", "err"})


def normalised(name: str) -> str:
    """`name` in lower case, its separators as underscores, without a unit in brackets."""
    return _SEPARATORS.sub("_", _UNIT.sub("", name.strip().lower())).strip("_")


def parted(metric: str) -> str:
    """`TrainLoss` and `valacc` with a separator between their words; other names as they are."""
    return _GLUED.sub(r"\1_", _HUMPS.sub("_", metric))


def of_both_sides(names: Iterable[str]) -> dict[str, str]:
    """Those of `names` that are no more than a part of the data, `train` and `val`, each with the part; none
    where they are of one part alone."""
    found = {}
    for name in names:
        word = normalised(name)
        if word in TRAIN:
            found[name] = "train"
        elif word in EVAL or word in _TEST:
            found[name] = "eval"
    return found if len({*found.values()}) > 1 else {}


def totals_of(names: Iterable[str]) -> dict[str, str]:
    """Those of `names` that are no more than a total, of which the terms stand beside it, each with its part
    of the data."""
    found = {}
    for name in names:
        part, rest, _ = stripped(normalised(name).split("_"))
        if rest in (["total"], ["tot"]):
            found[name] = "eval" if part in ("eval", "test") else "train"
    return found


def stripped(words: list[str]) -> tuple[str, list[str], bool]:
    """The part of the data, the words that name the metric, and whether it is an average beside a finer
    curve."""
    part, averaged = "", False
    rest: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if word.isdigit() and before in EVAL:  # the second of several evaluation sets
            averaged = True
        elif word in EVAL and part in ("", "eval"):
            part = "eval"
        elif word in _TEST and not part:
            part = "test"
        elif word in TRAIN and not part:
            part = "train"
        elif word in _AVERAGED:
            averaged = True
        elif word not in _AROUND:
            rest.append(word)
    return part, rest, averaged


def of_each(words: list[str]) -> list[str]:
    """The words without `per event`, which says of what each one is meant."""
    at = words.index("per") if "per" in words[1:-1] else len(words)
    return words[:at] + words[at + 2 :]


def by_last_word(words: list[str]) -> RoleGuess | None:
    """A guess: `my_model_loss` is a loss, `kl_loss` only a part of one, `best_loss` no curve at all."""
    role = _LAST_WORD.get(words[-1])
    before = set(words[:-1])
    if (
        role is None
        or before & _NO_CURVE
        or (role == "train.loss" and before & _PART_OF_LOSS)
        or (role == "train.accuracy" and before & _OF_TWO_NETS)
        or len(words) > 6
    ):
        return None
    return RoleGuess(role, guessed=True)


def by_form(part: str, words: list[str]) -> RoleGuess | None:
    """A guess for an error rate on held-out data, and for scores such as `recall@5`: what is found among the
    first so many is asked of held-out data where nothing else is said, but for a precision, which ImageNet's
    programs print of each batch."""
    last = words[-1]
    if part in ("eval", "test") and last in _ERRORS and not set(words) & _NO_CURVE:
        return RoleGuess("eval.error", guessed=True)
    if "@" not in last or not _AT.match(last):
        return None
    return RoleGuess("train.score" if part or last.startswith("p") else "eval.score", guessed=True)
