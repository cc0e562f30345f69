"""Metric lines: counters and named numbers, in whatever order and with whatever marks between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec import Struct

from hrmdoc.readers.log.epoch_bar import EpochBar
from hrmdoc.readers.log.flow import Position
from hrmdoc.readers.log.plan import Measure, Plan
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import Held, RankState
from hrmdoc.readers.log.template import Plans, split_numbers
from hrmdoc.readers.log.words import EVALUATIONS, is_result, plain, split_of
from hrmdoc.readers.support.decimals import PlainText
from hrmdoc.text import patterns

_ENDS_WITH_NAN = patterns.lazy(r"(?i)nan(?:, (?:device|dtype|grad_fn)=[^,)]{1,60}){0,3}\)?\s{0,8}\Z")
_MOST_SHAPES = 4096
_BLOCK = 200
"""Lines of an indented block at most."""
_SPLIT_LOGGERS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "eval", "evaluation"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
    "dev": "dev",
}
"""`[Val] loss: 0.5`: a logger, or a word in brackets, that is the name of a split."""
_SETTINGS = frozenset(
    {"coef", "coefficient", "weight", "scale", "factor", "lambda", "beta", "decay", "threshold"}
)
_ALIKE = 3
"""So many lines of one shape without a step are needed before they count as metric lines."""
_ALIKE_IN_RUN = 2
"""The same once the run's position is known."""


class _Candidate(Struct, frozen=True):
    """A line that may be one of metrics: it waits until its like has come often enough."""

    values: list[tuple[str, float]]
    position: Position
    mark: Mark
    whole: bool
    pure: bool


