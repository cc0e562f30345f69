"""Builds the kernels in C (`kernels/`) with the machine's own compiler when they are first wanted, and keeps
the result, where nobody else can write; it is loaded only while it is what was built."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hrmdoc.errors import ConfigError

FOLDER = Path(__file__).with_name("kernels")
# No -ffast-math: it would break the rounding that exp relies on, and numbers that are no numbers must stay
# so.
FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
BUILD_S = 120


def built(env: Mapping[str, str]) -> Path:
    """The library, in the user's cache folder.

    Raises:
        ConfigError: there is no compiler, or it fails.
    """
    compiler = next(
        (
            found
            for name in (env.get("CC", ""), "cc", "gcc", "clang")
            if name and (found := shutil.which(name, path=env.get("PATH")))
        ),
        None,
    )
    if compiler is None:
        raise ConfigError(
            "the native kernels need a C compiler, and none is on the PATH",
            hint="native=false trains without them",
        )
    # -march=native ties the result to this kind of processor, and a home folder may be shared by machines of
    # several kinds.
    folder = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hrmdoc" / "kernels"
    try:
        sources = sorted(FOLDER.glob("*.[ch]"))
        text = "\0".join(
            (*(source.read_text(encoding="utf-8") for source in sources), *FLAGS, compiler, _processor())
        )
        library = folder / f"kernels-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        digest = library.with_suffix(".sha256")
        _make_private(folder)
        if _is_own(library) and _is_own(digest) and _sha256(library) == digest.read_text(encoding="ascii"):
            return library
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = Path(place) / "kernels.so"
            command = [
                compiler,
                *FLAGS,
                "-o",
                str(made),
                *(str(source) for source in sources if source.suffix == ".c"),
                "-lm",
            ]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=BUILD_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            if done.returncode:
                why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
                raise ConfigError(
                    f"{compiler} cannot build the native kernels: {why}", file=FOLDER, hint="native=false"
                )
            made.chmod(0o700)
            (Path(place) / digest.name).write_text(_sha256(made), encoding="ascii")
            made.replace(library)
            (Path(place) / digest.name).replace(digest)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ConfigError(
            f"the native kernels cannot be built: {error}", file=folder, hint="native=false"
        ) from error
    return library


def _make_private(folder: Path) -> None:
    """Makes the folder, for this user alone. What lies there is forgotten where others could write to it.

    Raises:
        ConfigError: it is another user's, or a link.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise ConfigError(
            "the native kernels are not kept in a folder of another user",
            file=folder,
            hint="XDG_CACHE_HOME names a folder of your own; native=false trains without them",
        )
    if status.st_mode & 0o022:
        folder.chmod(0o700)
        for kept in folder.glob("kernels-*"):
            kept.unlink()


def _is_own(file: Path) -> bool:
    """Whether this is a regular file of this user that nobody else may change."""
    try:
        status = file.lstat()
    except FileNotFoundError:
        return False
    own = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
    return own and stat.S_ISREG(status.st_mode)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _processor() -> str:
    """What kinds of processors differ in."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.processor()} {flags}"
