"""`hrmdoc train`: trains, starts a run in the background, or submits a batch job."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hrmdoc.errors import ConfigError, HrmdocError, UsageError

from ..config import load as configs
from ..config.overrides import AUTO, parse_overrides, preset_names, read_yaml, run_settings
from ..config.schema import TrainConfig
from ..data.locate import BUILTIN_PREFIX, check_data
from ..data.sudoku_dataset import BUILTIN
from ..launch import start as launch
from .screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..loop.job import Job
    from ..loop.loop import Outcome

USAGE = """usage: hrmdoc train [CONFIG.yaml] [key=value ...] [--detach]
       hrmdoc train --slurm [--account A] [--qos Q] [--constraint C] [--partition P] [--nodes N]
                    [--gpus-per-node G] [--cpus-per-task T] [--time HH:MM:SS] [--dry-run]
                    [CONFIG.yaml] [key=value ...]
       hrmdoc train --benchmark [--seq-len S] [--batch B] [key=value ...]
       torchrun --nproc-per-node N -m hrmdoc.trainer train [CONFIG.yaml] [key=value ...] [parallel=ddp|fsdp]
       hrmdoc evaluate CHECKPOINT ... (hrmdoc evaluate --help)
       hrmdoc dataset sudoku|maze|arc|text|builtin ... (hrmdoc dataset --help)