class LineReader:
    """Reads metric lines into the sink."""

    def __init__(self, sink: Sink, plans: Plans, fact: Callable[[str, int, Mark], None]) -> None:
        self._sink = sink
        self._plans = plans
        self._fact = fact
        self._plain = PlainText()
        self._seen: dict[tuple[object, ...], list[_Candidate] | None] = {}

    def read(self, state: RankState, text: str, logger: str, mark: Mark) -> bool:
        """Whether the line was understood as a position or as metrics."""
        if text.startswith("+") and text.lstrip("+").startswith(" "):
            return False  # what a shell says that it does (`set -x`): `++ return 0`
        text = self._plain.read(text) if self._plain.wanted else text
        if logger == "metric" and text.startswith(
            "[batch="
        ):  # Composer's files count the batches of the whole run
            state.filed = True
            text = text.replace("batch=", "global step=", 1)
        known = self._plans.read(
            text, (_SPLIT_LOGGERS.get(logger.lower()) if logger else None) or state.heading
        )
        if known is None:
            self._heading(state, text)
            return False
        plan, numbers = known
        position = position_of(plan, numbers)
        if state.heading and not position.silent:
            state.heading = ""
            return self.read(state, text, logger, mark)
        if plan.bare:
            return self._header(state, position, mark)
        if not plan.measures and plan.counters and plan.split in EVALUATIONS and text.rstrip().endswith(":"):
            state.block = _BLOCK
            return True
        if not plan.measures or not plan.leading:
            return False
        values = _values(plan, numbers)
        if plan.split in EVALUATIONS and position.total is not None and position.restarts:
            state.heading = plan.split
            if position.step is None or position.step < position.total - 1:
                return True
            self._place(state, plan, Position(epoch=position.epoch), values, mark)
            return True
        if position.silent and _alarming(values, text):
            self._place(state, plan, position, values, mark)
            return True
        return self._accept(state, plan, position, values, mark)

    def values_in(self, text: str) -> list[tuple[str, float]]:
        """The named numbers on a line, counters left out."""
        known = self._plans.read(text)
        return [] if known is None else _values(*known)

    def step_in(self, text: str) -> int | None:
        """The step that a text tells which holds nothing else, such as what stands before a printed
        mapping."""
        known = self._plans.read(f"[{text}")  # `step 7: ` heads a paragraph as often, but not here
        return None if known is None or not known[0].bare else position_of(*known).step

    @staticmethod
    def _heading(state: RankState, text: str) -> None:
        """`Validation results:` says whose measures the lines below it are, until a line tells a position
        again."""
        words = text.strip()
        if (
            len(words) <= 48
            and words.endswith((":", "=", "-", "*", "...", "…"))
            and len(split_numbers(text)) == 1
        ):
            split = split_of(words)
            state.heading = split if split in EVALUATIONS else ""
            if words.endswith("Run summary:") or (state.heading and words.startswith("*****")):
                state.block = (
                    _BLOCK  # W&B's last values, and `***** eval metrics *****` of transformers: one to a line
                )

    def _header(self, state: RankState, position: Position, mark: Mark) -> bool:
        """A line that tells a position and nothing else; an indented block may follow."""
        if position.silent:
            return False
        self._note_totals(position, mark)
        if position.step is not None:
            state.flow.place(position)
            state.block = _BLOCK
        elif position.epoch is not None:
            EpochBar.enter(state, position.epoch, self._sink)
            state.flow.enter_epoch(position.epoch, alone=position.epochs == 1)
        return True

    def _accept(
        self, state: RankState, plan: Plan, position: Position, values: list[tuple[str, float]], mark: Mark
    ) -> bool:
        if position.silent and state.block and len(values) == 1:
            if state.flow.step is None and _counts_all(
                *values[0]
            ):  # W&B's last values, as at `train/global_step 120`
                state.flow.step = int(values[0][1])
            self._emit(values, state.flow.step, "step", mark)
            return True
        if not position.silent and plan.strong:
            self._note_totals(position, mark)
            self._place(state, plan, position, values, mark)
            return True
        if position.silent and not plan.strong:
            return False
        key = (mark.rank, *plan.shape)
        held = self._seen.get(key, [])
        if held is not None:
            in_run = position.silent and (state.flow.step is not None or state.flow.epoch is not None)
            if not (in_run and plan.pure) and len(held) + 1 < (_ALIKE_IN_RUN if in_run else _ALIKE):
                then = _at(state) if position.silent else position
                self._hold(
                    key, held, _Candidate(values, then, mark, plan.whole, plan.pure and position.silent)
                )
                return False
            now = state.flow.step, state.flow.epoch
            told = self._sink.metrics() if held else set()
            for earlier in held:
                if not told.isdisjoint(name for name, _ in earlier.values):
                    continue  # the same measures are told by other lines, too, and their steps went on
                before = earlier.position.silent and state.flow.first is not None
                then = Position(step=state.flow.first, restarts=False) if before else earlier.position
                self._place(state, plan, then, earlier.values, earlier.mark)
            state.flow.step, state.flow.epoch = now
            self._seen[key] = None
        self._place(state, plan, position, values, mark)
        return True

    def _note_totals(self, position: Position, mark: Mark) -> None:
        for key, total in totals_of(position):
            self._fact(key, total, mark)

    def _hold(self, key: tuple[object, ...], held: list[_Candidate], record: _Candidate) -> None:
        if len(self._seen) >= _MOST_SHAPES:
            self._seen.clear()
        held.append(record)
        self._seen[key] = held

    def _place(
        self, state: RankState, plan: Plan, position: Position, values: list[tuple[str, float]], mark: Mark
    ) -> None:
        flow = state.flow
        if position.silent and flow.step is None and flow.epoch is None:
            self._emit(values, None, "index", mark)
            return
        if position.step is None and (flow.step is None or plan.shape == state.counting_shape):
            self._place_by_epoch(state, plan, position, values, mark)
            return
        step, axis = flow.place(position)
        self._emit(values, step, axis, mark)

    def _place_by_epoch(
        self, state: RankState, plan: Plan, position: Position, values: list[tuple[str, float]], mark: Mark
    ) -> None:
        """Lines that tell the epoch alone. One that comes back within the epoch stands for a step: such lines
        are counted."""
        flow, shape = state.flow, plan.shape
        if position.epoch is not None:
            flow.enter_epoch(position.epoch)
        epoch = flow.epoch or 0
        if shape == state.counting_shape:
            flow.step = 0 if flow.step is None else flow.step + 1
            self._emit(values, flow.step, "step", mark)
        elif shape not in state.epoch_shapes:
            state.epoch_shapes[shape] = Held(values, epoch, "epoch", mark)
        else:
            first = state.epoch_shapes[shape]
            state.epoch_shapes[shape] = None
            if first is not None and first.step == epoch and state.counting_shape is None:
                state.counting_shape, flow.step = shape, 1
                self._emit(first.values, 0, "step", first.mark)
                self._emit(values, 1, "step", mark)
                return
            if first is not None:
                self._emit(first.values, first.step, "epoch", first.mark)
            self._emit(values, epoch, "epoch", mark)

    def close(self, state: RankState) -> None:
        """Hands over what still waited."""
        for held in state.epoch_shapes.values():
            if held is not None:
                stepped = state.flow.step is not None
                self._emit(
                    held.values,
                    state.flow.step if stepped else held.step,
                    "step" if stepped else "epoch",
                    held.mark,
                )
        state.epoch_shapes.clear()

    def finish(self) -> None:
        """Measures that came twice and stood alone on their lines are believed once no third one can come.

        Those that came once are, too, in a log that tells nothing more than once: a few lines that somebody
        copied.
        """
        known = self._sink.metrics()
        waiting = [(held, [one for one in held if one.pure]) for held in self._seen.values() if held]
        once = self._sink.single() and all(len(held) < 2 for held, _ in waiting)
        once = once and _tells(known, [one for _, pure in waiting for one in pure])
        for held, pure in waiting:
            whole = (
                [one for one in held if one.whole and not _sets(one)]
                if once
                else pure
                if len(held) + 1 >= _ALIKE
                else []
            )
            for candidate in whole:
                new = [(name, value) for name, value in candidate.values if name not in known]
                self._emit(new, None, "index", candidate.mark)
        self._seen.clear()

    def _emit(self, values: list[tuple[str, float]], step: int | None, axis: str, mark: Mark) -> None:
        self._sink.points(values, step, axis, mark)  # type: ignore[arg-type]


