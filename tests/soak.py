"""Kills a training run again and again, at random moments, and looks whether it always comes back.

    python tests/soak.py [--kills 200] [--seed 0]

The first half of the kills meets runs in PyTorch's operations, the other one runs in the native kernels. Half
of the kills wait until a checkpoint is being written. After each one the newest good checkpoint must be at
least as new as it was before, and the run goes on from there (resume=auto). A run that reaches its end must
have the weights and moments of one that was never killed, bit for bit (deterministic=true); then the next run
begins, until all kills are spent.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hrmdoc.trainer.data import DataInfo, write_identifiers, write_split

STEPS, EVERY = 180, 3
ARCH = (
    "hidden_size=16",
    "H_layers=1",
    "L_layers=1",
    "num_heads=2",
    "expansion=1",
    "H_cycles=1",
    "L_cycles=1",
    "halt_max_steps=4",
)
WORDS = (
    *(
        "epochs=64",
        "eval_interval=64",
        "global_batch_size=4",
        "lr=1e-3",
        "puzzle_emb_lr=1e-3",
        "lr_warmup_steps=2",
        "threads=1",
        "device=cpu",
    ),
    *(
        f"max_steps={STEPS}",
        f"checkpoint_interval={EVERY}",
        "checkpoint_keep=2",
        "deterministic=true",
        "ema=true",
        "resume=auto",
    ),
    *(f"arch.{word}" for word in ARCH),
)


@dataclass
class Tally:
    """What the soak has seen of runs with `native` true or false."""

    native: bool
    kills: int = 0
    while_writing: int = 0
    finished: int = 0
    resumed_from: int = 0


def soak(folder: Path, kills: int, seed: int, native: bool) -> Tally:
    """Spends `kills` kills on runs in `folder`, in the native kernels or in PyTorch's operations.

    Raises:
        AssertionError: a checkpoint was lost, a run did not come back, or its end differs from the
            uninterrupted one's.
    """
    import torch  # noqa: F401  # once, before the forks

    from hrmdoc.trainer.setup import make  # noqa: F401

    rng = random.Random(seed)
    kind = "native" if native else "plain"
    _dataset(folder / "data")
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(_start(folder, kind, native), 0)[1]) == 0, (
        "the uninterrupted run failed"
    )
    life = time.monotonic() - began
    tally = Tally(native)
    while tally.kills < kills:
        name = f"{kind}{tally.finished}"
        writing = rng.random() < 0.5
        before = _newest(folder / name)
        tally.resumed_from += before > 0
        child = _start(folder, name, native)
        if not _killed(child, folder / name, rng, life, writing):
            _compare(folder / kind, folder / name)
            tally.finished += 1
            continue
        tally.kills += 1
        tally.while_writing += bool(list((folder / name / "checkpoints").glob(f".step_*.{child}")))
        assert _newest(folder / name) >= before, "a checkpoint was lost"
    name = f"{kind}{tally.finished}"
    assert os.waitstatus_to_exitcode(os.waitpid(_start(folder, name, native), 0)[1]) == 0, (
        "the last run did not come back"
    )
    _compare(folder / kind, folder / name)
    tally.finished += 1
    return tally


def _killed(child: int, run: Path, rng: random.Random, life: float, writing: bool) -> bool:
    """Kills `child` at a random moment; False if it came to its end first."""
    at = time.monotonic() + rng.random() * life
    writes = rng.randrange(1, 30)  # the n-th checkpoint that is seen being written
    seen: set[str] = set()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, f"the run failed on its own: see {run}"
            return False
        now = {path.name for path in (run / "checkpoints").glob(f".step_*.{child}")} if writing else set()
        seen |= now
        if (now and len(seen) >= writes) if writing else time.monotonic() > at:
            time.sleep(rng.random() * 0.001 if writing else 0.0)
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        time.sleep(0.0005)


def _start(folder: Path, name: str, native: bool) -> int:
    child = os.fork()
    if child:
        return child
    from hrmdoc.trainer.main import main

    log = os.open(folder / f"{name}.out", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    where = (f"data_path={folder / 'data'}", f"run_dir={folder / name}")
    os._exit(main([*WORDS, *where, f"native={str(native).lower()}"]))


def _newest(run: Path) -> int:
    """The step of the newest good checkpoint, 0 without one. A damaged one with a final name is a failure."""
    from hrmdoc.trainer.state import checkpoint, kept

    if not kept.found(run / "checkpoints"):
        return 0
    path, _, passed = kept.newest_good(run / "checkpoints")
    assert not passed, f"an incomplete checkpoint has a final name: {passed[0]}"
    return checkpoint.read_meta(path).step


def _compare(whole: Path, run: Path) -> None:
    from hrmdoc.trainer.state import checkpoint

    states = [checkpoint.load(path / "checkpoints" / f"step_{STEPS}")[0] for path in (whole, run)]
    for part in ("model", "optimizer", "ema", "rng", "data"):
        assert _same(states[0][part], states[1][part]), (
            f"{part} differs from the run that was never killed: {run}"
        )


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool((one == two).all()) if hasattr(one, "shape") else bool(one == two)


def _dataset(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for split, count in (("train", 16), ("test", 6)):
        inputs, labels = (rng.integers(low, 6, (count, 16), dtype=np.uint8) for low in (1, 2))
        write_split(folder, split, DataInfo(vocab_size=6, seq_len=16), inputs, labels)
    write_identifiers(folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Kill a training run at random moments and see it come back."
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for native in (False, True):
            began = time.monotonic()
            tally = soak(Path(folder), (options.kills + (not native)) // 2, options.seed + native, native)
            print(
                f"native={str(native).lower()}: {tally.kills} kills "
                f"({tally.while_writing} left a half-written checkpoint), "
                f"{tally.resumed_from} resumes from a checkpoint, "
                f"{tally.finished} runs ended with the weights of the uninterrupted one, "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
