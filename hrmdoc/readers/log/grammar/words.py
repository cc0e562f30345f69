"""The words of training logs: what counts steps, what measures, what says that a line is about evaluation."""

from __future__ import annotations

from typing import Literal

from hrmdoc.text import patterns

CounterKind = Literal["epoch", "batch", "step", "global", "episode"]
"""`batch` restarts with every epoch, `global` and `episode` never do, `step` may do either."""
RESTARTS: dict[CounterKind, bool] = {"batch": True, "global": False, "episode": False}
"""Of the kinds of which that is known."""


def word_set(*lines: str) -> frozenset[str]:
    """The words of some lines."""
    return frozenset(word for line in lines for word in line.split())


_COUNTERS: dict[str, CounterKind] = {
    **dict.fromkeys(("epoch", "epoc", "ep", "round"), "epoch"),
    **dict.fromkeys(
        ("batch", "minibatch", "mini batch", "batch idx", "batch no", "batch num", "batch number", "i"),
        "batch",
    ),
    **dict.fromkeys(
        ("step", "steps", "iter", "iters", "it", "itr", "itn", "iteration", "iterations"), "step"
    ),
    **dict.fromkeys(
        ("global step", "global steps", "num updates", "update", "updates", "up", "optimizer step"), "global"
    ),
    **dict.fromkeys(
        ("train step", "training step", "total timesteps", "timestep", "timesteps", "num timesteps"), "global"
    ),
    **dict.fromkeys(
        ("current steps", "trainer global step", "opt step", "global iter", "gradient step"),
        "global",
    ),
    **dict.fromkeys(("rollout", "total t"), "global"),
    **dict.fromkeys(("episode", "episode num"), "episode"),
}
_BEFORE_COUNTER = word_set(
    "train training learning starting start beginning begin of at current end finished after in",
    "val valid validation test eval validate evaluation completed",
) | {"begin of", "beginning of", "end of"}

_EVALUATED = frozenset({"eval", "evaluation", "test"})
"""Stable-Baselines3 says `Eval num_timesteps=500` of what it was evaluated at."""
_TOTALS = ("total", "max_", "num_")
"""`step/total_step: 5/60` names the total as well."""

_QUALITIES = word_set(
    "loss losses nll bce mse mae rmse mape logloss elbo perplexity ppl bpb bpc bits",
    "acc accuracy accuracies acc1 acc5 acc@1 acc@5 prec@1 prec@5 top1 top5 prec precision recall",
    "f1 fb1 fscore fmeasure auc auroc iou miou dice jaccard",
    "ndcg mrr r@1 r@5 r@10",
    "map map50 bleu rouge meteor chrf wer cer psnr ssim fid r2 score error err em",
    "map50-95 lpips mrr ndcg kappa mcc kid elo winrate fpr tpr ece brier auprc mpjpe",
)
_AT = patterns.lazy(r"(?:recall|precision|prec|r|p|hits?|hr|hitrate|ndcg|mrr|map|acc|pass)@k?\d{1,4}\Z")
"""Scores of the first so many answers."""
_FIRST_ANSWERS = patterns.lazy(r" \((?:top|Top|TOP)-?\d{1,2}\)\Z")
"""`LSTM accuracy (Top-1): 59.98%`."""
_SHARES = frozenset({"success rate", "win rate", "hit rate", "hit ratio"})
"""Two words that say together what was won."""
_PHRASES = ("cross entropy", "log likelihood")
"""Two words that say together what a loss is."""
_MEASURES = _QUALITIES | word_set(
    "lr lrm grad gradient gnorm norm reward rewards rew return returns advantage kl entropy",
    "clipfrac clip margin margins logps logp ratio mfu tps skipped scale hella core cfm ebft halt exact",
)
_TIMES = word_set("time elapsed duration took")
_RESULTS = _QUALITIES | word_set("reward rewards return returns")
_EXTREMES = word_set("best lowest highest min max minimum maximum target final")
_JUNK = word_set("cuda device mps gpu rank worker pid line eta port v_num seed betas mom stacklevel") | {
    "local rank",
    "v num",
    "lr mult",
    "decay mult",
}

