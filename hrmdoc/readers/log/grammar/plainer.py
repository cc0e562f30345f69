"""Lines whose numbers do not stand behind their names are written anew, so that the general reader
understands them."""

from __future__ import annotations

import re
from collections.abc import Callable

from hrmdoc.readers.log.grammar.nameless import outputs, voice
from hrmdoc.readers.log.grammar.words import counter_kind, is_result
from hrmdoc.text import patterns

_DOTTED = patterns.lazy(r"\b([Ee]poch|[Ss]tep|[Ii]ter)\.(?=\d{1,9}\b(?!\.))")
_ETA = patterns.lazy(r",eta=[^\]]{0,40}(?=\])")
_GROUP = patterns.lazy(r" \(group (\d+)\)")
_ESPNET = patterns.lazy(r"(\d{1,6})epoch:(train|valid):\d{1,9}-(\d{1,9})batch: ")
_KALDI = patterns.lazy(
    r"Average objective function for '([\w.-]{1,40})' for minibatches \d{1,9}-(\d{1,9})"
    r" is ([-+.\deE]{1,24}|-?nan) "
)
_TUPLE = patterns.lazy(
    r"\((?:(?:'[^']{0,80}'|-?[\d.]{1,24}(?:e[-+]?\d{1,3})?|nan|-?inf)"
    r"(?:, |,?(?=\)\s{0,8}\Z))){2,40}\)\s{0,8}\Z"
)
_AVERAGES = patterns.lazy(r", tot_loss\[[^\]]{0,2000}\]")
_EVALUATION = patterns.lazy(
    r"\W{0,8}(?:test|val|valid|validation|eval|evaluation)\b[^\[\d]{0,20}\[", re.IGNORECASE
)
_WITH_AVERAGE = patterns.lazy(
    r"(?<![\w.(])[-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,3})?\s{1,2}\(\s{0,8}([-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,3})?|nan|inf)\)"
)
_RESULT = patterns.lazy(
    r"\s{0,8}│\s{1,60}((?:test|val)[\w/@.-]{0,60})\s{1,60}│\s{1,60}([-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,3})?|nan|inf)\s{1,60}│\s{0,8}\Z"
)
_DARTS = patterns.lazy(
    r"(train|valid|test) (\d{3,7}) (\d\.\d{6}e[-+]\d\d) (\d{1,3}\.\d{6}) (\d{1,3}\.\d{6})\s{0,8}\Z"
)
_NAMED = patterns.lazy(
    r"\s{0,8}(?:key|metric|name|tag): {0,4}([\w./-]{1,80}), {0,4}value: {0,4}", re.IGNORECASE
)
_REDUCED = patterns.lazy(
    r"(Epoch\s{1,8}\d{1,9}: )(?:ReduceLROnPlateau )?reducing learning rate(?: of group (\d{1,3}))? to "
)
_NET_OUTPUT = patterns.lazy(
    r"\s{0,12}(Train|Test) net output #\d{1,3}: ([\w./@-]{1,80}) = ([-+.\w]{1,24})"
    r"( \(\* [^)]{1,80}\))?\s{0,8}\Z"
)
_SOLVED = patterns.lazy(r"\W{0,8}[A-Z]\w{2,20} solved in \d{1,9} episodes?\W{1,8}(?=[A-Z])")
_SIDED = patterns.lazy(
    r"(?:(?P<name>[A-Za-z][\w@/.+-]{0,40}(?: [A-Za-z][\w@/.+-]{0,40}){0,2})[ :=]{1,3}|(?<=[,;/|]) {0,2})"
    r"(?P<value>[-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,3})?%?|nan|-?inf) \((?P<side>train|dev|val|valid|test)\)"
)
_ELEMENTS = r"(?:[-+]?(?:\d[\d.]{0,24}|\.\d{1,24})(?:e[-+]?\d{1,3})?|nan|-?inf)"
_VECTOR = patterns.lazy(
    rf"\[\s{{0,8}}({_ELEMENTS}(?:(?:,\s{{0,8}}|\s{{1,8}}){_ELEMENTS}){{1,400}}),?\s{{0,8}}\]"
)
_LAST_NAME = patterns.lazy(r"[A-Za-z][\w@.-]{0,40}(?: [A-Za-z][\w@.-]{0,40}){0,3}(?=\s{0,4}[:=]?\s{0,4}\Z)")
_ENGLISH = {
    "当前": " ",
    "训练": " train ",
    "验证": " val ",
    "测试": " test ",
    "平均": " mean ",
    "总": " total ",
    "损失": " loss",
    "准确率": " accuracy",
    "学习率": " lr",
    "步": " step",
    "奖励": " reward",
    "值": "",
    "：": ": ",
    "，": ", ",
}
_CHINESE = patterns.lazy("|".join(_ENGLISH))
_ROUND = patterns.lazy(r"第? {0,4}(\d{1,7})(?:/\d{1,7})? {0,4}(?:轮|个?周期|个?epoch)")
_ELEMENT = patterns.lazy(r"'([^']{0,80})'|([^,'()\s]{1,30})")
_WINDOW = patterns.lazy(
    r"(?<=[a-zA-Z]) \((?:the )?(?:last|past|previous) \d{1,7}(?: [a-z]{1,12})?\)(?=\s{0,4}[:=])"
)
_WITH_BEST = patterns.lazy(
    r"\s{0,8}# ([\w/@.-]{1,40}: {0,4}[-+.\w]{1,24})(?:\s{1,8}Best: [-+.\w]{1,24} @ \d{1,12} iter)?\s{0,8}\Z"
)
_CLASS = patterns.lazy(
    r"\s{0,40}\S{1,60}: precision: {1,4}[\d.]{1,9}%; recall: {1,4}[\d.]{1,9}%; "
    r"FB1: {1,4}[\d.]{1,9} {1,12}\d{1,12}\s{0,8}\Z"
)
_AT_EPOCH = patterns.lazy(r"\A(\s{0,8}[A-Za-z]{3,10}): ?(?=\d{1,9} ?@ ?epoch ?:)", re.IGNORECASE)
_GLUED = patterns.lazy(r"(?<=\] )(loss|acc)(?=\d{1,6}\.\d)")


