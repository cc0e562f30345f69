"""Where a run writes, and which run it goes on with: a new one, a named one, or its own after a restart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hrmdoc.errors import ConfigError

from ..config.load import dump
from ..config.overrides import AUTO
from ..config.schema import TrainConfig
from ..launch.env import launch_of, restarted
from ..rundir import directory as rundir
from ..state.kept import NAME, found

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Place:
    """The run directory, and what is resumed: a run directory or one of its checkpoints, or None.

    `again` marks a run that begins anew in its own directory, because it ended before its first checkpoint.
    """

    path: Path
    resume: Path | None = None
    again: bool = False


def choose(config: TrainConfig, env: Mapping[str, str], root: Path = RUNS) -> Place:
    """The place of a run. A run that torchrun or Slurm starts again goes on in its own directory.

    Raises:
        ConfigError: the directory holds another run, or there is nothing to resume.
    """
    own = _own(config, env, root) if config.resume == AUTO or restarted(env) else None
    if own is not None:
        return Place(own, own) if found(checkpoints(config, own)) else Place(own, again=True)
    resumed = None if config.resume in (None, AUTO) else Path(str(config.resume))
    return Place(_where(config, resumed, root), resumed)


def checkpoints(config: TrainConfig, run: Path) -> Path:
    """Where the checkpoints of the run in the folder `run` lie."""
    return Path(config.checkpoint_path) if config.checkpoint_path else run / "checkpoints"


def _own(config: TrainConfig, env: Mapping[str, str], root: Path) -> Path | None:
    """The directory that an earlier start of this same run made, if there was one. With resume=auto that is
    also the newest run of this very configuration that did not come to its end."""
    if config.run_dir or config.run_name:
        path = Path(config.run_dir) if config.run_dir else root / str(config.run_name)
        return path if (path / "run.json").is_file() else None
    launch = launch_of(env)
    for run in _newest_first(root) if launch else []:
        if _fact(run, "launch") == launch:
            return run
    if config.resume != AUTO:
        return None
    wanted = recorded(config)
    return next((run for run in unfinished(root) if _text(run) == wanted), None)


def unfinished(root: Path) -> list[Path]:
    """The runs below `root` that did not come to their end, the newest first."""
    return [run for run in _newest_first(root) if _fact(run, "state") in ("running", "stopped", "crashed")]


def _newest_first(root: Path) -> list[Path]:
    files = [file for file in root.glob("*/run.json") if not file.parent.is_symlink()]
    return [file.parent for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)]


def recorded(config: TrainConfig) -> str:
    """What the run directory keeps of a configuration: without the three keys that name the run, so that the
    file starts a new one when it is used again, as after a patch."""
    return dump(replace(config, run_dir=None, run_name=None, resume=None))


def _text(run: Path) -> str | None:
    try:
        return (run / "config.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _fact(run: Path, name: str) -> object:
    """What run.json says under that name."""
    try:
        known = json.loads((run / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known.get(name) if isinstance(known, dict) else None


def _where(config: TrainConfig, resumed: Path | None, root: Path) -> Path:
    if resumed is None or config.run_dir:
        same = (
            resumed is not None
            and config.run_dir is not None
            and Path(config.run_dir).resolve() == resumed.resolve()
        )
        return (
            resumed.resolve()
            if same and resumed
            else rundir.choose(config.run_dir, config.run_name, config.data_path, root)
        )
    run = resumed.parent.parent if NAME.fullmatch(resumed.name) else resumed
    if not (run / "config.yaml").is_file():
        raise ConfigError(
            "there is no run to resume here",
            file=resumed,
            hint="name a run directory, or one of its checkpoints/step_<N>",
        )
    return run.resolve()  # runs/latest is a link, and is set anew to this folder's own name
