"""Names of settings, and what a text of pairs states under them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.words import counter_kind, measures, quality, word_set
from hrmdoc.record.records import Value
from hrmdoc.text import patterns

_ALSO_CURVES = word_set(
    "lr learning_rate momentum temperature alpha beta gamma batch tau clip kl_coef kl_coeff margin",
    "clip_range ent_coef entropy_coef",
)
_RATE = patterns.lazy(r"(?:(?!base|init|max|min|peak|start|end|final)[a-z]+_)*(?:g|d)?lr(?:_?[a-z])?\Z")
_OWN = _ALSO_CURVES | word_set(
    "base_lr end_lr final_lr batch_size beta1 buffer_size clip_eps decay_steps hidden max_iter",
    "max_len maxlen schedule target_update vf_coef warmup_epochs number_of_epochs",
)
"""Names that no table of a framework has."""
_COUNTED = ("num_", "max_", "total_", "n_")
_KEY = patterns.lazy(
    r"""(["'])([A-Za-z_][\w.\-]{0,80})\1\s{0,8}:\s{0,8}('[^']{0,300}'|"[^"]{0,300}"|[^\s,{}\[\]()'"][^,{}\[\]()'"]{0,60}+(?![(\[]))"""
)


@lru_cache(maxsize=4)
def names_of(given: frozenset[str]) -> frozenset[str]:
    """The names that are settings wherever they are stated: those that were handed in, and our own. What
    counts steps is none."""
    return frozenset(name for name in given | _OWN if name in _OWN or not _counts(name))


def _counts(name: str) -> bool:
    return counter_kind(name) is not None and not name.startswith(_COUNTED)


def also_curve(name: str) -> bool:
    """Whether a setting is logged as it changes as well, as rates are."""
    return name in _ALSO_CURVES or _RATE.match(name.replace("learning_rate", "lr")) is not None


@lru_cache(maxsize=1024)
def plain_name(words: str) -> str:
    """`Batch Size` as programs write it in their code: `batch_size`; of a path the last name."""
    name = "_".join(words.lower().replace("-", " ").split()).rpartition(".")[2]
    return name.replace("number_of_", "num_", 1) if name != "number_of_epochs" else name


def is_setting(name: str, value: Value, names: frozenset[str]) -> bool:
    """Whether a name is that of a setting, and the value may be one: a precision is a word, but as a number
    a score."""
    return plain_name(name) in names and not (isinstance(value, float) and quality(name))


def only_sets(plan: Plan, names: frozenset[str]) -> bool:
    """Whether all that a line shows are settings that are never curves."""
    shown = [measure.name for measure in plan.measures]
    return bool(shown) and not plan.counters and all(_is_fixed(name, names) for name in shown)


def _is_fixed(name: str, names: frozenset[str]) -> bool:
    """Whether a name, with its split before it or without, is that of a setting that is never a curve."""
    known = plain_name(name)
    known = known if known in names else known.partition("_")[2]
    return known in names and not also_curve(known) and not quality(known)


def states(pairs: Mapping[str, object], names: frozenset[str]) -> bool:
    """Whether a mapping is one of settings: it holds two of them, of which one is never a curve, and no
    number that is measured."""
    known = {plain_name(key) for key in pairs} & names
    measured = any(
        isinstance(value, int | float) and plain_name(key) not in names and measures(key)
        for key, value in pairs.items()
    )
    return len(known) > 1 and not all(map(also_curve, known)) and not measured


def quoted_pairs(text: str) -> list[tuple[str, str]]:
    """Keys and values of a printed mapping that stand beside each other on the line."""
    return [(name, value) for _, name, value in _KEY.findall(text)]
