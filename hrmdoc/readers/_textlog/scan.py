"""Finds the pieces of a block that may hold anything, before a line of Python looks at them."""

from __future__ import annotations

from functools import cache

import ahocorasick_rs
import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers._textlog.facts import FRAMEWORKS

METRIC, BAR, TROUBLE, MOMENT, FACT, FRAMEWORK, CONFIG = 1, 2, 4, 8, 16, 32, 64

_WORDS: tuple[tuple[int, str], ...] = (
    (
        METRIC,
        "loss acc epoch step iter update reward perplexity ppl mse mae bleu rouge lr learning grad auc score entropy precision recall "
        "bpb episode _rew kl= kl: f1 val  train -rmse -error -auc |\x20\x20\x20\x20 batch= batch: psnr fid",
    ),
    (BAR, "%|"),
    (TROUBLE, 'traceback error exception interrupt systemexit timeout file\x20" failed overflow!'),
    (MOMENT, "resum continuing checkpoint ckpt restor saving saved training fit`\x20stopped restart early\x20stopping"),
    (
        FACT,
        "optimization\x20steps total\x20steps training\x20steps max_steps num\x20examples num\x20epochs batch\x20size param version world\x20size num\x20gpus "
        "accumulation .... namespace( arguments( config( precision using\x20bf using\x20float torch== params_dtype steps_per_epoch training\x20s",
    ),
    (CONFIG, "config hyperparameters hyper-parameters arguments settings"),
)


@cache
def _automaton() -> tuple[ahocorasick_rs.BytesAhoCorasick, NDArray[np.uint8]]:
    kinds: dict[bytes, int] = {}
    for kind, words in _WORDS:
        for word in words.split(" "):
            text = word.encode()
            if text:
                kinds[text] = kinds.get(text, 0) | kind
    kinds[b"|    "] = METRIC
    kinds[b"val "] = kinds[b"train "] = METRIC
    for word, _, _ in FRAMEWORKS:
        kinds[word.encode()] = kinds.get(word.encode(), 0) | FRAMEWORK
    return ahocorasick_rs.BytesAhoCorasick(list(kinds)), np.array(list(kinds.values()), np.uint8)


def kinds_of(data: bytes, ends: NDArray[np.int64]) -> NDArray[np.uint8]:
    """What each piece may hold, as a sum of the kinds above, shape [pieces]. Case does not matter."""
    automaton, kinds = _automaton()
    found = automaton.find_matches_as_indexes(data.lower(), overlapping=True)
    result = np.zeros(len(ends), np.uint8)
    if found:
        table = np.array(found, np.int64)
        np.bitwise_or.at(result, np.searchsorted(ends, table[:, 1]), kinds[table[:, 0]])
    return result