_SOURCES = (".py", ".cc", ".cpp", ".cu")
"""Behind the name of a file stands a line of it, as rich's handler writes at the right edge."""
EVALUATIONS = ("val", "test", "dev")
"""Splits that are not trained on."""
_SPLITS = ("val", "test", "train", "dev")
_SPLIT = patterns.lazy(r"[^a-z0-9@]+")
_SPLIT_WORDS = patterns.lazy(
    r"(?<![a-z])(?:(vali?|valid|validation|validate|validating|eval|evaluation|evaluate|evaluating"
    r"|vaild(?:ation)?|val(?:dation|idaton|idaiton|lidation)|all(?=\.[a-z])|cv(?= batch))"
    r"|(test|testing)|(train|training)|(dev))(?![a-z])"
)


def plain(name: str) -> str:
    """Lower case, words parted by single spaces, marks of the split dropped: `Epoch(train)` is `epoch`."""
    lower = name.lower().replace("(train)", "").replace("(val)", "").replace("(test)", "")
    return " ".join(part for part in _SPLIT.split(lower) if part)


def counter_kind(name: str) -> CounterKind | None:
    """Which counter a name is, None when it is none."""
    of, _, total = name.rpartition("/")
    words = plain(of if of and total.startswith(_TOTALS) else name)
    kind = _COUNTERS.get(words)
    if kind is not None:
        return kind
    head, _, last = words.rpartition(" ")
    if (
        head
        and last in _COUNTERS
        and (head in _BEFORE_COUNTER or head.rpartition(" ")[2] in ("at", "after", "training"))
    ):
        return _COUNTERS[last]
    first, _, rest = words.partition(" ")
    return _COUNTERS.get(rest) if first in _EVALUATED and rest.endswith("timesteps") else None


def measures(name: str) -> bool:
    """Whether a name holds a word that training logs use for a measure."""
    words = plain(name).split(" ")
    return any(
        word in _MEASURES or word.endswith(("loss", "acc", "accuracy", "entropy")) or _AT.match(word)
        for word in words
    ) or (
        (words[-1] == "cost" and (len(words) == 1 or split_of(words[0]) is not None))
        or " ".join(words[-2:]) in _SHARES
        or words[-2:] in (["step", "time"], ["ep", "r"], ["episode", "length"], ["ep", "len"])
        or "learning rate" in " ".join(words)
    )


def is_time(name: str) -> bool:
    """Whether a name says how long something took: `Epoch Time`, `elapsed`."""
    return plain(name).rpartition(" ")[2] in _TIMES


def is_total(name: str) -> bool:
    """Whether a name says no more than that a value is a sum, as that of the terms of a loss beside it is."""
    return plain(name) in ("total", "tot")


def quality(name: str) -> bool:
    """Whether a name says how well the model does, which is measured on a split, as a loss or an accuracy
    is."""
    words = plain(name).split(" ")
    shared = " ".join(words[-2:]) in _SHARES or any(_AT.match(word) for word in words)
    shared = shared or any(f" {phrase} " in f" {' '.join(words)} " for phrase in _PHRASES)
    return shared or not _QUALITIES.isdisjoint(words)


def is_result(name: str) -> bool:
    """Whether the last word of a name is what it measures: `Val Loss` and `Mean reward`, not `loss_scale`,
    nor `best_loss`."""
    words = plain(_FIRST_ANSWERS.sub("", name)).split(" ")
    known = words[-1] in _RESULTS or " ".join(words[-2:]) in _SHARES or _AT.match(words[-1]) is not None
    return (known or _of_a_field(words)) and _EXTREMES.isdisjoint(words)


def _of_a_field(words: list[str]) -> bool:
    """`Error u`: what is solved for bears a letter."""
    return len(words) == 2 and words[0] in ("error", "err") and len(words[1]) == 1


def is_junk(name: str) -> bool:
    """Names that number places, not measures."""
    words = plain(name)
    return words in _JUNK or words.endswith(" seed") or name.endswith(_SOURCES)


def split_of(text: str) -> str | None:
    """`val`, `test`, `train` or `dev` when a text names the split, the last one named; else None. HRM
    evaluates a set `all.`."""
    found = None
    for match in _SPLIT_WORDS.finditer(text.lower()):
        found = _SPLITS[(match.lastindex or 1) - 1]
    return found
