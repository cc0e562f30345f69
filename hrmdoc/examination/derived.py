"""Facts that no file states but the records tell together: ages, delays, what a device should reach.

What is only observed (`observed.*`) becomes a fact where the tables of `rules/typical/` say what it means.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from hrmdoc.examination.silence import silences
from hrmdoc.examination.turns import turns
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.roles.typical import typical_facts
from hrmdoc.roles.values import number
from hrmdoc.rulebook import Rulebook
from hrmdoc.text.platforms import platform_in

OBSERVED = "observed."
_HIGHEST_GUESS = math.log(1000)
_ROUNDED = 1.05
"""Logs round a rate; what lies further above the config's own was not taken from there."""
_SAME = 1e-6
LINES = 1000
"""Noteworthy lines that are asked for the platform."""
_JUDGING = frozenset({"loss", "score", "error"})
"""Families of what an evaluation says of a model."""
CEILINGS = (1.0, 100.0)
"""Accuracies are shares or percents."""
_OF_TEXT = frozenset({"completion", "completions", "response", "responses", "prompt", "prompts", "tokens"})
"""Words in the names of metrics of policies that write text."""
_ASKED_OF_TEXT = ("rl.num_generations", "rl.temperature", "rl.beta", "lora.rank", "data.vocab_size")
"""Settings of such policies."""


def derived(run: Run, facts: Mapping[str, Any], book: Rulebook) -> dict[str, Any]:
    """Derived canonical facts; those already known are not given again."""
    measured = dict(
        chain(
            silences(run, facts),
            _contradicted(run),
            _learning_rate(run),
            _start(run),
            _platform(run),
            _length(run, facts),
            _checkpoint(run),
            _progress(run, facts),
            _accuracy(run),
            _loss_level(run),
            _begins_even(run),
            _evaluated(run),
            _completions(run, facts),
            turns(run),
        )
    )
    observed = {key: measured.pop(key) for key in [*measured] if key.startswith(OBSERVED)}
    found = measured | typical_facts({**facts, **observed}, book.typical.values())
    return {key: value for key, value in found.items() if facts.get(key) is None}


def _contradicted(run: Run) -> Iterator[tuple[str, Any]]:
    """The source whose loss ends in values that are not finite, where a better source of the same metric has
    none: loggers leave such rows out, and a log of another attempt is none the better for it."""
    for role in ("train.loss", "eval.loss"):
        found = run.with_role(role)
        for series in found[1:]:
            same = series.key.metric == found[0].key.metric
            if same and len(series) >= 3 and not np.isfinite(series.values[-3:]).any():
                yield "run.nonfinite_source", series.place(-1)[0]


def _learning_rate(run: Run) -> Iterator[tuple[str, Any]]:
    """The peak of the logged learning rate stands for the configured one where no config tells it."""
    series = run.best("lr")
    if series is not None and not series.role.guessed:
        highest = float(series.finite.max(initial=0.0))
        if highest > 0:
            yield "optimizer.lr", highest


def outdone_rate(run: Run, stated: Fact | None) -> dict[str, Any]:
    """The learning rate of a run whose log shows a higher one than its config says: that was set elsewhere,
    on the command line or by the program, and is what the run had. `optimizer.lr_stated` is what the config
    says, with its place."""
    series = run.best("lr")
    value = None if stated is None else number(stated.value)
    if series is None or stated is None or value is None or not stated.file or stated.file in series.files:
        return {}
    logged = next((highest for _, highest in _learning_rate(run)), 0.0)
    if not 0 < value * _ROUNDED < logged:
        return {}
    place = f"{stated.file}{f':{stated.line}' if stated.line else ''}"
    return {"optimizer.lr": logged, "optimizer.lr_stated": f"{place} says {value:g}"}


def outdone(facts: Mapping[str, Any]) -> Iterator[str]:
    """Says of a rate that the config does not have that the log was believed."""
    if stated := facts.get("optimizer.lr_stated"):
        shown = f"the log shows {facts['optimizer.lr']:g}"
        yield f"{stated} for the learning rate, and {shown}: the log is believed"


def _start(run: Run) -> Iterator[tuple[str, Any]]:
    series = run.progress
    if series is None:
        return
    first, begun = float(series.times[0]), _launch(run, *series.place(0))
    before = [time for time in begun if time <= first]
    if before:  # the newest: earlier attempts came to no step
        yield "run.seconds_to_first_step", first - max(before)


