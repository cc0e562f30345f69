"""How a line is made as a whole: what its beginning counts, whether it is prose, or nothing but measures."""

from __future__ import annotations

import re
from itertools import pairwise

from hrmdoc.readers.log.grammar.naming import FIRST_WORDS, UNIT
from hrmdoc.readers.log.grammar.plan import Counter, Measure
from hrmdoc.readers.log.grammar.words import counter_kind, measures, plain, split_of, word_set
from hrmdoc.text import patterns

_CALL = patterns.lazy(r"\s{0,8}[A-Za-z_][\w.]{0,80}\([A-Za-z_]\w{0,80}=")
_OPTION = patterns.lazy(r" --(?=\w)")
_FRAMED = patterns.lazy(r"\[|=|#|--")
_BEGINS = frozenset({"start", "starts", "started", "begin", "begins", "started training"})
_KEPT = patterns.lazy(r"\W{0,8}(?:new )?(?:best|sav(?:ed|ing))\b", re.IGNORECASE)
_KEPT_BEST = patterns.lazy(
    r"\bbest\b.*\bsav(?:ed|ing)\b|\bsav(?:ed|ing)\b.*\bbest\b", re.IGNORECASE | re.DOTALL
)
_LETTERS = patterns.lazy(r"[^\W\d_]")
_AFTER_NUMBERED = patterns.lazy(r"\]\t|\] [A-Za-z][\w/.-]{0,60}=\Z")
_DARKNET = ((" avg, ", " rate, "), (" avg loss, ", " rate, "))
_FEW_WORDS = 3
_LONGEST_BEGINNING = 64
_LONGEST = 1200
"""Characters of a line that are no numbers."""
_FAR = 48

_HOURS, _MINUTES, _SECONDS = (
    word_set(words) for words in ("h hr hrs hour hours", "min mins minute minutes", "sec secs second seconds")
)

Gaps = tuple[str, ...]
Found = tuple[list[Counter], list[Measure]]


def led(gaps: Gaps, counters: list[Counter], found: list[Measure]) -> Found:
    """Counters and measures where the line begins with a step that bears no name: `250 val 3.28`,
    `[10]<tab>train-rmse:0.5`, `[10] loss=0.5`, `[1,  2000] loss: 2.1`, `1|10|Loss: 1.2`, `0:18:02 - 10 - 58.9
    words/s`, timm's; where it stands between a name and its value: `Training loss for 10: 0.5`; or in
    brackets behind a loss."""
    if _is_pair(gaps, counters, found):
        name = found[0].name
        name = f"{name}_loss" if split_of(name) and not measures(name) else name
        return [Counter("global", 0, None)], [Measure(name, 1)]
    if place := _behind_a_loss(gaps, counters, found):
        return [*counters, place], found
    if gaps[0].strip() == "[" and (bracketed := _bracketed(gaps, counters, found)):
        return bracketed
    if not counters and (later := _led_later(gaps, found)):
        return later
    if gaps[1:2] == (": ",) and gaps[3:5] in _DARKNET:
        names = enumerate(("loss", "avg_loss", "lr", "step_time"), 1)
        return [Counter("global", 0, None)], [Measure(name, at) for at, name in names]
    return _led_by_two(gaps, counters, found) if len(gaps) >= 4 else (counters, found)


def _behind_a_loss(gaps: Gaps, counters: list[Counter], found: list[Measure]) -> Counter | None:
    """`loss: 2.3  [  128/60000]`: the place in the epoch; behind an accuracy so many were right."""
    if any(counter.kind != "epoch" for counter in counters):
        return None
    for at in (one.at for one in found if one.over is None and plain(one.name).endswith("loss")):
        between = [gap.strip() for gap in gaps[at + 1 : at + 4]]
        if len(between) == 3 and between[:2] == ["[", "/"] and between[2].startswith("]"):
            return Counter("batch", at + 1, at + 2)
    return None


def _bracketed(gaps: Gaps, counters: list[Counter], found: list[Measure]) -> Found | None:
    """The same where one number, or an epoch and a step, stand in brackets."""
    if gaps[0] == "[" and _AFTER_NUMBERED.match(gaps[1]) and not counters:
        return [Counter("global", 0, None)], found
    if gaps[1].strip() == "," and [one.at for one in found][:1] == [2]:
        return [Counter("epoch", 0, None), Counter("step", 1, None)], found
    return None


