"""A line without its numbers is a template; a template is understood once.

The numbers of a line are found in one linear pass; what stands between them tells their names. Logs repeat a
few templates for ever, so the understanding is kept by template and a line costs little more than its split.
"""

from __future__ import annotations

import re

from hrmdoc.readers.log.grammar.apart import SPLIT_NAMES, told_apart
from hrmdoc.readers.log.grammar.naming import FIRST_WORDS, UNIT, name_of, unit_after
from hrmdoc.readers.log.grammar.numbers import split_numbers
from hrmdoc.readers.log.grammar.plainer import plainer
from hrmdoc.readers.log.grammar.plan import ORDINAL, Counter, Measure, Plan, with_labels
from hrmdoc.readers.log.grammar.values import position_of, values_of
from hrmdoc.readers.log.grammar.words import (
    EVALUATIONS,
    CounterKind,
    counter_kind,
    is_junk,
    is_result,
    measures,
    plain,
    split_of,
    word_set,
)
from hrmdoc.text import patterns

_MOST_PLANS = 4096
_MOST_NUMBERS = 1000
"""A line that holds more is data."""
_UNITS = word_set(
    "ms s sec secs seconds us µs m min mins h hr hours x % gb gib mb mib kb tb tflops tflop/s hz w c",
    "it/s s/it iter/s tok/s toks/s tokens/s tokens/sec samples/s examples/s img/s imgs/s w/s",
    "ms/step s/step us/step ms/epoch ms/iter s/iter ms/batch s/batch s/epoch",
)
_SCALES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_CALL = patterns.lazy(r"\s{0,8}[A-Za-z_][\w.]{0,80}\([A-Za-z_]\w{0,80}=")
_THEN = ("is", ":", "=", "was", "", "->")
_OPTION = patterns.lazy(r" --(?=\w)")
_FRAMED = patterns.lazy(r"\[|=|#|--")
_BEGINS = frozenset({"start", "starts", "started", "begin", "begins", "started training"})
_NUMBERED = word_set("top task class agent head layer group expert player client modality branch domain")
_COUNTED = patterns.lazy(
    r"(?P<name>.{3,80}?)\s(?:(?P<after>after)|(?:over|of|for|in)(?: the)? (?:last|past|previous)|last)\s\Z",
    re.IGNORECASE | re.DOTALL,
)
_AT_OR_AFTER = patterns.lazy(r" (?:at|after) ")
_NOUN = patterns.lazy(
    r"\s(?P<noun>(?:mini-?)?batches|iterations|iters|steps|updates|episodes|epochs)\s?[:=]\s?\Z",
    re.IGNORECASE,
)
_LABELLED = patterns.lazy(r":? ?[A-Za-z]|[_-][A-Za-z]")
_LETTERS = patterns.lazy(r"[^\W\d_]")
_TRAILING = patterns.lazy(
    r"%?\s?((?:bf16 |fp16 |fp32 )?(?:MFU|tok/s|tokens/s|tok/sec|tokens/sec|samples/s|examples/s|it/s))"
    r"\s?(?:\||,|\Z)"
)


