"""What the programs of the replays share: reading a config, the run directory, how an end is recorded."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from hrmdoc.errors import ConfigError, HrmdocError, UsageError

from ..config.overrides import read_yaml
from ..launch.env import is_chief, world_size
from ..rundir.control import Refused, take
from ..rundir.directory import RunDir, claim
from ..rundir.ranklog import RankLog

S = TypeVar("S")


def read(path: Path, kind: type[S]) -> S:
    """The settings of a config.

    Raises:
        ConfigError: it cannot be read, or holds what is no setting.
    """
    stated = {key: setting.value for key, setting in read_yaml(path).items()}
    if unknown := sorted(stated.keys() - {one.name for one in fields(cast(Any, kind))}):
        raise ConfigError(f"there is no setting {unknown[0]!r}", file=path)
    try:
        return msgspec.convert(stated, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), file=path) from error


def serve(words: list[str], name: str, kind: type[S], train: Callable[[S, RunDir], int]) -> int:
    """Trains by a config into a run directory.

    Args:
        words: `CONFIG run_dir=FOLDER`.
        name: of the program, for its usage.
        kind: of its settings.
        train: what it does; the last step is given back.

    Returns:
        0 done, 1 the training raised, 2 wrong input.
    """
    try:
        match words:
            case [config, folder] if folder.startswith("run_dir="):
                place = Path(folder.removeprefix("run_dir="))
            case _:
                raise UsageError(f"usage: python -m hrmdoc.trainer.replay.{name} CONFIG run_dir=FOLDER")
        settings = read(Path(config), kind)
        run = _run(place)
        stated = {"config_source": str(Path(config).resolve()), "seed": getattr(settings, "seed", None)}
        run.describe(_yaml(asdict(cast(Any, settings))), stated)
    except HrmdocError as error:
        _say(f"hrmdoc: {error}")
        return 2
    return _recorded(run, lambda: train(settings, run))


def _run(place: Path) -> RunDir:
    """Of several processes the first writes the run; the launcher keeps what all of them say."""
    if not is_chief(os.environ):
        place.mkdir(parents=True, exist_ok=True)
        return RankLog(place, int(os.environ["RANK"]))
    return RunDir(place, _say if world_size(os.environ) == 1 else _silent, claim(place))


def _recorded(run: RunDir, train: Callable[[], int]) -> int:
    """Trains, and leaves its end in the run directory, whatever it is."""
    try:
        step = train()
    except HrmdocError as error:
        _say(f"hrmdoc: {error}")
        run.close(run.alive[1], "crashed")
        return 2
    except Exception as error:  # noqa: BLE001  # whatever ends the training belongs into its record
        step = run.alive[1]
        text = traceback.format_exc().rstrip()
        run.event("exception", step, type=type(error).__name__, message=str(error), traceback=text)
        run.log(text)
        run.event("ended", step, state="crashed", reason="exception")
        run.close(step, "crashed")
        return 1
    run.event("ended", step, reason="finished")
    run.close(step, "finished")
    return 0


def told_to_stop(run: RunDir, step: int, lr: float) -> bool:
    """Answers what lies in the inbox; the one action that these programs know is `stop`."""
    stop = False
    for action in take(run.control, lr):
        asked = "" if isinstance(action, Refused) else action.action
        done = asked == "stop"
        stop = stop or done
        run.event("action", step, id=action.id, action=asked, status="done" if done else "refused")
    return stop


def _yaml(settings: dict[str, object]) -> str:
    """The resolved config as it is kept in the run."""
    lines = (
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}"
        for key, value in settings.items()
    )
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def _silent(line: str) -> None:
    del line
