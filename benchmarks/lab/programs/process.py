"""A plain training script with timestamps in its log, for faults of the process, its machine and its
start."""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train")
STEPS, ONSET, PORT = 120, 60, 29611


class Samples(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Sixteen features and their noisy sum; reads each sample from text, as line-based datasets do."""

    def __init__(self, bad: int | None = None, deadly: int | None = None) -> None:
        random = torch.Generator().manual_seed(0)
        x = torch.randn(512, 16, generator=random)
        y = x.sum(1, keepdim=True) / 4 + 0.1 * torch.randn(512, 1, generator=random)
        self.lines = [
            json.dumps({"x": row.tolist(), "y": target.tolist()}) for row, target in zip(x, y, strict=True)
        ]
        if bad is not None:
            self.lines[bad] = self.lines[bad][:40]
        self.deadly = deadly

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        sample = json.loads(self.lines[index])
        return torch.tensor(sample["x"]), torch.tensor(sample["y"])


def batches(samples: Samples, workers: int = 0) -> Iterator[list[torch.Tensor]]:
    """Batches without end."""
    while True:
        yield from DataLoader(samples, batch_size=32, num_workers=workers)


def train(samples: Samples, before: Callable[[int, nn.Module], None], workers: int = 0) -> None:
    """The loop; `before` is called before each step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    stream = batches(samples, workers)
    for step in range(1, STEPS + 1):
        before(step, model)
        x, y = next(stream)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        time.sleep(0.004)
        if step % 4 == 0:
            log.info("step %d/%d loss %.4f grad_norm %.4f lr 3.0e-03", step, STEPS, loss.item(), norm.item())
    log.info("training finished")


def nothing(step: int, model: nn.Module) -> None:
    del step, model


def hang(step: int, model: nn.Module) -> None:
    del model
    while step == ONSET:
        time.sleep(1)


def killed(step: int, model: nn.Module) -> None:
    del model
    if step == ONSET:
        os.kill(os.getpid(), signal.SIGKILL)


def preempted(step: int, model: nn.Module) -> None:
    del model
    if step == ONSET:
        os.kill(os.getpid(), signal.SIGTERM)


def out_of_memory(step: int, model: nn.Module) -> None:
    """A cache that grows in a process with a limit of 400 MiB more than it has."""
    if step == 1:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), resource.RLIM_INFINITY))
    cache = model.__dict__.setdefault("cache", [])
    cache.append(torch.ones(2 << 20))


def disk_full(step: int, model: nn.Module) -> None:
    """/dev/full answers every write as a full disk does."""
    if step == ONSET:
        with open("/dev/full", "wb") as stream:
            torch.save(model.state_dict(), stream)


def file_limit(step: int, model: nn.Module) -> None:
    """A quota on file size, met by a checkpoint."""
    if step == ONSET:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        Path("model.bin").write_bytes(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))


def missing_module(step: int, model: nn.Module) -> None:
    if step == 1:
        import flash_linear_kernels  # type: ignore[import-not-found]

        flash_linear_kernels.patch(model)


def shape_mismatch(step: int, model: nn.Module) -> None:
    if step == ONSET:
        model(torch.zeros(4, 15))


def dtype_mismatch(step: int, model: nn.Module) -> None:
    if step == ONSET:
        model(torch.zeros(4, 16, dtype=torch.float64))


def inplace(step: int, model: nn.Module) -> None:
    if step == ONSET:
        hidden = torch.sigmoid(model[0](torch.ones(4, 16)))  # type: ignore[index]
        hidden += 1
        hidden.sum().backward()


def config_choice(step: int, model: nn.Module) -> None:
    del step, model
    parser = argparse.ArgumentParser("train.py")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.parse_args(["--precision", "fp32", "--learning-rte", "0.1"])


def config_key(step: int, model: nn.Module) -> None:
    del step, model
    Path("config.yaml").write_text("optimizer:\n  name: adamw\n  lr: 0.001\n   weight_decay: 0.1\n")
    yaml.safe_load(Path("config.yaml").read_text())


def port_in_use(step: int, model: nn.Module) -> None:
    del model
    if step == 1:
        taken = socket.socket()
        taken.bind(("", 0))
        taken.listen()
        os.environ |= {
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(taken.getsockname()[1]),
            "RANK": "0",
            "WORLD_SIZE": "2",
        }
        torch.distributed.init_process_group("gloo")


def old_checkpoint(step: int, model: nn.Module) -> None:
    if step == 1:
        torch.save(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).state_dict(), "old.pt")
        model.load_state_dict(torch.load("old.pt", weights_only=True))


BEFORE: dict[str, Callable[[int, nn.Module], None]] = {
    "config-choice": config_choice,
    "config-syntax": config_key,
    "disk-full": disk_full,
    "dtype-mismatch": dtype_mismatch,
    "file-limit": file_limit,
    "hang": hang,
    "inplace": inplace,
    "killed": killed,
    "missing-module": missing_module,
    "old-checkpoint": old_checkpoint,
    "out-of-memory": out_of_memory,
    "port-in-use": port_in_use,
    "preempted": preempted,
    "shape-mismatch": shape_mismatch,
}


def main() -> None:
    """Reads the specification; faults of several ranks go to torchrun."""
    spec = json.loads(sys.argv[1])
    fault = spec["fault"]
    if fault.startswith("ranks-") or spec["settings"].get("ranks"):
        script = str(Path(__file__).with_name("ranks.py"))
        words = ["--nproc-per-node=2", "--master-port", str(PORT + spec["seed"]), script, fault or "healthy"]
        sys.exit(subprocess.call([sys.executable, "-m", "torch.distributed.run", *words]))
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO, stream=sys.stdout
    )
    torch.set_num_threads(1)
    samples = Samples(
        bad=300 if fault == "bad-sample" else None, deadly=300 if fault == "worker-killed" else None
    )
    workers = 1 if fault in ("worker-killed", "bad-sample") else 0
    train(samples, BEFORE.get(fault, nothing), workers)


if __name__ == "__main__":
    main()