def _counts_all(name: str, value: float) -> bool:
    """Whether a value that stands alone is the step that a whole run came to."""
    return plain(name).endswith("global step") and value.is_integer() and 0 < value < 1e18


def _tells(known: set[str], pure: list[_Candidate]) -> bool:
    """Whether results that stand alone on their lines are more than one number, or no number at all."""
    told = {name for candidate in pure for name, _ in candidate.values if is_result(name)}
    broken = any(not math.isfinite(value) for candidate in pure for _, value in candidate.values)
    return bool(told) and (len(told | known) > 1 or broken)


def _sets(candidate: _Candidate) -> bool:
    """Whether one of its names is that of a setting, such as `aux_loss_coef`."""
    return any(plain(name).rpartition(" ")[2] in _SETTINGS for name, _ in candidate.values)


def _at(state: RankState) -> Position:
    """Where a line without counters stands: the step, or the epoch where no steps are counted."""
    step = state.flow.step
    return Position(step=step, epoch=state.flow.epoch if step is None else None, restarts=False)


def _alarming(values: list[tuple[str, float]], text: str) -> bool:
    """Whether one line is enough: `The grad norm is inf. Skipping the update.`, `train_loss nan` of an epoch
    that was the last.

    The best loss so far is infinite before there is any; and a sentence may go on behind a NaN.
    """
    broken = [(name.lower(), value) for name, value in values if not math.isfinite(value)]
    if len(values) == 1 and broken and "norm" in broken[0][0]:
        return True
    lost = any("loss" in name and math.isnan(value) for name, value in broken)
    return lost and (len(values) > 1 or _ENDS_WITH_NAN.search(text) is not None)


def position_of(plan: Plan, numbers: list[str]) -> Position:
    """The position that the counters of a line tell; a counter with a fraction is none."""
    epoch = epochs = step = total = None
    restarts: bool | None = None
    for counter in plan.counters:
        value = _whole(numbers[counter.at])
        if value is None:
            continue
        if counter.kind == "epoch":
            epoch = value
            epochs = None if counter.total is None else _whole(numbers[counter.total])
        elif step is None or (counter.kind == "global" and restarts is not False):
            step = value
            total = None if counter.total is None else _whole(numbers[counter.total])
            restarts = {"batch": True, "global": False}.get(counter.kind)
    return Position(epoch, step, total, restarts, epochs)


def totals_of(position: Position) -> Iterator[tuple[str, int]]:
    """Facts that the totals of the counters tell."""
    if position.epochs:
        yield "run.epochs", position.epochs
    if position.total and position.restarts:
        yield "run.steps_per_epoch", position.total
    elif position.total and position.epoch is None:
        yield "run.total_steps", position.total


def _whole(text: str) -> int | None:
    digits = text.replace(",", "") if "," in text else text
    return int(digits) if digits.isdigit() and len(digits) < 18 else None


def _values(plan: Plan, numbers: list[str]) -> list[tuple[str, float]]:
    """The named values of a line."""
    if plan.simple:
        try:
            return [(name, float(numbers[at])) for name, at in plan.simple]
        except ValueError:
            pass  # 1,024 or nan.0
    return [(measure.name, _value(numbers, measure)) for measure in plan.measures]


def _value(numbers: list[str], measure: Measure) -> float:
    value = number(numbers[measure.at]) * measure.scale
    return value if measure.over is None else value / (number(numbers[measure.over]) or 1.0)


def number(text: str) -> float:
    """A number as logs write it: `1,024`, `nan.0`, `-inf`."""
    try:
        return float(text)
    except ValueError:
        return float(text.replace(",", "").removesuffix(".0"))
