"""One walk over what stands between the numbers of a line: each number is a counter, a value, part of a name,
or none of these."""

from __future__ import annotations

import re

from hrmdoc.readers.log.grammar import manner
from hrmdoc.readers.log.grammar.apart import SIDES, SPLIT_NAMES, told_apart
from hrmdoc.readers.log.grammar.naming import name_of, unit_after
from hrmdoc.readers.log.grammar.plan import ORDINAL, Counter, Measure, Plan
from hrmdoc.readers.log.grammar.words import (
    EVALUATIONS,
    CounterKind,
    counter_kind,
    is_junk,
    is_result,
    is_time,
    is_total,
    measures,
    plain,
    quality,
    split_of,
    word_set,
)
from hrmdoc.text import patterns

_UNITS = word_set(
    "ms s sec secs seconds us µs m min mins h hr hours x % gb gib mb mib kb tb tflops tflop/s hz w c db",
    "it/s s/it iter/s tok/s toks/s tokens/s tokens/sec samples/s examples/s img/s imgs/s w/s",
    "ms/step s/step us/step ms/epoch ms/iter s/iter ms/batch s/batch s/epoch",
)
_SCALES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_THEN = ("is", ":", "=", "was", "", "->")
_NUMBERED = word_set(
    "top task class label agent head layer group expert player client modality branch domain"
)
_COUNTED = patterns.lazy(
    r"(?P<name>.{3,80}?)\s"
    r"(?:(?P<after>after)|(?:over|of|for|in)(?: the)?(?: (?:last|past|previous))?|last)\s\Z",
    re.IGNORECASE | re.DOTALL,
)
_AT_OR_AFTER = patterns.lazy(r" (?:at|after) ")
_NOUN = patterns.lazy(
    r"\s(?P<noun>(?:mini-?)?batches|iterations|iters|steps|updates|episodes|epochs)\s?[:=]\s?\Z",
    re.IGNORECASE,
)
_LABELLED = patterns.lazy(r":?\s{0,4}[A-Za-z]|[_-][A-Za-z]")
_TRAILING = patterns.lazy(
    r"%?\s?((?:bf16 |fp16 |fp32 )?(?:MFU|[a-z]{2,20}/s(?:ec)?))"
    r"\s?(?:\||,|-(?=\s)|\Z)"
)
_BETWEEN = patterns.lazy(r"\s?[a-z]{2,20}/s(?:ec)?\s{1,4}[-|,]\s{1,8}\Z")
_OF_FAKES = "(G(z))"
"""`D(G(z)): 0.4 / 0.3` of DCGAN is no fraction: what is said of fakes before a step and after it."""
_MONTH = patterns.lazy(
    r"(?:\A|[\s,(\[])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? {1,2}\Z", re.IGNORECASE
)
_PLURALS: dict[str, CounterKind] = {"episodes": "episode", "epochs": "epoch"}
_CELL = patterns.lazy(r"\|\s{1,8}([A-Za-z]{3,12})\s{1,8}(?=\|)")


def plan_of(gaps: tuple[str, ...], logger: str = "") -> Plan:
    """Understands a template: `gaps[i]` stands before number i, the last one after all of them."""
    return _Builder(gaps, logger).plan()


