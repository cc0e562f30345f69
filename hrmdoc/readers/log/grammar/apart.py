"""What the values beside each other on a line say of each other: whose split each is of, which one is the
total."""

from __future__ import annotations

import re

from msgspec.structs import replace

from hrmdoc.readers.log.grammar.plan import Measure
from hrmdoc.readers.log.grammar.words import EVALUATIONS, counter_kind, plain, quality, split_of
from hrmdoc.text import patterns

SPLIT_NAMES = frozenset({"val", "valid", "validation", "eval", "test", "dev"})
SIDES = SPLIT_NAMES | {"train", "training"}
_HEADING = patterns.lazy(r"\bloss(?:es)?: [A-Za-z]+ \Z", re.IGNORECASE)
_INITIALS = (("t", "v"), ("tr", "te"), ("tr", "va"), ("tr", "ts"))
_INITIAL = patterns.lazy(r"(?P<initial>[Tt][Rr]?|[Vv][Aa]?|[Tt][EeSs])(?:[ _./]|(?=[A-Z]))(?P<rest>\w.*)\Z")


def told_apart(measures: list[Measure], gaps: tuple[str, ...]) -> list[Measure]:
    """The measures by names that hold their split.

    `val loss: 3 acc: 4` and `train loss: 1 | acc: 2 | val loss: 3 | acc: 4`: the last acc belongs to the
    split named last. Beside a loss of no split (`loss: 1 - val_loss: 2 - acc: 3`) it stays open whose it is,
    unless the line names training, too (`loss: 1 | train f1: 2 | test f1: 3 | auc: 4`).
    A split alone after a loss, as in `loss train 1 valid 2`, is the loss of that split; not so in `Loss: 1,
    Train: 0.3, Val: 0.3`, where all three are scores. In `train 1 val 2` nothing says what they are.
    """
    split, plain_loss = "", False
    apart: list[Measure] = []
    measures = _of_the_best(_with_total(_with_initials(measures), gaps))
    scores = _are_scores([measure.name for measure in measures])
    seen: set[str] = set()
    for measure in measures:
        own, lower = split_of(measure.name), measure.name.lower()
        name = measure.name
        if own is not None:
            name = _of_split(name, own, scores, any("loss" in one for one in seen))
        elif not scores and split in EVALUATIONS and (lower in seen or (quality(name) and not plain_loss)):
            name = f"{split}_{name}"
        split = own or split
        if own == "train":
            plain_loss = False
        plain_loss = plain_loss or (own is None and "loss" in name.lower())
        seen.add(lower)
        apart.append(measure if name == measure.name else replace(measure, name=name))
    return apart


def _are_scores(names: list[str]) -> bool:
    """Whether values that only their splits name are scores: a loss of no split stands beside them."""
    return any("loss" in name.lower() for name in names) and any(plain(name) == "train" for name in names)


def _of_split(name: str, own: str, scores: bool, after_loss: bool) -> str:
    """The name of a measure that is no more than that of its split."""
    if own in EVALUATIONS and name.lower() in SPLIT_NAMES and not scores and after_loss:
        return f"{name}_loss"
    return f"{name}_score" if scores and name.lower() in SIDES else name


def _with_initials(measures: list[Measure]) -> list[Measure]:
    """`T_loss 1 | V_loss 2`, `TrLoss 1 TeLoss 2`: the same name behind both initials is of training and of
    evaluation."""
    found = [_INITIAL.match(measure.name) for measure in measures]
    by_initial: dict[str, set[str]] = {}
    for one in found:
        if one is not None:
            by_initial.setdefault(one["initial"].lower(), set()).add(plain(one["rest"]))
    for ours, theirs in _INITIALS:
        pairs = by_initial.get(ours, set()) & by_initial.get(theirs, set())
        split = "test" if theirs in ("te", "ts") else "val"
        for index, one in enumerate(found):
            if one is not None and one["initial"].lower() in (ours, theirs) and plain(one["rest"]) in pairs:
                name = f"{'train' if one['initial'].lower() == ours else split}_{one['rest']}"
                measures = [*measures[:index], replace(measures[index], name=name), *measures[index + 1 :]]
    return measures


def _of_the_best(measures: list[Measure]) -> list[Measure]:
    """`Best Epoch 6  Acc: 0.89`: what stands behind the place of the best is the best, and no point of a
    curve."""
    words = plain(measures[0].name).split(" ") if measures else [""]
    if words[0] != "best" or counter_kind(words[-1]) is None:
        return measures
    return [
        one if "best" in plain(one.name).split(" ") else replace(one, name=f"best_{one.name}")
        for one in measures
    ]


def _with_total(measures: list[Measure], gaps: tuple[str, ...]) -> list[Measure]:
    """`loss: x 27.0, y 28.6, conf 2786.2, total 2841.8`: the total of what stands under the heading is the
    loss."""
    heading = next((at for at, gap in enumerate(gaps) if _HEADING.search(gap)), len(gaps))
    return [
        replace(measure, name="total_loss")
        if measure.at > heading and plain(measure.name) == "total"
        else measure
        for measure in measures
    ]
