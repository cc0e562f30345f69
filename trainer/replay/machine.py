"""Makes this machine smaller for one program: less memory, or a folder that is a small disk of its own.

`python -m hrmdoc.trainer.replay.machine [memory=MIB] [disk=MIB:FOLDER] PROGRAM WORDS...`, where PROGRAM is a
module of the replays. Both limits are those of the system: RLIMIT_DATA, and a tmpfs in a mount namespace that
ends with the program. Where the system allows no mount, the program itself holds the folder to its size, and
the log says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from pathlib import Path

from hrmdoc.errors import ConfigError, HrmdocError, UsageError

from .saving import QUOTA, kept

MIB = 1 << 20
PROGRAMS = ("classify",)
_NEWNS, _NEWUSER = 0x0002_0000, 0x1000_0000
_PRIVATE_ALL = 0x4_4000  # MS_PRIVATE | MS_REC: what is mounted here is seen here alone


def main(words: list[str]) -> int:
    """Sets the limits and becomes the program; its exit status, or 2 for wrong input."""
    limits = {}
    while words and (found := words[0].partition("="))[0] in ("memory", "disk"):
        limits[found[0]] = found[2]
        words = words[1:]
    try:
        if not words or words[0] not in PROGRAMS:
            raise UsageError("usage: python -m hrmdoc.trainer.replay.machine memory=MIB classify WORDS...")
        if "disk" in limits:  # before torch starts threads, which may not leave a namespace
            size, _, folder = limits["disk"].partition(":")
            small_disk(Path(folder), _mib(size))
        program = importlib.import_module(f"hrmdoc.trainer.replay.{words[0]}")
        if "memory" in limits:
            program.prepare()
            little_memory(_mib(limits["memory"]))
    except HrmdocError as error:
        print(f"hrmdoc: {error}", file=sys.stderr)  # noqa: T201
        return 2
    status: int = program.main(words[1:])
    return status


def _mib(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise UsageError(f"{text!r} is no number of MiB")
    return int(text) * MIB


def little_memory(most: int) -> None:
    """Lets this process take `most` bytes beyond what it holds now.

    Raises:
        ConfigError: the system has no such limit.
    """
    import resource

    try:
        status = Path("/proc/self/status").read_text("ascii", "replace")
        held = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (held + most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    except (OSError, ValueError, StopIteration) as error:
        raise ConfigError(f"this system does not limit the memory of a process: {error}") from error


def small_disk(folder: Path, size: int) -> None:
    """Makes `folder` a disk of `size` bytes, for this process and as long as it lives.

    Raises:
        ConfigError: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make the small disk: {error.strerror}", file=folder) from error
    if not _mounted(folder, size):
        print(f"no disk can be mounted here: {folder} is held to {size:,} bytes by the program itself")  # noqa: T201
        os.environ[QUOTA] = str(size)
        for old in kept(folder):  # a disk that was just mounted is empty
            old.unlink()


def _mounted(folder: Path, size: int) -> bool:
    """Whether a tmpfs could be mounted, in a namespace of its own."""
    if sys.platform != "linux":
        return False
    calls = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if calls.unshare(_NEWNS):
        if calls.unshare(_NEWNS | _NEWUSER):
            return False
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny", "ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")
    options = f"size={size}".encode()
    return not (
        calls.mount(b"none", b"/", None, _PRIVATE_ALL, None)
        or calls.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
