"""From a configuration to a job that is ready to run: data, device plan, run directory, model."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import torch

from hrmdoc.beats import VARIABLE, is_redis
from hrmdoc.errors import ConfigError
from hrmdoc.locks import Lock

from ..config import load as configs
from ..config.overrides import AUTO
from ..config.schema import TrainConfig
from ..data import DataInfo, PuzzleData, dataset_hash
from ..data.iterate import TrainIterator
from ..data.locate import check_hash, open_data
from ..devices.machine import apply
from ..devices.plan import Plan
from ..faults import fault_of
from ..launch.env import world_size
from ..loop.job import Job
from ..parallel.world import World, start
from ..rundir.directory import RunDir, Say, claim
from ..rundir.ranklog import RankLog
from ..rundir.wandb_sink import Tee, WandbSink, project_of, run_of
from ..state.build import build
from ..state.feed import Feed
from ..state.keeper import Keeper
from . import autotune
from . import place as places
from .facts import classes_in, facts_of
from .head import begin
from .plan import make_plan


def make_job(config: TrainConfig, source: str | None, say: Say) -> Job:
    """Builds everything that `config` describes and starts its run directory.

    Args:
        source: the configuration file, for the record.
        say: receives each line of the log.

    Raises:
        ConfigError, InputError: the configuration, the data or the checkpoint is wrong. A new run directory
            is made only after the configuration and the data were found good.
    """
    configs.check_world(config, world_size(os.environ))
    fault = fault_of(config.fault)
    config = fault.config(config)
    plan = make_plan(config, os.environ)
    if plan.scaler and config.parallel.strategy == "fsdp" and world_size(os.environ) > 1:
        raise ConfigError("parallel=fsdp does not go with float16", hint="dtype=bfloat16, or parallel=ddp")
    world = start(plan.device, config.parallel.timeout_s, os.environ)
    path = world.from_first(lambda: open_data(config.data_path))
    digest = dataset_hash(path)
    check_hash(config, path, digest)
    data = PuzzleData(path, "train")
    test = PuzzleData(path, "test") if (path / "test").is_dir() else None
    device = apply(plan)
    config, tuning = _autotuned(config, plan, data.info, world)
    total = configs.total_steps(config, data.info.total_groups, data.info.mean_puzzle_examples)
    stream = fault.source(TrainIterator(data, config.global_batch_size, config.seed, world.rank, world.size))
    feed = Feed(stream, device, pin=plan.pin_memory, ahead=plan.num_workers)
    state = build(config, plan, data.info, feed, digest, config.global_batch_size // world.size, world)
    fault.built(state)

    locks: list[Lock] = []
    place = world.from_first(lambda: _claimed(config, locks))
    run = _open_run(config, place.path, world, say, locks)
    folder = places.checkpoints(config, run.path)
    keeper = Keeper(
        run,
        folder,
        config.checkpoint_keep,
        lambda saved, file: fault.write(saved, file, torch.save),
        fault.saved,
    )
    if place.resume is not None:
        try:
            keeper.resume(state, place.resume, accept_data=config.data_hash is not None)
        except BaseException:
            run.release()
            raise
    keeper.recall_pause(world, state.step)
    job = Job(config, plan, run, state, keeper, fault, test, total, _eval_steps(config, data.info), world)
    facts = facts_of(config, plan, source, world) | {
        "data_path": str(path),
        "data_hash": digest,
        "samples": data.examples,
        "groups": data.info.total_groups,
        "vocab_size": data.info.vocab_size,
        "seq_len": data.info.seq_len,
        "classes": classes_in(data),
        "parameters": state.model.num_parameters(),
        "trainable_parameters": state.model.num_parameters(trained=True),
        "total_steps": total,
    }
    again = (
        "warning: an earlier start of this run ended before its first checkpoint; beginning at step 0 again"
    )
    fresh = config.resume == AUTO and place.resume is None and not place.again
    new = "resume=auto: no unfinished run of this configuration is here; a new one begins"
    begin(job, facts, place.resume is not None, [tuning, again if place.again else "", new if fresh else ""])
    return job


def _claimed(config: TrainConfig, locks: list[Lock]) -> places.Place:
    """The place of the run, in which no other process trains; the locks that see to it are added to
    `locks`."""
    place = places.choose(config, os.environ)
    shared = [Path(config.checkpoint_path)] if config.checkpoint_path else []
    locks += claim(place.path, *shared)
    return place


def _open_run(config: TrainConfig, path: Path, world: World, say: Say, locks: list[Lock]) -> RunDir:
    """The run directory as this process sees it, with W&B beside its event file where that is wanted."""
    if not world.chief:
        return RankLog(path, world.rank)
    run = RunDir(path, say, locks)
    if where := _heartbeat(config):
        run.beat_to(where)
    if config.wandb:
        name = config.run_name or run_of(config.arch.name, run.path.name)
        project = config.project_name or project_of(config.data_path)
        mode: Literal["online", "offline"] = "offline" if config.wandb == "offline" else "online"
        run.scalars = Tee(run.scalars, WandbSink(mode, run.path, project, name, asdict(config), run.log))
    return run


def _heartbeat(config: TrainConfig) -> str | None:
    """Where signs of life go beside the run's own file.

    Raises:
        ConfigError: the address holds a password, which would stand in the run's config.yaml.
    """
    if config.heartbeat and "@" in config.heartbeat and is_redis(config.heartbeat):
        hint = f"give an address with a password by the variable {VARIABLE}"
        raise ConfigError("heartbeat: the run's record would hold its password", hint=hint)
    return config.heartbeat or os.environ.get(VARIABLE)


def _eval_steps(config: TrainConfig, info: DataInfo) -> float:
    """Steps between evaluations; HRM counts them in epochs of the whole run, whatever `max_steps` leaves of
    it."""
    full = configs.total_steps(config, info.total_groups, info.mean_puzzle_examples, capped=False)
    return max(1.0, full * (config.eval_interval or config.epochs) / config.epochs)


def _autotuned(config: TrainConfig, plan: Plan, info: DataInfo, world: World) -> tuple[TrainConfig, str]:
    """The configuration with the batch that fits, and what to say of it. A run that is resumed keeps its
    batch."""
    if not config.autotune or (config.resume is not None and config.resume != AUTO):
        return config, ""
    if plan.device == "cpu":
        return (
            config,
            "warning: autotune needs a GPU: a host that runs out of memory kills the process "
            "instead of saying so",
        )
    found = autotune.tune(config, plan, info, world)
    note = (
        f"autotune: {found.fits} rows fit; "
        f"global_batch_size={found.global_batch_size} grad_accum={found.grad_accum}"
    )
    return autotune.tuned(config, found), note
