"""Finds the pieces of a block that may hold anything, before a line of Python looks at them."""

from __future__ import annotations

from functools import cache

import ahocorasick_rs
import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers._textlog.facts import FRAMEWORKS

METRIC, BAR, TROUBLE, MOMENT, FACT, FRAMEWORK, CONFIG = 1, 2, 4, 8, 16, 32, 64

_WORDS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (METRIC, ("loss", "acc", "epoch", "step", "iter", "update", "reward", "perplexity", "ppl", "mse", "mae", "bleu", "rouge")),
    (METRIC, ("learning", "grad", "auc", "score", "entropy", "precision", "recall", "bpb", "episode", "_rew", "kl=", "kl:")),
    (METRIC, ("f1", "val ", "train ", "hella", "-rmse", "-error", "-auc", "|    ", "batch=", "batch:", "psnr", "fid", "lr")),
    (METRIC, ("'s l", "'s r", "valid", "test ", "core metric", "sequence length", "evaluat", "kl ", "  all  ")),
    (BAR, ("%|",)),
    (TROUBLE, ("traceback", "error", "exception", "interrupt", "systemexit", "timeout", ' file "', "failed", "overflow!")),
    (MOMENT, ("resum", "continuing", "checkpoint", "ckpt", "restor", "saving", "saved", "training", "fit` stopped", "restart")),
    (MOMENT, ("early stopping",)),
    (FACT, ("optimization steps", "total steps", "training s", "max_steps", "total_steps", "num examples", "num epochs")),
    (FACT, ("number of epochs", "total epochs", "batch size", "batch_size", "param", "version", "world size", "world_size")),
    (FACT, ("accumulation", "....", "namespace(", "arguments(", "args(", "config(", "precision", "using bf", "using float")),
    (FACT, ("using fp16", "steps_per_epoch", "steps per epoch", "model size", " --", "torch==", "num gpus")),
    (CONFIG, ("config", "hyperparameters", "hyper-parameters", "arguments", "settings", "args:")),
)


@cache
def _automaton() -> tuple[ahocorasick_rs.BytesAhoCorasick, NDArray[np.uint8]]:
    kinds: dict[bytes, int] = {}
    for kind, words in _WORDS:
        for word in words:
            kinds[word.encode()] = kinds.get(word.encode(), 0) | kind
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
