"""Finds the pieces of a block that may hold anything, before a line of Python looks at them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.log.lines.frameworks import FRAMEWORKS
from hrmdoc.text.literals import Literals

METRIC, BAR, TROUBLE, MOMENT, FACT, FRAMEWORK, CONFIG, WANTED = 1, 2, 4, 8, 16, 32, 64, 128
"""What a piece may hold; a piece of text is `WANTED` when a signature asks for a string in it. Case matters
to these alone."""
ANYTHING = 255
OUTLINE = bytes.maketrans(b"123456789\r", b"000000000\n")


def _words(*lines: str) -> list[str]:
    """The words of some lines."""
    return [word for line in lines for word in line.split()]


_WORDS: dict[int, tuple[str, ...]] = {
    METRIC: (
        *_words(
            "loss acc epoch step iter update reward perplexity ppl mse mae bleu rouge learning grad",
            "auc score entropy precision recall bpb episode _rew kl= kl: f1 hella -rmse -error -auc",
            "batch= batch: psnr fid lr valid evaluat cost eprew epret ep_r r@ return dice miou val: train:",
            "test: 损失 准确率 学习率 completions/ mrr ndcg kappa hit@ hits@ hr@ p@ prec@ success elo: fpr",
            "map: map= ssim mcc winrate win_rate hit_ratio hit_rate",
        ),
        "val ",
        "train ",
        "|    ",
        "  |\n",
        "'s l",
        "'s r",
        "test ",
        "testing:",
        "training generator",
        "training discriminator",
        "training the generator",
        "training the discriminator",
        "adversarial training",
        "[test]",
        "[dev]",
        "dev set",
        "core metric",
        "sequence length",
        "kl ",
        "map ",
        "win rate",
        "hit ratio",
        "hit rate",
        "d(x)",
        "%) ",
        "% (",
        "error: ",
        "error = ",
        "error u",
        "error v",
        "  all  ",
        "learn: ",
        "\tbest: ",
        "batch ",
        "run summary:",
        " rate, ",
        " for minibatches ",
        "]\t",
        "info\t[",
        '": {\n',
        "': {\n",
        "result for ",
        " iou",
        "training |",
        "g   0.",
        "g    0.",
        "g     0.",
        "g      0.",
        "g       nan",
    ),
    BAR: (
        "%|",
        "% ━",
        "% ─",
    ),
    TROUBLE: (
        *_words(
            "traceback error exception interrupt systemexit timeout failed overflow",
        ),
        *(' file "',),
    ),
    MOMENT: (
        *_words(
            "checkpoint saving saved training restart",
        ),
        "resume ",
        "resumed ",
        "resuming ",
        "continuing training from",
        "restoring ",
        "restored ",
        "fit` stopped",
        "early stopping",
        "fold ",
        "fold:",
        "fold-",
        "fold_",
        "split ",
        "repetition ",
        "repeat ",
        "trial ",
        "run ",
        "experiment ",
        "config ",
        "configuration ",
        "combination ",
    ),
    FACT: (
        *_words(
            "max_steps total_steps batch_size param version world_size accumulation .... namespace(",
            "arguments( args( config( precision steps_per_epoch torch== vocab",
            "classes num_labels num_items n_items #items",
            "warmup weight_decay dropout max_len maxlen seed hidden gamma momentum optimizer",
            "rocm hiperror hipblas mi200 mi210 mi250 mi300 mi325 mi350 mi355 amdgpu miopen rccl gfx9 gfx1",
        ),
        "batch =",
        "initialized from ",
        "when initializing ",
        "not used in ",
        "best epoch: ",
        "best iteration",
        "best model from ",
        "training for ",
        "adam (",
        "adamw (",
        "sgd (",
        "rmsprop (",
        "adagrad (",
        "hip error",
        "hip out of memory",
        "hip gpus",
        "amd instinct",
        "amd radeon",
        "categories",
        "number of items",
        "num labels",
        "optimization steps",
        "total steps",
        "training s",
        "num examples",
        "num epochs",
        "number of epochs",
        "total epochs",
        "batch size",
        "world size",
        "using bf",
        "using float",
        "using fp16",
        "steps per epoch",
        "model size",
        " --",
        "num gpus",
        "items",
    ),
    CONFIG: (
        *_words(
            "config hyperparameters hyper-parameters arguments settings options args:",
        ),
        "hyper parameters",
    ),
}
"""In lower case. YOLO's rows are `0/9  2.1G  0.08 ...`."""