def plainer(text: str) -> str:
    """The line as the general reader understands it; most lines as they are."""
    for mark, rewritten in _FORMS:
        if mark in text:
            text = rewritten(text)
    return text


def kept_of(text: str) -> list[tuple[int, int]] | None:
    """Which parts of a line `plainer` leaves, where it leaves some as they are and nothing else; None where
    it writes others."""
    parts, at = [], 0
    if " (" in text and _EVALUATION.match(text):
        for found in _WITH_AVERAGE.finditer(text):
            parts += [(at, found.start()), found.span(1)]
            at = found.end()
    parts.append((at, len(text)))
    return parts if "".join([text[start:end] for start, end in parts]) == plainer(text) else None


def _espnet(text: str) -> str:
    """ESPnet's `3epoch:train:101-200batch: loss=1.0` gives the epoch first, and the batches as from one to
    another."""
    return _ESPNET.sub(r"epoch \1, batch \3, \2: ", text, count=1)


def _kaldi(text: str) -> str:
    """Kaldi's objective is a log-probability a frame: its negative is a loss."""
    found = _KALDI.search(text)
    if found is None:
        return text
    output, batch, value = found.groups()
    turned = value[1:] if value.startswith("-") else f"-{value.removeprefix('+')}"
    return f"batch {batch}: {'' if output == 'output' else f'{output}_'}loss {turned}"


def _tuple(text: str) -> str:
    r"""`('epoch', 3, 'loss', 0.5)`, which `print` of Python 2 makes of its arguments, and `('step: ',
    '30')`."""
    if not _TUPLE.match(text):
        return text
    written = ""
    for word, number in _ELEMENT.findall(text):
        word = word.replace("\\t", " ").replace("\\n", " ").strip()
        named = bool(word) and not word.replace(".", "", 1).replace("-", "", 1).isdigit()
        written += f"{', ' if written and named else ' ' if written else ''}{word or number}"
    return written


def _estimator(text: str) -> str:
    """What an Estimator of TensorFlow saves are the results of an evaluation."""
    return text.replace("Saving dict for global step", "eval, global step", 1)


def _icefall(text: str) -> str:
    """icefall gives the batch's losses, then those averaged so far, by the same names."""
    return _AVERAGES.sub("", text)


def _averaged(text: str) -> str:
    """`Test: [9/10] Loss 1.90 (1.70)` gives the batch's loss, then the mean so far: an evaluation is a
    mean."""
    return _WITH_AVERAGE.sub(r"\1", text) if _EVALUATION.match(text) else text


def _boxed(text: str) -> str:
    """A row of the table in which Lightning shows the results of an evaluation, as rich frames it."""
    return _RESULT.sub(r"\1    \2", text)


def _darts(text: str) -> str:
    """`train 050 2.31e+00 20.5 70.1` of DARTS and what was made of it: the batch, the loss, both
    accuracies."""
    return _DARTS.sub(r"\1 batch \2: loss=\3 top1=\4 top5=\5", text)


