"""The training loop that the small supervised programs share."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

import torch
import toy_logs
from torch import Tensor, nn
from toy_faults import FAULTS, Fault


@dataclass(frozen=True)
class Config:
    """Everything that can be set. `grad_clip` 0 is off; `warmup` and `steps` are optimizer steps.

    `task` names another task of the same program; every `hard_every`-th batch has half of its targets mixed
    up, 0 is none.
    """

    lr: float = 1e-3
    optimizer: str = "adamw"
    schedule: str = "cosine"
    warmup: int = 20
    min_lr_ratio: float = 0.1
    steps: int = 600
    batch_size: int = 32
    grad_clip: float = 1.0
    weight_decay: float = 0.01
    dropout: float = 0.0
    hidden: int = 64
    layers: int = 2
    train_samples: int = 4000
    eval_samples: int = 500
    noise: float = 0.05
    label_smoothing: float = 0.0
    precision: str = "fp32"
    loss_scale: float = 65536.0
    log_every: int = 10
    eval_every: int = 50
    resume_at: int = 0
    logger: str = ""
    task: str = ""
    hard_every: int = 0
    seed: int = 0


@dataclass
class Data:
    """Inputs and targets of both splits, one sample a row."""

    x: Tensor
    y: Tensor
    eval_x: Tensor
    eval_y: Tensor


class Task(Protocol):
    """What a program adds: its data, its model and its measure."""

    defaults: dict[str, Any]
    logger: str

    def data(self, config: Config, random: torch.Generator) -> Data: ...

    def model(self, config: Config) -> nn.Module: ...

    def loss(self, output: Tensor, target: Tensor, config: Config) -> Tensor: ...

    def accuracy(self, output: Tensor, target: Tensor) -> float | None: ...


@dataclass
class State:
    """A run in progress, and where faults reach into it."""

    config: Config
    task: Task
    data: Data
    model: nn.Module
    optimizer: torch.optim.Optimizer
    random: torch.Generator
    step: int = 0
    order: Iterator[Tensor] = field(default_factory=lambda: iter(()))
    scale: float = 1.0
    good_steps: int = 0
    skipped: int = 0
    shuffle: bool = True
    clock_offset: int = 0


def main(task: Task) -> None:
    """Reads the specification from the command line, trains, and leaves the logs in the working folder."""
    spec = json.loads(sys.argv[1])
    known = {one.name for one in fields(Config)}
    settings = {key: value for key, value in spec["settings"].items() if key in known}
    config = Config(**{**task.defaults, **settings, "seed": spec["seed"]})
    kind = FAULTS[spec["fault"]] if spec["fault"] else Fault
    given = {key: spec[key] for key in ("strength", "onset") if spec[key] is not None}
    train(task, config, kind(**given))


def train(task: Task, config: Config, fault: Fault) -> None:
    """One run from start to end; a fault that raises ends it with its own traceback."""
    config = fault.config(config)
    log = toy_logs.LOGGERS[config.logger or task.logger](config)
    toy_logs.write_config(asdict(config), config.logger or task.logger)
    state = _build(task, config, fault)
    while state.step < config.steps:
        if state.step and state.step == (config.resume_at or fault.resume_at):
            state = _resumed(state, task, config, fault, log)
        state.step += 1
        began = time.perf_counter()
        _step(state, fault, log, began)
        if state.step % config.eval_every == 0 or state.step == config.steps:
            _evaluate(state, fault, log)
        fault.after_step(state)
    log.close()


def _build(task: Task, config: Config, fault: Fault) -> State:
    torch.manual_seed(config.seed)
    random = torch.Generator().manual_seed(config.seed)
    data = fault.data(task.data(config, random), config)
    model = task.model(config)
    state = State(config, task, data, model, _optimizer(config, model), random, scale=config.loss_scale)
    fault.built(state)
    return state


def _optimizer(config: Config, model: nn.Module) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.lr, momentum=0.9, weight_decay=config.weight_decay)
    return torch.optim.AdamW(
        parameters, lr=config.lr, weight_decay=config.weight_decay, betas=(0.9, 0.95), fused=True
    )


def _resumed(state: State, task: Task, config: Config, fault: Fault, log: toy_logs.Logger) -> State:
    """Writes a checkpoint and goes on from it with everything built anew, as a second start does."""
    path = Path("checkpoint.pt")
    saved = {
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "random": state.random.get_state(),
        "step": state.step,
        "scale": state.scale,
    }
    torch.save(saved, path)
    fault.saved(path)
    order = state.order
    print(f"resuming from {path} at step {state.step}", flush=True)
    again = _build(task, fault.second_config(config), fault)
    loaded = torch.load(path, weights_only=True)
    again.model.load_state_dict(loaded["model"])
    again.optimizer.load_state_dict(loaded["optimizer"])
    again.random.set_state(loaded["random"])
    again.step, again.scale, again.order = loaded["step"], loaded["scale"], order
    fault.resumed(again)
    log.resumed(again.step)
    return again


def learning_rate(config: Config, step: int) -> float:
    """The rate that the schedule asks for at `step` (1-based)."""
    if step <= config.warmup:
        return config.lr * step / config.warmup
    share = min(1.0, (step - config.warmup) / max(1, config.steps - config.warmup))
    floor = config.min_lr_ratio
    shapes: dict[str, Callable[[], float]] = {
        "constant": lambda: 1.0,
        "cosine": lambda: floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share)),
        "linear": lambda: floor + (1 - floor) * (1 - share),
        "step": lambda: 0.3 ** int(share * 3),
        "cyclic": lambda: floor + (1 - floor) * abs(1 - 2 * ((share * 4) % 1)),
        "restarts": lambda: floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * ((share * 3) % 1))),
    }
    return config.lr * shapes[config.schedule]()


def _batches(state: State) -> Iterator[Tensor]:
    """Row indices, epoch after epoch, shuffled unless a fault took that away."""
    while True:
        count = len(state.data.x)
        rows = torch.randperm(count, generator=state.random) if state.shuffle else torch.arange(count)
        yield from (
            rows[i : i + state.config.batch_size]
            for i in range(0, max(1, count - state.config.batch_size + 1), state.config.batch_size)
        )


def _next_rows(state: State) -> Tensor:
    rows = next(state.order, None)
    if rows is None:
        state.order = _batches(state)
        rows = next(state.order)
    return rows


def _step(state: State, fault: Fault, log: toy_logs.Logger, began: float) -> None:
    config, model = state.config, state.model
    fault.before_step(state)
    rows = _next_rows(state)
    x, y = fault.batch(state, state.data.x[rows], _hard(state, state.data.y[rows]))
    loaded = time.perf_counter()
    lr = fault.lr(state, learning_rate(config, state.step + state.clock_offset))
    for group in state.optimizer.param_groups:
        group["lr"] = lr
    model.train()
    output = fault.output(state, model(x))
    loss = fault.loss(state, state.task.loss(output, y, config))
    state.optimizer.zero_grad()
    scaled = loss * state.scale if config.precision == "fp16" else loss
    if scaled.requires_grad:
        scaled.backward()  # type: ignore[no-untyped-call]
    fault.after_backward(state)
    grad_norm, usable = _gradients(state)
    if usable:
        state.optimizer.step()
    if state.step % config.log_every == 0 or state.step == 1:
        now = time.perf_counter()
        values = {
            "loss": float(loss.detach()),
            "lr": lr,
            "grad_norm": grad_norm,
            "step_time": now - began,
            "data_time": loaded - began,
        }
        values |= _accuracy(state, fault, output.detach(), y)
        if config.precision == "fp16":
            values["loss_scale"] = state.scale
        values["samples_per_second"] = len(x) / max(now - began, 1e-9)
        log.train(state.step, {**values, **fault.extra(state)})


def _hard(state: State, y: Tensor) -> Tensor:
    """Every `hard_every`-th batch is a hard one, as large data sets have: a spike of the loss, gone with the
    next batch."""
    if not state.config.hard_every or state.step % state.config.hard_every:
        return y
    half = len(y) // 2
    return torch.cat([y[:half].roll(1, 0), y[half:]])


def _gradients(state: State) -> tuple[float, bool]:
    """The gradient norm before clipping, and whether the optimizer may step: under fp16 not when a gradient
    overflowed."""
    parameters = [p for p in state.model.parameters() if p.grad is not None]
    usable = True
    if state.config.precision == "fp16":
        for p in parameters:
            assert p.grad is not None
            p.grad = p.grad.half().float() / state.scale
        usable = all(bool(torch.isfinite(p.grad).all()) for p in parameters if p.grad is not None)
        state.good_steps = state.good_steps + 1 if usable else 0
        state.skipped += not usable
        if not usable:
            state.scale /= 2
            print(f"Gradient overflow. Skipping step, reducing loss scale to {state.scale}", flush=True)
        elif state.good_steps % 200 == 0:
            state.scale *= 2
    limit = state.config.grad_clip or math.inf
    if not parameters:
        return 0.0, True
    norm = float(torch.nn.utils.clip_grad_norm_(parameters, limit if usable else math.inf))
    return norm, usable


@torch.no_grad()
def _evaluate(state: State, fault: Fault, log: toy_logs.Logger) -> None:
    state.model.eval()
    x, y = state.data.eval_x, state.data.eval_y
    output = torch.cat([fault.output(state, state.model(part)) for part in x.split(512)])
    plain = replace(state.config, label_smoothing=0.0)
    log.evaluate(
        state.step, {"loss": float(state.task.loss(output, y, plain)), **_accuracy(state, fault, output, y)}
    )


def _accuracy(state: State, fault: Fault, output: Tensor, target: Tensor) -> dict[str, float]:
    wrong = fault.hits(output, target)
    accuracy = state.task.accuracy(output, target) if wrong is None else wrong
    return {} if accuracy is None else {"accuracy": accuracy}
