"""Batch scripts for Slurm: several nodes through torchrun, a checkpoint before the time is up, and a requeue
that goes on."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hrmdoc.errors import UsageError

GRACE_S = 120  # before the time limit: enough to finish a step and write a checkpoint
OPTIONS = {  # and an example of each
    "--account": "m1234",
    "--qos": "regular",
    "--constraint": "gpu",
    "--partition": "gpu",
    "--nodes": "2",
    "--gpus-per-node": "4",
    "--cpus-per-task": "32",
    "--time": "04:00:00",
}
_TIME = re.compile(r"(\d+-)?\d+(:\d{1,2}){0,2}")
_PLAIN = re.compile(r"[\w.,:|&@+*\[\]()-]+")


@dataclass(frozen=True, slots=True)
class BatchJob:
    """What is asked of Slurm; None leaves a thing to the cluster's own default."""

    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    partition: str | None = None
    nodes: int = 1
    gpus_per_node: int = 0
    cpus_per_task: int | None = None
    time: str = "01:00:00"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Self:
        """From the options' texts.

        Raises:
            UsageError: a number or a time is none, or a text would break out of its line.
        """
        found: dict[str, str | int] = {}
        for option, text in values.items():
            name = option.removeprefix("--").replace("-", "_")
            if name in ("nodes", "gpus_per_node", "cpus_per_task"):
                if not text.isdigit() or (int(text) < 1 and name != "gpus_per_node"):
                    raise UsageError(f"{option} is a number of at least 1, not {text!r}")
                found[name] = int(text)
            elif not (_TIME if name == "time" else _PLAIN).fullmatch(text):
                raise UsageError(
                    f"{option}={text!r} is not a value for Slurm", hint=f"such as {option}={OPTIONS[option]}"
                )
            else:
                found[name] = text
        return cls(**found)  # type: ignore[arg-type]


def script(command: Sequence[str], run: Path, job: BatchJob) -> str:
    """The batch script that runs `command` (an interpreter, `-m`, a module and its words) on the nodes of
    `job`.

    The batch shell is signalled two minutes before the time is up (USR1); it passes that on to torchrun on
    every node and so to the trainer, which saves a checkpoint and ends; then the job is put back into the
    queue and goes on from there.
    """
    options = {
        "job-name": run.name,
        "output": f"{run.absolute()}.slurm-%j.out",
        "open-mode": "append",
        "nodes": job.nodes,
        "ntasks-per-node": 1,
        "gpus-per-node": job.gpus_per_node or None,
        "cpus-per-task": job.cpus_per_task,
        "time": job.time,
        "account": job.account,
        "qos": job.qos,
        "partition": job.partition,
        "constraint": job.constraint,
        "signal": f"B:USR1@{GRACE_S}",
    }
    head = [
        f"#SBATCH --{name}={shlex.quote(str(value))}" for name, value in options.items() if value is not None
    ]
    workers = max(1, job.gpus_per_node)
    python, _, module, *words = command
    torchrun = (
        f"{shlex.quote(python)} -m torch.distributed.run --nnodes={job.nodes} --nproc-per-node={workers} "
        "--max-restarts=3 "
        '--rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID" --rdzv-endpoint="$head:$port" '
        "--signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1 "
        f"-m {shlex.quote(module)} {shlex.join(words)}"
    )
    return "\n".join(
        [
            "#!/bin/bash",
            *head,
            "#SBATCH --requeue",
            "",
            f"export OMP_NUM_THREADS=$(( ${{SLURM_CPUS_PER_TASK:-{workers}}} / {workers} ))",
            '[ "$OMP_NUM_THREADS" -ge 1 ] || export OMP_NUM_THREADS=1',
            f"export TORCH_ELASTIC_SHUTDOWN_TIMEOUT={GRACE_S - 20}  # torchrun kills after 30 s otherwise",
            'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
            "port=$(( 20000 + SLURM_JOB_ID % 20000 ))",
            "",
            "export head port",
            f"srun --kill-on-bad-exit=1 bash -c {shlex.quote('exec ' + torchrun)} &",
            "step=$!",
            "requeue=",
            "trap 'requeue=1; kill -USR1 \"$step\"' USR1  # the time is nearly up",
            "trap 'kill -TERM \"$step\"' TERM",
            'while kill -0 "$step" 2>/dev/null; do wait "$step"; status=$?; done',
            'if [ -n "$requeue" ]; then scontrol requeue "$SLURM_JOB_ID"; fi',
            'exit "$status"',
            "",
        ]
    )


def login_node(env: Mapping[str, str], *, gpu: bool, host: str | None = None) -> str | None:
    """A warning on what looks like a login node: Slurm is here, no job is, and the name or the lack of a GPU
    says."""
    if "SLURM_JOB_ID" in env or shutil.which("sbatch", path=env.get("PATH")) is None:
        return None
    name = (host or socket.gethostname()).split(".")[0]
    if re.search(r"login|^ln\d|^head\d*$", name) is None and gpu:
        return None
    return (
        f"{name} looks like a login node (Slurm is installed, this is no job"
        + ("" if gpu else ", there is no GPU")
        + "): processes are killed there; submit the run with hrmdoc train --slurm, "
        "or ask for a node with salloc"
    )