def _reduced(text: str) -> str:
    """What the schedulers of PyTorch and Keras say that they do where a loss stands still."""

    def named(found: re.Match[str]) -> str:
        other = f"_group{found[2]}" if int(found[2] or 0) else ""
        return f"{found[1]}reduced lr{other} "

    return _REDUCED.sub(named, text)


def _mean(text: str) -> str:
    """What each of some agents, tasks or classes got, `Rewards: [-37.6 -14.3]`, counts as its mean; not
    that of `loss: [0.7, 0.5]`, of which the first is the whole where a program trains on one batch."""
    return _VECTOR.sub(lambda found: _mean_of(found, text), text)


def _mean_of(found: re.Match[str], text: str) -> str:
    name = _LAST_NAME.search(text[max(0, found.start() - 80) : found.start()])
    if name is None or not is_result(name.group()) or name.group().lower().endswith(("loss", "cost")):
        return found[0]
    try:
        values = [float(value) for value in found[1].replace(",", " ").split()]
    except ValueError:
        return found[0]
    return f"{sum(values) / len(values):.6g}"


def _named(text: str) -> str:
    """`Key: avg_train_loss, Value: 0.5` at the end of a fine-tuning of llama-recipes."""
    return _NAMED.sub(r"\1: ", text, count=1)


def _sided(text: str) -> str:
    """`loss 0.58 (train), 0.23 (dev)` says behind each value whose it is."""
    name = ""

    def written(found: re.Match[str]) -> str:
        nonlocal name
        name = found["name"] or name
        counted = not name or counter_kind(name)
        return found.group() if counted else f" {found['side']} {name} {found['value']}"

    return _SIDED.sub(written, text)


def _solved(text: str) -> str:
    """`Environment solved in 467 episodes! Average Score: 0.51` ends a training: the score stands where the
    log has come to."""
    return _SOLVED.sub("", text)


def _net_output(text: str) -> str:
    """Caffe's `Test net output #1: loss = 0.7 (* 1 = 0.7 loss)`. The loss of a training step stands on the
    line before, too."""
    found = _NET_OUTPUT.match(text)
    if found is None:
        return text
    part, name, value, weighted = found.groups()
    return "" if part == "Train" and weighted and name == "loss" else f"{part.lower()} {name} = {value}"


def _with_best(text: str) -> str:
    """`# psnr: 26.1  Best: 26.3 @ 5000 iter` of BasicSR, below `Validation Set5`."""
    found = _WITH_BEST.match(text)
    return f"val {found[1]}" if found and is_result(found[1].partition(":")[0]) else text


def _translated(text: str) -> str:
    """Names in Chinese, and the signs between them."""
    return " ".join(
        _CHINESE.sub(lambda found: _ENGLISH[found.group()], _ROUND.sub(r" epoch \1, ", text)).split()
    )


_FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("[step=", lambda text: _ETA.sub("", text)),  # OLMo-core: `[step=10/100,epoch=1,eta=1h 2m]`
    (" (group ", lambda text: _GROUP.sub(r"_group\1", text)),  # and its `optim/LR (group 0)=1e-4`
    ("poch.", lambda text: _DOTTED.sub(r"\1 ", text)),  # `Epoch.12 train loss: 0.3`
    ("tep.", lambda text: _DOTTED.sub(r"\1 ", text)),
    ("epoch:", _espnet),
    (" for minibatches ", _kaldi),
    ("Saving dict for global step", _estimator),
    ("tot_loss[", _icefall),
    (" (", _averaged),
    ("│", _boxed),
    ("e+0", _darts),
    ("e-0", _darts),
    ("alue: ", _named),
    ("[", voice),
    ("[", _mean),
    (" reducing learning rate ", _reduced),
    (" net output #", _net_output),
    (" (train)", _sided),
    (" (dev)", _sided),
    (" (val)", _sided),
    (" (valid)", _sided),
    (" (test)", _sided),
    (" solved in ", _solved),
    ("# ", _with_best),
    (
        "@ epoch",
        lambda text: _AT_EPOCH.sub(r"\1 iter ", text),
    ),  # VoxelNet's `train: 17 @ epoch:0/9 loss: 0.6`
    ("; FB1:", lambda text: _CLASS.sub("", text)),  # one class in a report of conlleval, below that of all
    ("损失", _translated),
    ("准确率", _translated),
    ("('", _tuple),
    ("last ", lambda text: _WINDOW.sub("", text)),  # `win rate (last 200): 0.3`
    ("past ", lambda text: _WINDOW.sub("", text)),
    ("] loss", lambda text: _GLUED.sub(r"\1 ", text)),  # LightGCN's `EPOCH[1/10] loss0.665-|Sample:17.3|`
    ("(shape=[], ", outputs),
)
