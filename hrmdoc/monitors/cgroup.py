"""The limits of the container, or of the batch job, that a process runs in: cgroups of version 2 and 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hrmdoc.monitors.sensor import text_of

ROOT = Path("/sys/fs/cgroup")
_NO_LIMIT = 2**60
"""Version 1 writes a number near 2^63 where there is none."""


class Cgroup:
    """The groups of one process, the innermost first.

    Args:
        pid: the process; None for our own.
        root, proc: where the kernel shows them.
    """

    def __init__(self, pid: int | None = None, root: Path = ROOT, proc: Path = Path("/proc")) -> None:
        lines = (text_of(proc / str(pid or "self") / "cgroup") or "").splitlines()
        named = {
            kinds: path for line in lines if line.count(":") >= 2 for _, kinds, path in [line.split(":", 2)]
        }
        self._second = (root / "cgroup.controllers").exists()
        if self._second:
            self._memory = self._cpu = _upwards(root, named.get("", "/"))
        else:
            self._memory = _upwards(root / "memory", _of(named, "memory"))
            self._cpu = _upwards(root / "cpu", _of(named, "cpu")) or _upwards(
                root / "cpu,cpuacct", _of(named, "cpu")
            )

    def memory_share(self) -> float | None:
        """How much of the tightest limit is used, in %, pages that can be dropped at once left aside; None
        where there is no limit."""
        shares = []
        for folder in self._memory:
            limit = _counter_in(folder / ("memory.max" if self._second else "memory.limit_in_bytes"))
            used = _counter_in(folder / ("memory.current" if self._second else "memory.usage_in_bytes"))
            if limit and used is not None and limit < _NO_LIMIT:
                stat = _table(folder / "memory.stat")
                cached = stat.get("inactive_file" if self._second else "total_inactive_file", 0.0)
                shares.append(100 * max(0.0, used - cached) / limit)
        return max(shares, default=None)

    def oom_kills(self) -> float | None:
        """How many processes the kernel ended for want of memory, in the innermost group that says so."""
        name = "memory.events" if self._second else "memory.oom_control"
        return next(
            (stat["oom_kill"] for f in self._memory if "oom_kill" in (stat := _table(f / name))), None
        )

    def periods(self) -> tuple[float, float] | None:
        """Scheduling periods, and those of them in which it was held back, so far; None without a quota."""
        for folder in self._cpu:
            stat = _table(folder / "cpu.stat")
            if stat.get("nr_periods"):
                return stat["nr_periods"], stat.get("nr_throttled", 0.0)
        return None


def _of(named: dict[str, str], kind: str) -> str:
    return next((path for kinds, path in named.items() if kind in kinds.split(",")), "/")


def _upwards(root: Path, path: str) -> Sequence[Path]:
    """The folders of a group and of those around it. Inside a container the path is that of the host, and
    the group lies at the root."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    folders = (root.joinpath(*parts[:stop]) for stop in range(len(parts), -1, -1))
    return [folder for folder in folders if folder.is_dir()]


def _counter_in(path: Path) -> float | None:
    text = text_of(path)
    try:
        return None if text is None else float(int(text))  # "max" is no number
    except ValueError:
        return None


def _table(path: Path) -> dict[str, float]:
    return dict(_rows(text_of(path) or ""))


def _rows(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdigit():
            yield name, float(value)
