"""Whether the project's code needs FlashAttention, and whether it is there; nothing is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hrmdoc.preflight.config import config_value
from hrmdoc.preflight.machine import Machine
from hrmdoc.record.records import Fact

_IMPORT = re.compile(rb"^(?P<indent>[ \t]*)(?:from|import)[ \t]+flash_attn", re.MULTILINE)
_SKIP = {
    "node_modules",
    "site-packages",
    "__pycache__",
    "build",
    "dist",
    "wandb",
    "runs",
    "outputs",
    "checkpoints",
}
_ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "requirements.txt")
_MOST_FILES = 5000
_BIGGEST = 2_000_000


def import_facts(folder: Path, machine: Machine, known: Mapping[str, Fact]) -> Iterator[Fact]:
    """`env.flash_attn_importable`, how often the code imports it, and whether config, environment or code ask
    for it."""
    yield Fact("env.flash_attn_importable", machine.importable("flash_attn"))
    root = project_root(folder)
    found = list(flash_attn_imports(root)) if root is not None else []
    if root is not None:
        yield Fact("env.flash_attn_imports", len(found))
    bare = next((one for one in found if not one[2]), None)
    asked = "flash" in str(config_value(known, "attn_implementation")).lower()
    asked = asked or config_value(known, "flash_attention", "use_flash_attn", "flash_attn") is True
    if bare is not None:
        yield Fact("memory.flash_attention", True, file=bare[0], line=bare[1])
    elif asked or machine.variables.get("USE_FLASH_ATTN") == "1":
        yield Fact("memory.flash_attention", True)


def project_root(folder: Path) -> Path | None:
    """The nearest folder upwards that looks like a project; None when there is none, so that no home folder
    is searched."""
    start = folder.resolve()
    return next(
        (
            place
            for place in (start, *start.parents[:4])
            if any((place / mark).exists() for mark in _ROOT_MARKS)
        ),
        None,
    )


def flash_attn_imports(root: Path) -> Iterator[tuple[str, int, bool]]:
    """File, line and whether it is guarded (inside `try`, `if` or a function) of each import of flash_attn in
    Python files."""
    seen = 0
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIP and name[0] != "." and not _is_venv(Path(place, name))
        )
        for name in sorted(names):
            if not name.endswith(".py") or seen >= _MOST_FILES:
                continue
            seen += 1
            yield from _in_file(Path(place, name))


def _in_file(path: Path) -> Iterator[tuple[str, int, bool]]:
    try:
        blob = path.read_bytes() if path.is_file() and path.stat().st_size <= _BIGGEST else b""
    except OSError:
        return
    for match in _IMPORT.finditer(blob):
        yield str(path), blob.count(b"\n", 0, match.start()) + 1, bool(match["indent"])


def _is_venv(path: Path) -> bool:
    return (path / "pyvenv.cfg").exists()
