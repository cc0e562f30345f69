"""From a configuration to a job that is ready to run: data, device plan, run directory, model, and what is
known of them."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from hrmdoc.errors import ConfigError

from ..config import load as configs
from ..config.overrides import AUTO
from ..config.schema import TrainConfig
from ..data import DataInfo, PuzzleData, dataset_hash
from ..data.feed import Feed
from ..data.iterate import TrainIterator
from ..data.locate import open_data
from ..devices import devices
from ..faults import fault_of
from ..launch import slurm
from ..loop.job import Job
from ..model.selfcheck import positions_mix
from ..native import native
from ..parallel import world as parallel
from ..rundir import directory as rundir
from ..rundir.ranklog import RankLog
from ..rundir.tb import Row
from ..rundir.wandb_sink import Tee, WandbSink, project_of, run_of
from ..state.keeper import Keeper
from ..state.state import build
from . import autotune
from . import place as places

PACKAGES = ("hrmdoc", "torch", "numpy")
DEAF = (
    "self-check: the state at a position does not depend on the tokens at others: attention runs over a wrong axis, or a mask "
    "hides everything; each position can only learn to guess by itself"
)
SAMPLED_LABELS = 10_000  # rows that are looked at to count the classes


def check_hash(config: TrainConfig, path: Path, digest: str | None = None) -> None:
    """Refuses a dataset whose hash (`digest`, taken here if None) is not the one that `config` asks for, if
    it asks for one."""
    if config.data_hash is None:
        return
    digest = digest or dataset_hash(path)
    if config.data_hash.removeprefix("sha256:") != digest:
        raise ConfigError(
            f"the dataset has changed: its hash is {digest}, not {config.data_hash}",
            file=path,
            hint="restore the data",
        )


def make_plan(config: TrainConfig, env: Mapping[str, str]) -> devices.Plan:
    """The device plan that `config` asks for on this machine.

    Raises:
        ConfigError: it asks for what this machine does not have: a device, or a compiler for native=true.
    """
    asked = (
        config.arch.forward_dtype if config.dtype == "auto" and config.arch.forward_dtype else config.dtype
    )
    request = devices.Request(
        device=config.device,
        dtype=asked,
        compile=config.compile,
        native=config.native,
        native_obstacle=_native_obstacle(config, env),
        threads=config.threads,
        deterministic=config.deterministic,
        hidden_size=config.arch.hidden_size,
        grad_accum=config.grad_accum,
        processes=int(env.get("LOCAL_WORLD_SIZE") or 1),
    )
    chosen = devices.plan(request, devices.probe(), env)
    if chosen.native:
        try:
            native.library()
        except ConfigError as error:
            if config.native is True:
                raise
            return replace(chosen, native=False, native_reason=error.what)
    return chosen


def _native_obstacle(config: TrainConfig, env: Mapping[str, str]) -> str | None:
    """Why the kernels in C cannot train this run on any device."""
    if fault_of(config.fault).in_layers:
        return "the fault reaches into layers that they pass by"
    if config.parallel.strategy == "fsdp" and parallel.world_size(env) > 1:
        return "FSDP gathers the weights for PyTorch's layers"
    return native.obstacle(config.arch.hidden_size, causal=config.arch.causal, mlp_t=config.arch.mlp_t)


def make_job(config: TrainConfig, source: str | None, say: rundir.Say) -> Job:
    """Builds everything that `config` describes and starts its run directory.

    Args:
        source: the configuration file, for the record.
        say: receives each line of the log.

    Raises:
        ConfigError, InputError: the configuration, the data or the checkpoint is wrong. A new run directory
            is made only after the configuration and the data were found good.
    """
    configs.check_world(config, parallel.world_size(os.environ))
    fault = fault_of(config.fault)
    config = fault.config(config)
    plan = make_plan(config, os.environ)
    if plan.scaler and config.parallel.strategy == "fsdp" and parallel.world_size(os.environ) > 1:
        raise ConfigError("parallel=fsdp does not go with float16", hint="dtype=bfloat16, or parallel=ddp")
    world = parallel.start(plan.device, config.parallel.timeout_s, os.environ)
    path = world.from_first(lambda: open_data(config.data_path))
    digest = dataset_hash(path)
    check_hash(config, path, digest)
    data = PuzzleData(path, "train")
    test = PuzzleData(path, "test") if (path / "test").is_dir() else None
    device = devices.apply(plan)
    config, tuning = _autotuned(config, plan, data.info, world)
    total = configs.total_steps(config, data.info.total_groups, data.info.mean_puzzle_examples)
    stream = fault.source(TrainIterator(data, config.global_batch_size, config.seed, world.rank, world.size))
    feed = Feed(stream, device, pin=plan.pin_memory, ahead=plan.num_workers)
    state = build(config, plan, data.info, feed, digest, config.global_batch_size // world.size, world)
    fault.built(state)

    place = world.from_first(lambda: places.choose(config, os.environ))
    run = _open_run(config, place.path, world, say)
    folder = Path(config.checkpoint_path) if config.checkpoint_path else run.checkpoints
    keeper = Keeper(
        run,
        folder,
        config.checkpoint_keep,
        lambda saved, file: fault.write(saved, file, torch.save),
        fault.saved,
    )
    if place.resume is not None:
        keeper.resume(state, place.resume, accept_data=config.data_hash is not None)
    job = Job(config, plan, run, state, keeper, fault, test, total, _eval_steps(config, data.info), world)
    facts = _facts(config, plan, source, world) | {
        "data_path": str(path),
        "data_hash": digest,
        "samples": data.examples,
        "groups": data.info.total_groups,
        "vocab_size": data.info.vocab_size,
        "seq_len": data.info.seq_len,
        "classes": _classes(data),
        "parameters": state.model.num_parameters(),
        "trainable_parameters": state.model.num_parameters(trained=True),
        "total_steps": total,
    }
    again = (
        "warning: an earlier start of this run ended before its first checkpoint; beginning at step 0 again"
    )
    _begin(job, facts, place.resume is not None, [tuning, again if place.again else ""])
    return job


def _open_run(config: TrainConfig, path: Path, world: parallel.World, say: rundir.Say) -> rundir.RunDir:
    """The run directory as this process sees it, with W&B beside its event file where that is wanted."""
    if not world.chief:
        return RankLog(path, world.rank)
    run = rundir.RunDir(path, say)
    if config.wandb:
        name = config.run_name or run_of(config.arch.name, run.path.name)
        project = config.project_name or project_of(config.data_path)
        mode: Literal["online", "offline"] = "offline" if config.wandb == "offline" else "online"
        run.scalars = Tee(run.scalars, WandbSink(mode, run.path, project, name, asdict(config), run.log))
    return run


def _eval_steps(config: TrainConfig, info: DataInfo) -> float:
    """Steps between evaluations; HRM counts them in epochs of the whole run, whatever `max_steps` leaves of
    it."""
    full = configs.total_steps(config, info.total_groups, info.mean_puzzle_examples, capped=False)
    return max(1.0, full * (config.eval_interval or config.epochs) / config.epochs)


def _begin(job: Job, facts: dict[str, Any], resumed: bool, notes: list[str]) -> None:
    """Writes what runs into the run directory, and into its log what a person should know at the start."""
    config, run, state = job.config, job.run, job.state
    # Without these three the file starts a new run of its own when it is used again, as after a patch.
    run.describe(configs.dump(replace(config, run_dir=None, run_name=None, resume=None)), facts)
    for note in filter(None, notes):
        run.log(note)
    begun = {"restarts": state.restarts, "total_steps": job.total_steps, "fault": config.fault}
    run.event("resumed" if resumed else "started", state.step, **begun)
    run.scalars.write([Row(state.step, time.time(), {"num_params": float(facts["parameters"])})])
    _tell(job, facts)
    if not state.split and not positions_mix(state.model):
        run.warn(state.step, DEAF)


def _autotuned(
    config: TrainConfig, plan: devices.Plan, info: DataInfo, world: parallel.World
) -> tuple[TrainConfig, str]:
    """The configuration with the batch that fits, and what to say of it. A run that is resumed keeps its
    batch."""
    if not config.autotune or (config.resume is not None and config.resume != AUTO):
        return config, ""
    if plan.device == "cpu":
        return (
            config,
            "warning: autotune needs a GPU: a host that runs out of memory kills the process instead of saying so",
        )
    found = autotune.tune(config, plan, info, world)
    told = f"autotune: {found.fits} rows fit; global_batch_size={found.global_batch_size} grad_accum={found.grad_accum}"
    return autotune.tuned(config, found), told


def _tell(job: Job, facts: dict[str, Any]) -> None:
    """The head of the log: where the run is, what runs, and what is odd about it."""
    config, plan, run, world = job.config, job.plan, job.run, job.world
    run.log(f"run directory {run.path} (watch it with: hrmdoc watch {run.path})")
    trained = facts["trainable_parameters"]
    frozen = f" ({trained:,} of them trained)" if trained < facts["parameters"] else ""
    run.log(
        f"{facts['parameters']:,} parameters{frozen} | {facts['samples']:,} examples | "
        f"steps {job.state.step} to {job.total_steps} | {plan.device} {plan.dtype} | {plan.attention}: {plan.attention_reason}"
        f"{_kernels(plan)}"
    )
    if world.size > 1:
        talk = parallel.settings(plan.device, config.parallel.timeout_s, os.environ)
        run.log(
            f"{world.size} processes ({config.parallel.strategy}), {config.global_batch_size // world.size} rows each: {talk}"
        )
    login = slurm.login_node(os.environ, gpu=plan.device == "cuda")
    for warning in (
        *plan.warnings,
        *([login] if login else []),
        *configs.schedule_warnings(config, job.total_steps),
    ):
        run.warn(job.state.step, warning)


def _kernels(plan: devices.Plan) -> str:
    if plan.device != "cpu":
        return ""
    return (
        f" | native kernels: {plan.native_reason}"
        if plan.native
        else f" | no native kernels: {plan.native_reason}"
    )


def _classes(data: PuzzleData) -> int:
    """How many different labels occur, in a sample of the rows."""
    labels = np.unique(np.concatenate([part.labels[:SAMPLED_LABELS].ravel() for part in data.sets]))
    return (
        int((labels != data.info.ignore_label_id).sum())
        if data.info.ignore_label_id is not None
        else len(labels)
    )


def _facts(
    config: TrainConfig, plan: devices.Plan, source: str | None, world: parallel.World
) -> dict[str, Any]:
    machine = devices.probe()
    return {
        "framework": "hrm",
        "kind": "hrm",
        "config_source": source,
        "git_commit": git_commit(),
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "device": plan.device,
        "device_name": machine.name,
        "device_memory_gib": None
        if machine.memory_bytes is None
        else round(machine.memory_bytes / (1 << 30), 2),
        "cpu_count": machine.cpus,
        "world_size": world.size,
        **parallel.describe(os.environ),
        "precision": {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[plan.dtype],
        "plan": asdict(plan),
        "env": {
            key: os.environ[key]
            for key in ("OMP_NUM_THREADS", "DISABLE_COMPILE", "USE_FLASH_ATTN")
            if key in os.environ
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "seed": config.seed,
    }


def git_commit(folder: Path | None = None) -> str | None:
    """The commit that `folder` (by default the working folder) is at, or None outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _version(package: str) -> str | None:
    if package in sys.modules and hasattr(sys.modules[package], "__version__"):
        return str(sys.modules[package].__version__)
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