class _Builder:
    """What is understood so far."""

    def __init__(self, gaps: tuple[str, ...], logger: str) -> None:
        self.gaps = gaps
        self.counters: list[Counter] = []
        self.measures: list[Measure] = []
        self.split = logger if logger in EVALUATIONS else None
        self.header = self.split
        self.logger = logger
        self.named = ""
        self.subject = ""
        self.label: tuple[str, int] | None = None
        self.awaited: dict[int, str] = {}
        self.names: dict[int, str] = {}

    def plan(self) -> Plan:
        """The plan, once all numbers were looked at."""
        self._walk()
        self.counters, self.measures = manner.led(self.gaps, self.counters, self.measures)
        found = tuple(told_apart(manner.without_clock(self.measures), self.gaps))
        names = [measure.name for measure in found]
        counters = tuple(self.counters)
        whole = not counters and manner.whole(self.gaps, self.names)
        as_is = all(measure.scale == 1.0 and measure.over is None for measure in found)
        return Plan(
            counters,
            found,
            strong=any(map(measures, names)) or self._tells_place(names),
            bare=not found and manner.bare(self.gaps, counters),
            split=self.header,
            shape=(*(counter.kind for counter in counters), *names),
            leading=manner.leading(self.gaps),
            simple=tuple((measure.name, measure.at) for measure in found) if as_is else (),
            whole=whole,
            pure=whole and any(map(is_result, self.names.values())),
            labels=tuple(measure.label for measure in found if measure.label is not None),
        )

    def _tells_place(self, names: list[str]) -> bool:
        """`Epoch: 01 | Epoch Time: 1m 24s` says where the lines below it belong; a total at a place is one of
        the terms of a loss."""
        counted = {counter.kind for counter in self.counters}
        times = counted == {"epoch"} and bool(names) and all(map(is_time, names))
        return times or (bool(counted) and any(map(is_total, names)))

    def _walk(self) -> None:
        count = len(self.gaps) - 1
        at = 0
        while at < count:
            total = at + 1 if at + 1 < count and self.gaps[at + 1].strip() in ("/", "of") else None
            if self._clock(at):
                self._see_split(" ".join(_CELL.findall(self.gaps[at])))
                at += 1
            elif self._minutes(at):
                at += 2
            else:
                self._take(at, total)
                at += 1 if total is None else 2

    def _clock(self, at: int) -> bool:
        """Whether the number is part of `1:02:03` or a date, such as the day in `Thu Aug 15 15:16:40`."""
        after, before = self.gaps[at + 1], self.gaps[at]
        last = at + 2 >= len(self.gaps)
        if (after == ":" and not last) or (before == ":" and at > 0):
            return True
        return after in (" ", ", ") and not last and _MONTH.search(before) is not None

    def _minutes(self, at: int) -> bool:
        """Whether two numbers are one time, `Epoch Time: 1m 24s`; takes them in."""
        if (
            at + 2 >= len(self.gaps)
            or self.gaps[at + 1].strip() != "m"
            or unit_after(self.gaps[at + 2]) != "s"
        ):
            return False
        name = name_of(self.gaps[at], first=at == 0)
        if name and not is_junk(name):
            self.measures.append(Measure(self._with_split(name), at, 60.0, seconds=at + 1))
        return True

    def _take(self, at: int, total: int | None) -> None:
        """Takes one number in, and its total."""
        if self._in_path(at) or self._counted(at):
            return
        if (value_of := self.awaited.pop(at, None)) is not None:
            self.measures.append(Measure(self._with_split(value_of), at))
            return
        unit = unit_after(self.gaps[at + 1] if total is None else self.gaps[at + 2])
        name = name_of(self.gaps[at], first=at == 0)
        if at and _BETWEEN.match(self.gaps[at]):
            name = ""  # `58.9 equations/s - 1053.2 words/s`: that was the unit of the number before
        kind = self._kind(at, total, name)
        if kind is not None:
            self._see_split(self.gaps[at])
            if unit is None or unit == "%":
                self.counters.append(Counter(kind, at, total))
                self.named = _AT_OR_AFTER.split(name)[0] if _AT_OR_AFTER.search(name) else ""
            return
        scale = 1.0 if unit is None or unit.lower() in _UNITS else _SCALES.get(unit)
        if scale is None:
            return
        if name:
            self._value(at, total, name, scale)
        else:
            self._unnamed_value(at, total)

    def _kind(self, at: int, total: int | None, name: str) -> CounterKind | None:
        """What a number counts, if it does."""
        kind = counter_kind(name) if name else None
        taken = kind == "step" and name.lower().endswith("s") and self.measures
        if taken and not any(measures(measure.name) for measure in self.measures):
            kind = None  # `took 3.1 s, steps=200` counts what was done, and is no place in the run
        if kind is None and at == 0:
            kind = self._of_many(name) or (self._below_subject(name) if total is None else None)
        if kind is None and (not name or (total is not None and split_of(name))):
            kind = self._unnamed_counter(at, total)
        return kind

    def _of_many(self, name: str) -> CounterKind | None:
        """`Episodes: 3 Loss: 0.5` counts: a loss or a score follows; `Epochs: 3, lr: 0.1` are settings."""
        kind = _PLURALS.get(name.lower())
        scored = kind is not None and any(quality(name_of(gap, first=False)) for gap in self.gaps[1:-1])
        return kind if scored else None

    def _below_subject(self, name: str) -> CounterKind | None:
        """`Loss epoch 3 | train 0.4 | test 0.5` says first what the sides are the values of."""
        subject, _, counter = plain(name).rpartition(" ")
        if len(self.gaps) < 3 or not quality(subject) or name_of(self.gaps[1], False).lower() not in SIDES:
            return None
        kind = counter_kind(counter)
        self.subject = subject if kind is not None else ""
        return kind

    def _of_subject(self, name: str) -> str:
        """A side by what it is the value of, where a line says that first."""
        return f"{name} {self.subject}" if self.subject and name.lower() in SIDES else name

    def _value(self, at: int, total: int | None, name: str, scale: float) -> None:
        """A number with a name."""
        self._see_split(self.gaps[at][: self.gaps[at].rfind(name)])
        name = self._of_subject(name)
        if total is not None and name.endswith(_OF_FAKES):
            self.measures += [Measure(name, at), Measure(f"{name} after", total)]
            return
        if is_junk(name) or (total is not None and not measures(name)):
            return
        if total is None and self._is_label(at, name):
            self.label = name, at
            return
        if total is not None and self._two_values(name, at, total, scale):
            return
        self.names[at] = name
        label = None
        if self.label is not None and self._belongs(at, name, *self.label):
            word, label = self.label
            name = f"{word} {ORDINAL} {name}"
        self.measures.append(Measure(self._with_split(name), at, scale, total, label))

    def _belongs(self, at: int, name: str, word: str, label: int) -> bool:
        """Whether a measure is of what a label before it says: the next one; and where `Class: 2` stands once
        on a line, all that say how well the model does."""
        if at == label + 1 and _LABELLED.match(self.gaps[at]):
            return True
        last = plain(word).rpartition(" ")[2]
        once = "".join(self.gaps).lower().count(last) == 1
        return once and last in _NUMBERED and last != "top" and quality(name)

    def _two_values(self, name: str, at: int, total: int, scale: float) -> bool:
        """`train loss/acc = 0.8/0.5`."""
        first, _, second = name.rpartition("/")
        if not (measures(first) and measures(second)):
            return False
        names = first, f"{first.rpartition(' ')[0]} {second}".strip()
        for one, where in zip(names, (at, total), strict=True):
            self.measures.append(Measure(self._with_split(one), where, scale))
        return True

    def _in_path(self, at: int) -> bool:
        """Whether the number is a folder or a file: `saved to runs/vit/5/model`, and not `loss/1: 0.3`."""
        gap = self.gaps[at]
        return gap.endswith("/") and len(gap) > 1 and self.gaps[at + 1][:1] not in (":", "=", "]", ")")

    def _counted(self, at: int) -> bool:
        """`Loss after 300 iterations: 0.4`, `mean loss over the last 100 batches: 0.4`: of how many stands
        before the value."""
        noun = _NOUN.match(self.gaps[at + 1]) if at + 2 < len(self.gaps) else None
        found = None if noun is None else _COUNTED.search(self.gaps[at])
        if found is None or noun is None:
            return False
        name = name_of(found["name"], at == 0)
        if noun["noun"].lower() == "episodes" and split_of(name) in EVALUATIONS and len(name.split()) == 1:
            name = f"{name} reward"  # `Evaluation over 10 episodes: 2310.5`
        if not measures(name):
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
        """`Epoch: [0][415/1736]`, `epoch 001:    101 / 5000`, `1 [640/60000 (1%)]`, and a leading `6/6`;
        of two in brackets, `[9/100][200/803]`, the first one counts epochs."""
        gap = "".join(self.gaps[at].split()).strip(":")
        dated = total is not None and self.gaps[total + 1] == "/"  # `03/11/25 15:01:50`
        if total is None or dated or any(counter.kind != "epoch" for counter in self.counters):
            return None
        if self.counters and gap in ("][", "[", "", "|", "](", "(", ","):
            return "batch"
        if at == 0 and gap in ("", "["):
            return "epoch" if self._another_total() else "batch"
        if at == 0 and self.gaps[0].rstrip().endswith("[") and split_of(self.gaps[0]):
            self._see_split(self.gaps[0])
            return "batch"
        return None

    def _another_total(self) -> bool:
        """Whether a second counter with its total stands right behind a leading one."""
        return len(self.gaps) > 4 and "".join(self.gaps[2].split()) in ("][", "],[") and self.gaps[3] == "/"

    def _unnamed_value(self, at: int, total: int | None) -> None:
        """`Loss at step 480: 2.31` gives the name before the step, and `172000 tok/s` is named by what
        follows."""
        gap, last = self.gaps[at], self.measures[-1] if self.measures else None
        if self.label is not None and self.label[1] == at - 1 and total is None:
            word, place = self.label
            self.measures.append(Measure(self._with_split(f"{word} {ORDINAL}"), at, label=place))
        elif self.named and total is None and gap.strip() in _THEN:
            self.measures.append(Measure(self._with_split(self.named), at))
            self.named = ""
        elif last is not None and self._replaces(at, last):
            self.measures[-1] = Measure(last.name, at)
        elif total is None and (found := _TRAILING.match(self.gaps[at + 1])):
            self.measures.append(Measure(found.group(1), at))

    def _replaces(self, at: int, last: Measure) -> bool:
        """Whether the number is the value that the one before it seemed to be: `Train loss 480 2.31` and
        `Validation loss 480: 2.31` give the step before the value, `2497/10042=0.2487` a fraction."""
        if at == 1 and last.at == 0 and not self.counters and self._after_step(self.gaps[1], last.name):
            self.counters.append(Counter("global", 0, None))
            return True
        return self.gaps[at] == "=" and last.over == at - 1

    def _after_step(self, gap: str, name: str) -> bool:
        """Whether the first number is a step: `Train loss 480 2.31`; before a colon of a loss or a split (not
        `Acc 5: 0.9`)."""
        alone = gap.strip() == ":" and len(self.gaps) == 3
        return gap == " " or (
            alone and (split_of(name) is not None or plain(name).rpartition(" ")[2] in ("loss", "cost"))
        )

    def _see_split(self, text: str) -> None:
        found = split_of(text)
        if found == "val" and self.logger in ("test", "dev") and "eval" in text.lower():
            return  # `Evaluation - loss: 0.5` below `Test set`
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
