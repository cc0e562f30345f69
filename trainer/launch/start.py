"""Other ways to start a run than in the foreground: in the background (`--detach`), or as a batch job
(`--slurm`)."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hrmdoc.errors import ConfigError, UsageError, did_you_mean

from . import slurm

FLAGS = ("--detach", "--slurm", "--dry-run")


@dataclass(frozen=True, slots=True)
class Request:
    """How to start, and the words that are left for the trainer."""

    words: list[str]
    detach: bool = False
    job: slurm.BatchJob | None = None
    dry_run: bool = False


def parse(argv: Sequence[str]) -> Request:
    """Takes the options off `hrmdoc train`'s words. `--time 1:00:00` and `--time=1:00:00` are the same.

    Raises:
        UsageError: an option is unknown, lacks its value, or does not go with the others.
    """
    words, flags, values = [], set(), {}
    waiting = iter(argv)
    for word in waiting:
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            words.append(word)
        elif word in FLAGS:
            flags.add(word)
        elif name in slurm.OPTIONS:
            found = value if equals else next(waiting, "")
            if not found or found.startswith("--"):
                raise UsageError(f"{name} needs a value", hint=f"such as {name}={slurm.OPTIONS[name]}")
            values[name] = found
        else:
            known = (*FLAGS, *slurm.OPTIONS)
            raise UsageError(
                f"unknown option {word}",
                hint=did_you_mean(name, known) or "settings are written key=value, such as epochs=20",
            )
    if (values or "--dry-run" in flags) and "--slurm" not in flags:
        raise UsageError(f"{next(iter(values), '--dry-run')} goes with --slurm only", hint="add --slurm")
    if flags >= {"--detach", "--slurm"}:
        raise UsageError(
            "--detach and --slurm do not go together", hint="a batch job is in the background already"
        )
    job = slurm.BatchJob.of(values) if "--slurm" in flags else None
    return Request(words, "--detach" in flags, job, "--dry-run" in flags)


def name_of(run_dir: str | None, run_name: str | None) -> Path:
    """The run directory of a run that starts later: it has to be known now, to be followed and resumed."""
    return Path(run_dir or Path("runs") / (run_name or f"run-{datetime.now().astimezone():%Y%m%d-%H%M%S}"))


def detach(words: Sequence[str], run: Path) -> str:
    """Starts the trainer in a session of its own, which outlives the terminal. Returns how to follow and stop
    it.

    Raises:
        ConfigError: the log cannot be written.
    """
    log = run.with_name(f"{run.name}.out")
    command = [sys.executable, "-m", "hrmdoc.trainer", "train", *_with_place(words, run)]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
    except OSError as error:
        raise ConfigError(f"cannot start in the background: {error.strerror}", file=log) from error
    return (
        f"started in the background, process {process.pid}\n"
        f"  log     {log}\n"
        f"  follow  hrmdoc watch {shlex.quote(str(run))}\n"
        f"  stop    kill -TERM {process.pid}   (saves a checkpoint; resume={shlex.quote(str(run))} goes on)\n"
    )


def submit(
    words: Sequence[str], run: Path, job: slurm.BatchJob, env: Mapping[str, str], *, dry_run: bool
) -> str:
    """Writes the batch script beside the run and hands it to `sbatch`. Returns what to say.

    Raises:
        ConfigError: the script cannot be written, or `sbatch` is missing or refuses.
    """
    text = slurm.script(
        [sys.executable, "-m", "hrmdoc.trainer", "train", *_with_place(words, run), "resume=auto"], run, job
    )
    if dry_run:
        return text
    file = run.with_name(f"{run.name}.sbatch")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["sbatch", str(file)],
            capture_output=True,
            text=True,
            check=False,
            env=dict(env),
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise ConfigError(
            "sbatch is not on the PATH",
            file=file,
            hint="log in to the cluster, or look at the script with --dry-run",
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the job was not submitted: {error}", file=file) from error
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise ConfigError(
            f"sbatch refused the job: {why[-1]}", file=file, hint="check --account, --qos and --time"
        )
    number = done.stdout.split()[-1] if done.stdout.split() else "?"
    return (
        f"{done.stdout.strip()}\n  script  {file}\n  follow  hrmdoc watch {shlex.quote(str(run))}\n"
        f"  stop    scancel --signal=USR1 --batch {number}   (saves a checkpoint first)\n"
    )


def _with_place(words: Sequence[str], run: Path) -> list[str]:
    return [word for word in words if not word.startswith(("run_dir=", "run_name="))] + [
        f"run_dir={os.path.abspath(run)}"
    ]