_DIGIT = re.compile(rb"[0-9]")
_TAKEN_OUT = (b"\x1b", b"\x08", b"\0")
_LONGEST_HEADING = max(map(len, ("configuration", *_WORDS[CONFIG])))
_SIGNS = 24
"""Bytes of the signs that may stand behind it: six characters."""
_IN_WORD = np.array([chr(byte).isalnum() or byte == ord("_") for byte in range(128)] + [False] * 128)


def _folded() -> dict[bytes, int]:
    """All words with the sum of their kinds."""
    kinds: dict[bytes, int] = {}
    for kind, words in (*_WORDS.items(), *((FRAMEWORK, (word,)) for word, _, _ in FRAMEWORKS)):
        for word in words:
            kinds[word.encode()] = kinds.get(word.encode(), 0) | kind
    return kinds


_FOLDED = _folded()


class Scanner:
    """Looks for the words of all kinds and for what signatures ask for, in one pass where the two can be
    joined.

    Args:
        wanted: see `Context.wanted`.
    """

    def __init__(self, wanted: Callable[[bytes], Iterable[int]]) -> None:
        joined = isinstance(wanted, Literals)
        words = wanted.words if joined else ()  # type: ignore[attr-defined]
        self._literals = _joined(words)
        self._numbered, self._numbered_kinds = _numbered(words)
        self._others = None if joined else wanted
        self._kinds, self._lettered = _kinds_of(self._literals.words)

    def kinds(self, data: bytes, ends: NDArray[np.int64]) -> NDArray[np.uint8]:
        """What each piece may hold, as a sum of the kinds above, shape [pieces]; but for `asked`.

        Args:
            data: the pieces.
            ends: where they end, in order.
        """
        return self._found(data, ends, self._kinds)

    def lettered(self, data: bytes, ends: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The same by the words without digits alone: all lines of an outline hold those that one holds."""
        return self._found(data, ends, self._lettered)

    def numbered(self, data: bytes, ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The pieces that hold words with digits, and what those are, each of shape [words found]."""
        numbers, places = self._numbered.find(data)
        return np.searchsorted(ends, places), self._numbered_kinds[numbers]

    def _found(self, data: bytes, ends: NDArray[np.int64], by_number: NDArray[np.uint8]) -> NDArray[np.uint8]:
        kinds = np.zeros(len(ends), np.uint8)
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
        numbers, places = self._literals.find(data)
        rows, found = np.searchsorted(ends, places), by_number[numbers]
        headings = np.flatnonzero(found == CONFIG)
        if len(headings):
            here = rows[headings]
            found[headings[~_closes(data, places[headings], ends[here])]] = 0
        np.bitwise_or.at(kinds, rows, found)
        return kinds

    def asked(self, data: bytes, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """The pieces that a search asks for which could not be joined."""
        if self._others is None:
            return np.empty(0, np.int64)
        return np.searchsorted(ends, np.fromiter(self._others(data), np.int64))


def _closes(data: bytes, places: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether words of headings, at `places`, may close their lines, which end at `ends`; each of shape [n].

    A heading ends with its word or with few signs after it, but for codes and controls that are taken out
    later.
    """
    if any(mark in data for mark in _TAKEN_OUT):
        return np.ones(len(places), np.bool_)
    in_word = _IN_WORD[np.frombuffer(data, np.uint8)[ends - 1]]
    return ends - places <= np.where(in_word, _LONGEST_HEADING, _LONGEST_HEADING + _SIGNS)


@lru_cache(maxsize=4)
def _joined(words: tuple[bytes, ...]) -> Literals:
    """One search for all logs of a run."""
    return Literals(words, _FOLDED)


@lru_cache(maxsize=4)
def _kinds_of(words: tuple[bytes, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """What each word is, those that signatures ask for first; and the same but for words with digits."""
    kinds = np.array([WANTED] * len(words) + list(_FOLDED.values()), np.uint8)
    lettered = [_DIGIT.search(word) is None for word in (*words, *_FOLDED)]
    return kinds, np.where(lettered, kinds, np.uint8(0))


@lru_cache(maxsize=4)
def _numbered(words: tuple[bytes, ...]) -> tuple[Literals, NDArray[np.uint8]]:
    """A search for the words that hold digits alone, and what each of them is."""
    exact = [word for word in words if _DIGIT.search(word)]
    folded = [word for word in _FOLDED if _DIGIT.search(word)]
    kinds = [WANTED] * len(exact) + [_FOLDED[word] for word in folded]
    return Literals(exact, folded), np.array(kinds, np.uint8)
