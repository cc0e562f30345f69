"""The inbox of a live run: JSON files in `control/`, each one action, executed between two steps and answered
in events.jsonl.

`{"id": "...", "action": "set_lr", "lr": 3e-5, "reason": "..."}`. Put a file there atomically (write it
elsewhere, rename it); names that start with a dot or lack `.json` are left alone. Every file is removed once
it is answered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import ActionError, did_you_mean

ACTIONS = ("pause_checkpoints", "resume_checkpoints", "checkpoint", "rollback", "set_lr", "stop")
LR_BOUNDS = (1e-4, 10.0)  # of the configured rate: enough to save a run, too little to end one by a slip
MAX_BYTES = 64 * 1024
_KEYS = {"id", "action", "lr", "reason"}


@dataclass(frozen=True, slots=True)
class Action:
    """One request. `lr` belongs to `set_lr` alone."""

    id: str
    action: str
    lr: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that is no valid action, and why."""

    id: str
    why: str


def take(folder: Path, base_lr: float) -> list[Action | Refused]:
    """Reads and removes every action in `folder`, oldest name first."""
    taken: list[Action | Refused] = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        if path.name.startswith("."):
            continue
        try:
            taken.append(parse(_read(path), path.stem, base_lr))
        except ActionError as error:
            taken.append(Refused(path.stem, error.what))
        try:
            path.unlink()
        except OSError as error:
            # What cannot be removed would come again at every step.
            taken[-1] = Refused(path.stem, f"the file cannot be removed: {error.strerror}")
    return taken


def parse(text: str, name: str, base_lr: float) -> Action:
    """The action written in `text`. `name` is its id if it gives none.

    Raises:
        ActionError: it is not JSON, not an action, or out of bounds.
    """
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ActionError("the file is not JSON") from error
    if not isinstance(found, dict):
        raise ActionError("an action is a JSON object")
    unknown = sorted(set(found) - _KEYS)
    if unknown:
        known = did_you_mean(unknown[0], _KEYS) or f"known: {', '.join(sorted(_KEYS))}"
        raise ActionError(f"unknown key {unknown[0]!r}; {known}")
    action, lr = found.get("action"), found.get("lr")
    if action not in ACTIONS:
        raise ActionError(f"unknown action {action!r}; one of {', '.join(ACTIONS)}")
    if any(not isinstance(found.get(key, ""), str) for key in ("id", "reason")):
        raise ActionError("id and reason are texts")
    if (lr is not None) != (action == "set_lr"):
        raise ActionError("set_lr needs lr, and no other action takes it")
    rate = None if lr is None else _within_bounds(lr, base_lr)
    return Action(found.get("id") or name, action, rate, found.get("reason", ""))


def _within_bounds(lr: object, base_lr: float) -> float:
    low, high = (base_lr * bound for bound in LR_BOUNDS)
    if isinstance(lr, int | float) and not isinstance(lr, bool) and low <= lr <= high:
        return float(lr)
    raise ActionError(f"lr {lr!r} is out of bounds: {low:.1e} to {high:.1e}")


def _read(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            raise ActionError("an action is a plain file")
        if path.stat().st_size > MAX_BYTES:
            raise ActionError(f"an action has at most {MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ActionError(f"the file cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ActionError("the file is not UTF-8") from error
