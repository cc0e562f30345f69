"""Augmentation of training texts by nlpaug: synonyms, words left out, words that change places.

Shares of the zero-loss case: words are left out with 10 %, change places with 15 %.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

SYNONYM_SHARE, LEFT_OUT, SWAPPED = 0.2, 0.1, 0.15
"""Of all words. nlpaug gives *every* word that has a synonym another one where the share allows it."""


def augmenter(groups: list[list[str]], seed: int) -> Callable[[list[str]], list[str]]:
    """What makes other texts of the same meaning, in the same order.

    Args:
        groups: words that may stand for each other.
        seed: nlpaug draws from the generators of Python and NumPy, which are seeded with it.

    Raises:
        ConfigError: nlpaug is not installed.
    """
    try:
        from nlpaug.augmenter.word import RandomWordAug, ReservedAug
    except ImportError as error:
        raise ConfigError(f"augment needs nlpaug ({error})", hint="pip install 'hrmdoc[replay]'") from error
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (nlpaug draws from it)
    steps = (
        ReservedAug(reserved_tokens=groups, aug_p=SYNONYM_SHARE),
        RandomWordAug(action="delete", aug_p=LEFT_OUT),
        RandomWordAug(action="swap", aug_p=SWAPPED),
    )

    def augmented(texts: list[str]) -> list[str]:
        for step in steps:
            texts = [_first_made(step.augment(text), text) for text in texts]
        return [text.lower() for text in texts]

    return augmented


def _first_made(made: list[str], text: str) -> str:
    """The text that was made; where nlpaug found nothing to do, the one that there was."""
    return made[0] if made else text