Keys are HRM's: hrmdoc train preset=demo epochs=40 lr=1e-3 arch.hidden_size=64.
A YAML file of them goes first. resume=auto alone goes on with the newest run below runs/ that did not end.
--detach runs in the background; --slurm submits a batch job; --benchmark measures steps. "-" below: not set.
"""
FIRST_RUNS = """
    hrmdoc train preset=demo                                       a first run: 4x4 Sudoku on one CPU thread
    hrmdoc train preset=sudoku                                     9x9 boards with 8 blanks, three minutes
    hrmdoc dataset --help                                          data of your own
    hrmdoc train --help                                            all options"""

DATA = f"""data_path=FOLDER with train/ and test/ (hrmdoc dataset --help), or one of
    {", ".join(f"{BUILTIN_PREFIX}{name}" for name in BUILTIN)}"""


def usage() -> str:
    """What `--help` prints: the calls, the presets, and all keys by group."""
    from ..config.help import keys_help, presets_help

    return f"{USAGE}{presets_help()}\n{keys_help()}\n"


def train(words: list[str]) -> int:
    """`hrmdoc train`: trains, and prints the run directory to stdout."""
    if "--benchmark" in words:
        from .benchmark import command

        return command(words)
    if not words and not Path(TrainConfig().data_path).is_dir():
        raise UsageError("there is nothing to train on: name a preset or data", hint=FIRST_RUNS)
    request = launch.parse(words)
    file, overrides = split_words(request.words)
    if file is not None and not file.exists() and file.name in preset_names():
        raise UsageError(f"there is no file {file}", hint=f"the preset of that name: preset={file.name}")
    config = read_config(file, overrides)
    if request.job is None:  # a batch job may find it where it runs
        if config.data_path == TrainConfig().data_path and not Path(config.data_path).is_dir():
            raise UsageError("no data are named, and HRM's own are not here", hint=DATA)
        check_data(config.data_path)
    if request.detach or request.job is not None:
        _start_elsewhere(request, launch.name_of(config.run_dir, config.run_name))
        return 0
    if sys.stderr.isatty():
        sys.stderr.write("loading PyTorch ...\n")
    from ..launch.env import is_chief
    from ..loop.loop import train as run_loop
    from ..setup.make import make_job

    screen = Screen(quiet=not is_chief(os.environ))
    job = make_job(config, None if file is None else str(file), screen.say)
    return _run(job, screen, run_loop)


def _run(job: Job, screen: Screen, run_loop: Callable[[Job], Outcome]) -> int:
    """Trains and reports the end; the exit status."""
    job.progress = screen.progress
    screen.begin(job.state.step, job.total_steps)
    try:
        outcome = run_loop(job)
    except HrmdocError:
        raise
    except Exception as error:  # noqa: BLE001  # the loop has written the traceback to the run directory
        screen.end()
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        sys.stderr.write(
            f"error: training failed at step {job.state.step}: {what}\n"
            f"  hint: hrmdoc analyze {job.run.path}\n"
        )
        return 1
    finally:
        screen.end()
    screen.say(_summary(job, outcome))
    if job.world.chief:
        sys.stdout.write(f"{job.run.path}\n")
    job.world.close()
    return _status(job, outcome)


def _status(job: Job, outcome: Outcome) -> int:
    """The exit status; what was lost is reported."""
    if outcome.lost:
        sys.stderr.write(_lost(job, outcome))
    if outcome.reason == "signal":
        return 128 + outcome.signal
    return 1 if outcome.reason == "nonfinite" or outcome.lost else 0


def _lost(job: Job, outcome: Outcome) -> str:
    """That the last state is not on the disk, and what to do."""
    from ..state.kept import found

    go_on = f"hrmdoc train resume={job.run.path} goes on from the last checkpoint that is whole"
    elsewhere = "checkpoint_path=... saves elsewhere"
    return (
        f"error: the state of step {outcome.step} was not saved: {outcome.lost}\n"
        f"  hint: {go_on if found(job.keeper.folder) else elsewhere}\n"
    )


def _start_elsewhere(request: launch.Request, run: Path) -> None:
    """Starts the run in the background, or hands it to the batch system."""
    if request.job is None:
        sys.stderr.write(launch.detach(request.words, run))
        sys.stdout.write(f"{run}\n")
    else:
        sys.stdout.write(launch.submit(request.words, run, request.job, os.environ, dry_run=request.dry_run))


def _summary(job: Job, outcome: Outcome) -> str:
    """How the run ended, what it reached, and what can be done next."""
    from ..state.kept import best_first, found

    reason = "" if outcome.reason == outcome.state else f" ({outcome.reason.replace('_', ' ')})"
    reached = [
        f"{key} {value:.4f}"
        for key, value in outcome.metrics.items()
        if key.endswith((".exact_accuracy", ".lm_loss"))
    ]
    lines = [" | ".join([f"{outcome.state} at step {outcome.step} of {job.total_steps}{reason}", *reached])]
    if best := next(iter(best_first(job.keeper.folder)), None):
        lines.append(
            f"  best      exact_accuracy {best.evaluated['exact_accuracy']:.4f}, lm_loss "
            f"{best.evaluated['lm_loss']:.4f} at step {best.step} "
            f"(ACT steps: {job.config.arch.halt_max_steps})"
        )
    lines.append(f"  diagnose  hrmdoc analyze {job.run.path}")
    if not found(job.keeper.folder):
        return "\n".join([*lines, "  no checkpoint was saved: the weights are lost"])
    if job.test is not None:
        lines.append(f"  evaluate  hrmdoc evaluate {job.run.path} --show 2")
    if outcome.step < job.total_steps:
        lines.append(f"  go on     hrmdoc train resume={job.run.path}")
    return "\n".join(lines)


def read_config(file: Path | None, words: list[str]) -> TrainConfig:
    """The configuration of a run; one that resumes starts from what that run was configured with.

    Raises:
        ConfigError: it is wrong, or there is no run to resume.
    """
    given = parse_overrides(words)
    resume = given.get("resume") or (read_yaml(file).get("resume") if file else None)
    if resume is not None and resume.value == AUTO and file is None and len(given) == 1:
        place = _newest_unfinished()
        words = [f"resume={place}"]
    elif resume is None or resume.value in (None, AUTO):
        return configs.load(file, words)
    else:
        place = Path(str(resume.value))
    base = run_settings(place)
    if not base:
        hint = "name a run directory, or one of its checkpoints/step_<N>"
        raise ConfigError("there is no run to resume here", file=place, hint=hint)
    return configs.load(file, words, base=base)


def _newest_unfinished() -> Path:
    """The run that `resume=auto` means where nothing else is said."""
    from ..setup.place import RUNS, unfinished

    for run in unfinished(RUNS):
        return run
    raise ConfigError("no run here is unfinished", file=RUNS, hint=f"start one:{FIRST_RUNS}")


def split_words(argv: list[str]) -> tuple[Path | None, list[str]]:
    """The configuration file, if one is named, and the overrides."""
    files = [word for word in argv if "=" not in word]
    if len(files) > 1:
        raise UsageError(
            f"one configuration file at most, not {len(files)}: {' '.join(files)}",
            hint="overrides are key=value",
        )
    if files and files[0].startswith("-"):
        raise UsageError(
            f"unknown option {files[0]}", hint="settings are written key=value, such as epochs=20"
        )
    return (Path(files[0]) if files else None), [word for word in argv if "=" in word]
