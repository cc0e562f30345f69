"""Runs what has not been run yet, two processes at most. A run is there when its folder holds `.done`."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lab.launch import command_of, start_forked, start_process
from benchmarks.lab.spec import LIBRARIES, RUNS, Spec

DONE = ".done"
LIMIT_S = 240.0
POLL_S = 0.05


@dataclass(slots=True)
class _Child:
    spec: Spec
    pid: int
    partial: Path
    deadline: float
    began: float


def execute(
    specs: Sequence[Spec], *, processes: int = 2, report: Callable[[str], None] = lambda _: None
) -> None:
    """Runs those of `specs` that are not kept yet; an interrupted call goes on where it was.

    Raises:
        RuntimeError: a healthy run ended with an error, so that the lab itself is at fault.
    """
    waiting = [spec for spec in {spec.folder(): spec for spec in specs}.values() if not finished(spec)]
    _load({spec.program for spec in waiting if command_of(spec) is None})
    waiting.reverse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    children: list[_Child] = []
    total, done = len(waiting), 0
    try:
        while waiting or children:
            while waiting and len(children) < processes:
                children.append(_start(waiting.pop()))
            for child in list(children):
                status = _ended(child)
                if status is None:
                    continue
                children.remove(child)
                done += 1
                _keep(child, status)
                report(
                    f"{done}/{total} {child.spec.name}: exit {status}, {time.monotonic() - child.began:.1f} s"
                )
            time.sleep(POLL_S)
    finally:
        for child in children:
            _kill(child.pid)
            shutil.rmtree(child.partial, ignore_errors=True)


def finished(spec: Spec) -> bool:
    """The run is kept."""
    return (spec.folder() / DONE).is_file()


def _load(programs: set[str]) -> None:
    """Libraries, once, before forking: the programs find them loaded. One thread, since forks of a threaded
    process may hang."""
    if not programs:
        return
    for name, value in {"OMP_NUM_THREADS": "1", "KERAS_BACKEND": "torch", "HF_HUB_OFFLINE": "1"}.items():
        os.environ.setdefault(name, value)
    import torch

    torch.set_num_threads(1)
    for program in sorted(programs & LIBRARIES.keys()):
        importlib.import_module(LIBRARIES[program])


def _start(spec: Spec) -> _Child:
    partial = RUNS / ".partial" / spec.key()
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = command_of(spec)
    pid = start_forked(spec, partial) if command is None else start_process(command, partial)
    now = time.monotonic()
    return _Child(spec, pid, partial, now + float(spec.settings.get("limit_s", LIMIT_S)), now)


def _ended(child: _Child) -> int | None:
    """Exit status as a shell gives it, None while it runs. A run past its limit is killed, as a user
    would."""
    pid, status = os.waitpid(child.pid, os.WNOHANG)
    if pid:
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code
    if time.monotonic() > child.deadline:
        _kill(child.pid)
        os.waitpid(child.pid, 0)
        return 128 + signal.SIGKILL
    return None


def _kill(pid: int) -> None:
    """The whole process group: torchrun's workers outlive their parent otherwise."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _keep(child: _Child, status: int) -> None:
    _kill(child.pid)
    log = child.partial / "train.log"
    if child.spec.healthy and status != 0:
        tail = log.read_text(errors="replace")[-2000:] if log.is_file() else ""
        raise RuntimeError(f"the healthy run {child.spec.name} ended with status {status}:\n{tail}")
    record = {**child.spec.as_json(), "status": status, "seconds": round(time.monotonic() - child.began, 2)}
    (child.partial / DONE).write_text(json.dumps(record, indent=1) + "\n")
    folder = child.spec.folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    child.partial.rename(folder)


def say(text: str) -> None:
    """Talk goes to standard error."""
    print(text, file=sys.stderr, flush=True)
