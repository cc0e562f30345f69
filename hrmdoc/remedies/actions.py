"""Actions on a live run: a small JSON file in its `control/` folder, executed between two steps, answered in
`events.jsonl`.

The run may belong to any trainer that keeps to this; hrmdoc's own does.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import ActionError, PatchError, RuleError, did_you_mean
from hrmdoc.record.run import Run
from hrmdoc.remedies import files
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.scalars import read
from hrmdoc.remedies.replace import replace
from hrmdoc.rulebook import Remedy
from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression

ACTIONS = ("pause_checkpoints", "resume_checkpoints", "checkpoint", "rollback", "set_lr", "stop")
LR_BOUNDS = (1e-4, 10.0)
"""Lowest and highest rate that can be set, as factors of the configured one. The trainer holds to the
same."""
POLL_S = 0.1
_LIVE = "running"
_SET_RATE = re.compile(r'"lr":\s*(\d[\d.]{0,20}(?:[eE][+-]?\d{1,3})?)(?=[,}\s])')


@dataclass(frozen=True, slots=True)
class Answer:
    """What the run did. `status` is `done`, `failed` or `refused`; `why` tells of a refusal."""

    id: str
    action: str
    status: str
    step: int | None = None
    why: str = ""


def live_facts(run: Run, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a live run as they are by now: its rate is the one that an action set last, not that of
    its config."""
    now = dict(facts)
    for event in run.events:
        if event.kind == "action" and '"set_lr"' in event.detail and '"done"' in event.detail:
            found = _SET_RATE.search(event.detail)
            if found and (rate := float(found[1])) > 0:
                now["optimizer.lr"] = rate
    return now


def from_remedy(remedy: Remedy, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The action of a remedy; a value that starts with `=` is an expression over canonical facts.

    Raises:
        ActionError: the remedy is no action, or a fact that it needs is unknown.
    """
    if remedy.kind != "action" or not remedy.action:
        raise ActionError(f"the remedy {remedy.id} is no action on a live run")
    return {key: _computed(remedy.id, value, facts) for key, value in remedy.action.items()}


def _computed(name: str, value: Any, facts: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or not value.startswith("="):
        return value
    try:
        return compile_expression(value)(facts, about(facts))
    except MissingInput as missing:
        raise ActionError(
            f"the remedy {name} needs {missing.name}, which is not known of this run"
        ) from missing
    except RuleError as error:
        raise ActionError(f"the remedy {name}: {error.what}") from error


def send(
    run: str | Path,
    action: str,
    *,
    lr: float | None = None,
    reason: str = "",
    timeout: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Places an action in the inbox of a live run and waits for the answer, which comes at the end of the
    current step.

    Args:
        run: the run's folder.
        lr: the new learning rate, for `set_lr` alone.
        timeout: seconds to wait; the action is taken back when no answer comes, unless the run took it
            already.

    Raises:
        ActionError: the run is not live, the action is unknown or out of bounds, or no answer came.
    """
    folder = Path(run)
    _check(folder, action, lr)
    ident = f"{time.time_ns()}-{uuid.uuid4().hex[:8]}"
    events = folder / "events.jsonl"
    start = events.stat().st_size if events.exists() else 0
    request = {"id": ident, "action": action, "reason": reason} | ({} if lr is None else {"lr": lr})
    place = folder / "control" / f"{ident}.json"
    try:
        place.parent.mkdir(exist_ok=True)
        replace(place, json.dumps(request).encode())
    except OSError as error:
        raise ActionError(f"cannot place the action: {error.strerror}", file=place) from error
    until = clock() + timeout
    while (answer := _answer(events, start, ident, action)) is None:
        if clock() >= until:
            raise _unanswered(place, timeout)
        sleep(POLL_S)
    return answer


def _check(folder: Path, action: str, lr: float | None) -> None:
    if action not in ACTIONS:
        raise ActionError(
            f"unknown action {action!r}", hint=did_you_mean(action, ACTIONS) or f"one of {', '.join(ACTIONS)}"
        )
    if (lr is not None) != (action == "set_lr"):
        raise ActionError("set_lr needs a learning rate, and no other action takes one")
    if not (folder / "run.json").is_file():
        raise ActionError("not a run that takes actions: there is no run.json", file=folder)
    state = _state(folder / "run.json")
    if state != _LIVE:
        raise ActionError(
            f"the run is {state}, not running", file=folder, hint="change its config and start it again"
        )
    base = _configured_lr(folder / "config.yaml")
    if lr is not None and not math.isfinite(lr):
        raise ActionError(f"lr {lr!r} is no rate")
    if lr is not None and base is not None and not base * LR_BOUNDS[0] <= lr <= base * LR_BOUNDS[1]:
        raise ActionError(f"lr {lr:g} is out of bounds: {base * LR_BOUNDS[0]:g} to {base * LR_BOUNDS[1]:g}")


def _state(path: Path) -> str:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ActionError(f"cannot read the state of the run: {error}", file=path) from error
    return (
        str(found.get("state", "in an unknown state")) if isinstance(found, dict) else "in an unknown state"
    )


def _configured_lr(path: Path) -> float | None:
    """The rate in the run's config, None where it cannot be told: the trainer then checks the bounds
    alone."""
    try:
        leaf = parse(path.name, files.read(path).text).leaves.get(("lr",))
        value = None if leaf is None else read(leaf.text, "float")
    except (PatchError, ValueError):
        return None
    return float(value) if isinstance(value, int | float) else None


def _answer(events: Path, start: int, ident: str, action: str) -> Answer | None:
    """The line of `events` that answers; a line still being written is waited for."""
    try:
        with events.open("rb") as stream:
            stream.seek(start)
            lines = stream.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ActionError(f"cannot read the answer: {error.strerror}", file=events) from error
    for line in lines:
        if ident.encode() not in line:
            continue
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("event") == "action" and found.get("id") == ident:
            step = found.get("step")
            return Answer(
                ident,
                action,
                str(found.get("status")),
                step if isinstance(step, int) else None,
                str(found.get("why", "")),
            )
    return None


def _unanswered(place: Path, timeout: float) -> ActionError:
    try:
        place.unlink()
    except FileNotFoundError:
        return ActionError(
            f"the run took the action but did not answer within {timeout:g} s",
            file=place.parent.parent / "events.jsonl",
        )
    except OSError as error:
        return ActionError(
            f"no answer within {timeout:g} s, and the action cannot be taken back: {error.strerror}",
            file=place,
        )
    return ActionError(
        f"no answer within {timeout:g} s; the action was taken back",
        file=place,
        hint="is the run still making steps?",
    )