def _led_later(gaps: Gaps, found: list[Measure]) -> Found | None:
    """The same where the step stands behind a clock, or between a name and its value."""
    if gaps[:3] == ("", ":", ":") and [gap.strip() for gap in gaps[3:5]] == ["-", "-"]:
        return [Counter("global", 3, None)], found
    if len(gaps) != 3 or gaps[1].strip() != ":" or found:
        return None
    name, _, last = gaps[0].strip().rpartition(" ")
    named = last == "for" and measures(name) and len(name.split()) <= _FEW_WORDS
    return ([Counter("global", 0, None)], [Measure(name, 1)]) if named else None


def _led_by_two(gaps: Gaps, counters: list[Counter], found: list[Measure]) -> Found:
    if gaps[1:3] == ("/", " * Epoch "):  # Catalyst's `3/10 * Epoch 3 (valid): `
        return [counter for counter in counters if counter.at != 0], found
    if (gaps[0], gaps[1]) == ("", "|") and gaps[2].startswith("|"):
        return [Counter("epoch", 0, None), Counter("global", 1, None), *counters], found
    if [gap.strip().lower().rstrip(":") for gap in gaps[:3]] == ["train", "[", "/"]:
        return [Counter("epoch", 0, None), Counter("batch", 1, 2)], [one for one in found if one.at > 2]
    return counters, found


def without_clock(found: list[Measure]) -> list[Measure]:
    """The measures without `hr: 1 min: 50 sec: 23`, which is one time, and what remains as often as what has
    passed."""
    names = [plain(one.name) for one in found]
    dropped: set[int] = set()
    for at, (before, name) in enumerate(pairwise(names)):
        if before in _MINUTES and name in _SECONDS:
            dropped |= {at, at + 1} | ({at - 1} if at and names[at - 1] in _HOURS else set())
    return [one for at, one in enumerate(found) if at not in dropped]


def _is_pair(gaps: Gaps, counters: list[Counter], found: list[Measure]) -> bool:
    """Whether the line is a whole number, one name and a value."""
    return (
        len(gaps) == 3
        and not (counters or gaps[0].strip() or gaps[2].strip())
        and [measure.at for measure in found] == [1]
        and gaps[1] == f" {found[0].name} "
    )


def bare(gaps: Gaps, counters: tuple[Counter, ...]) -> bool:
    """Whether all letters of the line belong to counters; `Step 2:` alone heads a paragraph as often as a
    step, as `Batch 2` does."""
    alone = all(counter.total is None and _may_number(counter, gaps) for counter in counters)
    if not counters or (alone and not _FRAMED.search("".join(gaps))):
        return False
    positions = {counter.at for counter in counters}
    return all(len(gaps[at]) < _FAR for at in positions) and not any(
        _LETTERS.search(gap) and not _only_begins(at, gap, gaps)
        for at, gap in enumerate(gaps)
        if at not in positions
    )


def _may_number(counter: Counter, gaps: Gaps) -> bool:
    """Whether a counter may as well be the number of a paragraph."""
    batch = counter.kind == "batch" and not gaps[counter.at].rstrip().endswith((":", "="))
    return batch or counter.kind == "step"


def _only_begins(at: int, gap: str, gaps: Gaps) -> bool:
    """Whether all that stands behind the numbers says that something begins."""
    return at == len(gaps) - 1 and gap.strip(" *=#-.:!").lower() in _BEGINS


def whole(gaps: Gaps, names: dict[int, str]) -> bool:
    """Whether each number is a measure's and each word part of a name: no prose and no table."""
    if len(names) != len(gaps) - 1:
        return False
    for at, gap in enumerate(gaps):
        unit = UNIT.match(gap) if at else None
        rest = gap[unit.end() if unit else 0 :].replace(names.get(at, ""), "", 1)
        if _LETTERS.search(FIRST_WORDS.sub("", f"{rest.strip()} ")):
            return False
    return True


def leading(gaps: Gaps) -> bool:
    """Whether the line begins like one of metrics: it is neither prose nor a command, nor a word of what was
    saved."""
    if _KEPT.match(gaps[0]) and _KEPT_BEST.search("".join(gaps)):
        return False  # what was kept says again what an evaluation gave
    if sum(len(_OPTION.findall(gap)) for gap in gaps) > 1 or _CALL.match(gaps[0]):
        return False
    short = len(gaps[0]) <= _LONGEST_BEGINNING and sum(map(len, gaps)) <= _LONGEST
    return short and (not gaps[0].startswith(("*", "- **", "$")) or _emphasised(gaps[0]))


def _emphasised(gap: str) -> bool:
    """Whether stars stand before what counts, as in `**Epoch: 3/20 | Test acc: 97.4`, and before no list."""
    word = gap.strip(" *:#[=")
    return gap.startswith("*") and " " not in word and counter_kind(word) is not None