def _launch(run: Run, file: str, line: int | None) -> list[float]:
    """When trainings began, but for those of launches before that of a line, in the same file."""
    launched = (one.line or 0 for one in run.events.of("launch") if one.file == file)
    own = max((at for at in launched if at <= (line or 0)), default=0)
    starts = run.events.of("start")
    return [one.time for one in starts if one.file != file or one.line is None or one.line >= own]


def _platform(run: Run) -> Iterator[tuple[str, str]]:
    """The platform of the GPUs where a version, a device, a config or a message names it."""
    said = [fact.value for fact in run.facts.values() if isinstance(fact.value, str)]
    said += [line.text for line in run.lines[:LINES]]
    if platform := next(filter(None, map(platform_in, said)), ""):
        yield "device.platform", platform


def _loss_level(run: Run) -> Iterator[tuple[str, Any]]:
    """The median of the training loss, by which tables tell its unit."""
    series = run.best("train.loss")
    finite = np.empty(0) if series is None else series.finite
    if len(finite):
        yield "observed.loss_level", middle(finite)


def _begins_even(run: Run) -> Iterator[tuple[str, Any]]:
    """Whether the first loss is the logarithm of a whole number to six digits: all outputs were the same,
    which random weights do not give."""
    series = run.best("train.loss")
    first = float(series.values[0]) if series is not None and len(series) else math.nan
    if 0.5 < first < _HIGHEST_GUESS:
        yield "run.begins_even", abs(first - math.log(round(math.exp(first)))) < _SAME


def _evaluated(run: Run) -> Iterator[tuple[str, Any]]:
    """Whether any loss, score or error of held-out data was logged, whatever it is called: `val_AP` too."""
    held_out = (one for one in run.series.values() if one.nature.held_out and one.nature.family in _JUDGING)
    if any(len(one.finite) for one in held_out):
        yield "run.evaluated", True


def _completions(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Whether metrics or settings speak of text that a policy writes; others play."""
    if any(key in facts for key in _ASKED_OF_TEXT) or any(
        not _OF_TEXT.isdisjoint(one.nature.words) for one in run.series.values()
    ):
        yield "rl.completions", True


def _length(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where the run is planned to end, in what the log counts by: steps, or epochs in a log of one point an
    epoch."""
    series = run.progress
    steps, epochs = facts.get("run.total_steps"), facts.get("run.epochs")
    planned = steps
    if series is not None and isinstance(epochs, int | float) and (series.axis == "epoch" or steps is None):
        planned = epochs if int(series.steps[-1]) <= epochs else steps
    if isinstance(planned, int | float) and planned > 0:
        yield "run.planned_length", planned


def _checkpoint(run: Run) -> Iterator[tuple[str, Any]]:
    """Steps since the last checkpoint, and the usual seconds between two; nothing where none is told of."""
    series = run.progress
    saved: list[int] = []
    times = array("d")
    for step, time in run.events.moments("checkpoint"):
        saved = saved if step is None else [step]
        if math.isfinite(time):
            times.append(time)
    if series is not None and saved:
        yield "run.steps_since_checkpoint", max(0, int(series.steps[-1]) - saved[-1])
    apart = np.diff(np.frombuffer(times)) if times else np.empty(0)
    if (apart > 0).any():
        yield "run.checkpoint_seconds", middle(apart[apart > 0])


def _progress(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where the run stands: its last step, which share that is of the planned ones, and at which share of its
    steps its log begins, where that counts steps."""
    series, total = run.progress, facts.get("run.total_steps")
    if series is None:
        return
    first, last = int(series.steps[0]), int(series.steps[-1])
    yield "observed.last_step", last
    if isinstance(total, int | float) and total > 0:
        yield "observed.done", last / total
    if series.axis != "epoch":
        yield "observed.first_share", first / last if last > 0 else float(first > 0)


def _accuracy(run: Run) -> Iterator[tuple[str, Any]]:
    """The accuracy at the end of the last run, of the evaluation where there is one, as a share of its
    ceiling."""
    series = run.best("eval.accuracy") or run.best("train.accuracy")
    values = np.empty(0) if series is None else series.finite
    if len(values):
        ceiling = CEILINGS[float(values.max()) > CEILINGS[0]]
        yield "observed.accuracy_share", middle(values[-3:]) / ceiling