class Plans:
    """Templates understood so far; forgotten all at once when they become many (prose makes a template a
    line)."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._labelled: dict[tuple[Plan, tuple[str, ...]], Plan] = {}

    def read(self, text: str, logger: str = "") -> tuple[Plan, list[str]] | None:
        """The plan of a line and its numbers; None when there are none, or too many for a metric line."""
        parts = split_numbers(plainer(text))
        if not 3 <= len(parts) <= 2 * _MOST_NUMBERS:
            return None
        gaps, numbers = tuple(parts[::2]), parts[1::2]
        return self._filled(self.of(gaps, logger), numbers), numbers

    def values_in(self, text: str) -> list[tuple[str, float]]:
        """The named numbers in a text, counters left out."""
        known = self.read(text)
        return [] if known is None else values_of(*known)

    def step_in(self, text: str) -> int | None:
        """The step in a text that holds nothing else, such as what stands before a printed mapping."""
        known = self.read(f"[{text}")  # `step 7: ` heads a paragraph as often, but not here
        return None if known is None or not known[0].bare else position_of(*known).step

    def _filled(self, plan: Plan, numbers: list[str]) -> Plan:
        """The plan with the numbers in its names that this line has there."""
        if not plan.labels:
            return plan
        told = tuple(numbers[at] for at in plan.labels)
        filled = self._labelled.get((plan, told))
        if filled is None:
            if len(self._labelled) >= _MOST_PLANS:
                self._labelled.clear()
            filled = self._labelled[plan, told] = with_labels(plan, numbers)
        return filled

    def of(self, gaps: tuple[str, ...], logger: str = "") -> Plan:
        """The plan of a template, see `plan_of`."""
        key = (*gaps, logger)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = plan_of(gaps, logger)
        return plan


def plan_of(gaps: tuple[str, ...], logger: str = "") -> Plan:
    """Understands a template: `gaps[i]` stands before number i, the last one after all of them."""
    return _Builder(gaps, logger).plan()


_CELL = patterns.lazy(r"\|\s{1,8}([A-Za-z]{3,12})\s{1,8}(?=\|)")
_AFTER_NUMBERED = patterns.lazy(r"\]\t|\] [A-Za-z][\w/.-]{0,60}=\Z")


class _Builder:
    """One walk over the gaps of a template."""

    def __init__(self, gaps: tuple[str, ...], logger: str) -> None:
        self.gaps = gaps
        self.counters: list[Counter] = []
        self.measures: list[Measure] = []
        self.split = logger if logger in EVALUATIONS else None
        self.header = self.split
        self.logger = logger
        self.named = ""
        self.label: tuple[str, int] | None = None
        self.awaited: dict[int, str] = {}
        self.names: dict[int, str] = {}

    def plan(self) -> Plan:
        count = len(self.gaps) - 1
        at = 0
        while at < count:
            total = at + 1 if at + 1 < count and self.gaps[at + 1].strip() in ("/", "of") else None
            if self._clock(at):
                self._see_split(" ".join(_CELL.findall(self.gaps[at])))
                at += 1
            else:
                self._take(at, total)
                at += 1 if total is None else 2
        self._lead()
        self.measures = told_apart(self.measures, self.gaps)
        names = [measure.name for measure in self.measures]
        strong = any(measures(name) for name in names)
        shape = (*(counter.kind for counter in self.counters), *names)
        plain = all(measure.scale == 1.0 and measure.over is None for measure in self.measures)
        simple = tuple((measure.name, measure.at) for measure in self.measures) if plain else ()
        counters, found = tuple(self.counters), tuple(self.measures)
        whole = self._whole()
        pure = whole and any(map(is_result, self.names.values()))
        labels = tuple(measure.label for measure in found if measure.label is not None)
        return Plan(
            counters,
            found,
            strong,
            self._bare(),
            self.header,
            shape,
            self._short(),
            simple,
            whole,
            pure,
            labels,
        )

    def _clock(self, at: int) -> bool:
        """Whether the number is part of `1:02:03` or a date."""
        after, before = self.gaps[at + 1], self.gaps[at]
        last = at + 2 >= len(self.gaps)
        return (after == ":" and not last) or (before == ":" and at > 0)

    def _take(self, at: int, total: int | None) -> None:
        if self._counted(at):
            return
        if (value_of := self.awaited.pop(at, None)) is not None:
            self.measures.append(Measure(self._with_split(value_of), at))
            return
        unit = unit_after(self.gaps[at + 1] if total is None else self.gaps[at + 2])
        name = name_of(self.gaps[at], first=at == 0)
        kind = counter_kind(name) if name else None
        if (
            kind == "step"
            and name.lower().endswith("s")
            and self.measures
            and not any(measures(m.name) for m in self.measures)
        ):
            kind = None  # `took 3.1 s, steps=200` counts what was done, and is no place in the run
        if kind is None and (not name or (total is not None and split_of(name))):
            kind = self._unnamed_counter(at, total)
        if kind is not None:
            self._see_split(self.gaps[at])
            if unit is None or unit == "%":
                self.counters.append(Counter(kind, at, total))
                self.named = _AT_OR_AFTER.split(name)[0] if _AT_OR_AFTER.search(name) else ""
            return
        scale = 1.0 if unit is None or unit.lower() in _UNITS else _SCALES.get(unit)
        if scale is None:
            return
        if not name:
            self._unnamed_value(at, total)
            return
        self._see_split(self.gaps[at][: self.gaps[at].rfind(name)])
        if is_junk(name) or (total is not None and not measures(name)):
            return
        if total is None and self._is_label(at, name):
            self.label = name, at
            return
        first, _, second = name.rpartition("/")
        if total is not None and measures(first) and measures(second):  # `train loss/acc = 0.8/0.5`
            names = first, f"{first.rpartition(' ')[0]} {second}".strip()
            self.measures += (
                Measure(self._with_split(one), where, scale)
                for one, where in zip(names, (at, total), strict=True)
            )
            return
        self.names[at] = name
        if self.label is not None and at == self.label[1] + 1 and _LABELLED.match(self.gaps[at]):
            word, place = self.label
            self.measures.append(
                Measure(self._with_split(f"{word} {ORDINAL} {name}"), at, scale, total, place)
            )
            return
        self.measures.append(Measure(self._with_split(name), at, scale, total))

    def _counted(self, at: int) -> bool:
        """`Loss after 300 iterations: 0.4`, `mean loss over the last 100 batches: 0.4`: of how many stands
        before the value."""
        found, noun = _COUNTED.search(self.gaps[at]), _NOUN.match(self.gaps[at + 1])
        if (
            found is None
            or noun is None
            or at + 2 >= len(self.gaps)
            or not measures(name := name_of(found["name"], at == 0))
        ):
            return False
        kind = counter_kind(noun["noun"].lower().removesuffix("s"))
        if found["after"] and kind is not None:
            self.counters.append(Counter(kind, at, None))
        self.awaited[at + 1] = name
        return True

    def _is_label(self, at: int, name: str) -> bool:
        """Whether the number is part of a name: `loss 1: 0.3`, `top 5 acc: 0.7`, `task 2: loss 0.9`."""
        after = self.gaps[at + 1]
        if (
            at + 2 >= len(self.gaps)
            or name.lower() in SPLIT_NAMES
            or (after != " " and self._after_step(after, name))
        ):
            return False
        return (after.strip() in (":", "=") and measures(name)) or (
            plain(name).rpartition(" ")[2] in _NUMBERED and _LABELLED.match(after) is not None
        )

    def _unnamed_counter(self, at: int, total: int | None) -> CounterKind | None:
        """`Epoch: [0][415/1736]`, `epoch 001:    101 / 5000`, `1 [640/60000 (1%)]`, and a leading `6/6`."""
        gap = "".join(self.gaps[at].split()).strip(":")
        if total is None or any(counter.kind != "epoch" for counter in self.counters):
            return None
        if self.counters and gap in ("][", "[", "", "|", "](", "(", ","):
            return "batch"
        if at == 0 and gap in ("", "["):
            return "batch"
        if at == 0 and self.gaps[0].rstrip().endswith("[") and split_of(self.gaps[0]):
            self._see_split(self.gaps[0])
            return "batch"
        return None

    def _unnamed_value(self, at: int, total: int | None) -> None:
        """`2497/10042=0.2487` replaces the fraction before it, `Train loss 480 2.31`, `Validation loss 480:
        2.31` and `Loss at step 480: 2.31` tell the step before the value, and `172000 tok/s` is named by what
        follows."""
        last = self.measures[-1] if self.measures else None
        if self.label is not None and self.label[1] == at - 1 and total is None:
            word, place = self.label
            self.measures.append(Measure(self._with_split(f"{word} {ORDINAL}"), at, label=place))
        elif self.named and total is None and self.gaps[at].strip() in _THEN:
            self.measures.append(Measure(self._with_split(self.named), at))
            self.named = ""
        elif (
            at == 1
            and last is not None
            and last.at == 0
            and not self.counters
            and self._after_step(self.gaps[1], last.name)
        ):
            self.counters.append(Counter("global", 0, None))
            self.measures[-1] = Measure(last.name, at)
        elif self.gaps[at] == "=" and self.measures and self.measures[-1].over == at - 1:
            self.measures[-1] = Measure(self.measures[-1].name, at)
        elif total is None and (found := _TRAILING.match(self.gaps[at + 1])):
            self.measures.append(Measure(found.group(1), at))

    def _after_step(self, gap: str, name: str) -> bool:
        """Whether the first number is a step: `Train loss 480 2.31`; before a colon of a loss or a split (not
        `Acc 5: 0.9`)."""
        alone = gap.strip() == ":" and len(self.gaps) == 3
        return gap == " " or (
            alone and (split_of(name) is not None or plain(name).rpartition(" ")[2] in ("loss", "cost"))
        )

    def _lead(self) -> None:
        """Steps without a name: `250 val 3.28`, `[10]<tab>train-rmse:0.5`, `[10] loss=0.5`, `1|10|Loss: 1.2`,
        timm's."""
        gaps = self.gaps
        if self._is_pair():
            name = self.measures[0].name
            name = f"{name}_loss" if split_of(name) and not measures(name) else name
            self.measures[0] = Measure(name, 1)
            self.counters.append(Counter("global", 0, None))
        elif gaps[0] == "[" and _AFTER_NUMBERED.match(gaps[1]) and not self.counters:
            self.counters.append(Counter("global", 0, None))
        elif gaps[1:2] == (": ",) and gaps[3:5] in (
            (" avg, ", " rate, "),
            (" avg loss, ", " rate, "),
        ):  # darknet
            self.counters[:] = [Counter("global", 0, None)]
            self.measures = [
                Measure(name, at) for at, name in enumerate(("loss", "avg_loss", "lr", "step_time"), 1)
            ]
        elif len(gaps) >= 4 and gaps[1:3] == ("/", " * Epoch "):  # Catalyst's `3/10 * Epoch 3 (valid): `
            self.counters[:] = [counter for counter in self.counters if counter.at != 0]
        elif len(gaps) >= 4 and (gaps[0], gaps[1]) == ("", "|") and gaps[2].startswith("|"):
            self.counters[:0] = [Counter("epoch", 0, None), Counter("global", 1, None)]
        elif len(gaps) >= 4 and [gap.strip().lower().rstrip(":") for gap in gaps[:3]] == ["train", "[", "/"]:
            self.measures = [measure for measure in self.measures if measure.at > 2]
            self.counters[:] = [Counter("epoch", 0, None), Counter("batch", 1, 2)]

    def _is_pair(self) -> bool:
        """Whether the line is a whole number, one name and a value."""
        gaps = self.gaps
        return (
            len(gaps) == 3
            and not (self.counters or gaps[0].strip() or gaps[2].strip())
            and [measure.at for measure in self.measures] == [1]
            and gaps[1] == f" {self.measures[0].name} "
        )

    def _see_split(self, text: str) -> None:
        found = split_of(text)
        if found is not None:
            self.split = found
            if not self.measures:
                self.header = found

    def _with_split(self, name: str) -> str:
        if self.logger == "train" and split_of(name) is None:
            return f"train_{name}"
        if self.split in EVALUATIONS and split_of(name) is None:
            return f"{self.split}_{name}"
        return name

    def _bare(self) -> bool:
        """Whether all letters of the line belong to counters; `Step 2:` alone heads a paragraph as often as a
        step."""
        if self.measures or not self.counters:
            return False
        positions, count = {counter.at for counter in self.counters}, len(self.gaps) - 1
        alone = all(counter.kind == "step" and counter.total is None for counter in self.counters)
        if alone and not _FRAMED.search("".join(self.gaps)):
            return False
        for at, gap in enumerate(self.gaps):
            if (
                at not in positions
                and _LETTERS.search(gap)
                and not (at == count and gap.strip(" *=#-.:!").lower() in _BEGINS)
            ):
                return False
        return all(len(self.gaps[at]) < 48 for at in positions)

    def _whole(self) -> bool:
        """Whether each number is a measure's and each word part of a name: no prose and no table."""
        if self.counters or len(self.names) != len(self.gaps) - 1:
            return False
        for at, gap in enumerate(self.gaps):
            unit = UNIT.match(gap) if at else None
            rest = gap[unit.end() if unit else 0 :].replace(self.names.get(at, ""), "", 1)
            if _LETTERS.search(FIRST_WORDS.sub("", f"{rest.strip()} ")):
                return False
        return True

    def _short(self) -> bool:
        if sum(len(_OPTION.findall(gap)) for gap in self.gaps) > 1 or _CALL.match(self.gaps[0]):
            return False
        return (
            len(self.gaps[0]) <= 64
            and sum(map(len, self.gaps)) <= 1200
            and not self.gaps[0].startswith(("*", "- **", "$"))
        )
