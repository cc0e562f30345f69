"""Looks at a data set before training: HRM's layout, JSON lines, JSON or CSV. At most some thousand samples
are read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hrmdoc.errors import InputError
from hrmdoc.preflight.config import config_value
from hrmdoc.preflight.hrm_data import hrm_facts
from hrmdoc.preflight.samples import sample_facts
from hrmdoc.record.records import Damage, Fact

_BIGGEST_HASHED = 8 * 2**30
_RECORDED = re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{32})\b")


def data_facts(place: Path, known: Mapping[str, Fact]) -> Iterator[Fact | Damage]:
    """Facts of the data set at `place`, its checksum, and what in it cannot be read.

    Raises:
        InputError: there is nothing at `place`.
    """
    if not place.exists():
        raise InputError("the data set does not exist", file=place)
    if place.is_dir():
        yield from hrm_facts(place)
    else:
        yield from sample_facts(place, _sequence_length(known))
    yield from _hashes(place, known)


def _sequence_length(known: Mapping[str, Fact]) -> int | None:
    value = config_value(
        known,
        "sequence_len",
        "max_seq_length",
        "max_length",
        "seq_len",
        "max_prompt_length",
        "cutoff_len",
        "block_size",
    )
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _hashes(place: Path, known: Mapping[str, Fact]) -> Iterator[Fact]:
    """`data.hash_now`, and `data.hash_recorded` where the config or a checksum file beside the data gives
    one."""
    recorded, source = _recorded(place, known)
    now = _hash(place, "md5" if recorded is not None and len(recorded) == 32 else "sha256")
    if now is not None:
        yield Fact("data.hash_now", now, file=str(place))
    if recorded is not None:
        yield Fact("data.hash_recorded", recorded, file=source)


def _recorded(place: Path, known: Mapping[str, Fact]) -> tuple[str | None, str]:
    named = config_value(known, "data_hash", "dataset_hash")
    if isinstance(named, str) and (found := _RECORDED.search(named.lower())):
        return found[1], ""
    folder = place.parent
    beside = [folder / f"{place.name}{end}" for end in (".md5", ".sha256")]
    beside += [folder.parent / f".{folder.name}{end}" for end in (".md5", ".sha256")]
    for path in beside:
        try:
            lines = path.read_text("utf-8", errors="replace").lower().splitlines() if path.is_file() else []
        except OSError:
            continue
        for line in lines:
            if (found := _RECORDED.search(line)) and (len(lines) == 1 or place.name.lower() in line):
                return found[1], str(path)
    return None, ""


def _hash(place: Path, method: str) -> str | None:
    """The checksum of a file, or of the names and contents of a folder's `.json` and `.npy` files as the
    trainer takes it."""
    try:
        if place.is_file():
            return _file_hash(place, method) if place.stat().st_size <= _BIGGEST_HASHED else None
        whole = hashlib.sha256()
        paths = sorted(
            path for path in place.rglob("*") if path.is_file() and path.suffix in (".json", ".npy")
        )
        if sum(path.stat().st_size for path in paths) > _BIGGEST_HASHED:
            return None
        for path in paths:
            whole.update(f"{path.relative_to(place).as_posix()}\0{_file_hash(path, 'sha256')}\n".encode())
    except OSError:
        return None
    return whole.hexdigest() if paths else None


def _file_hash(path: Path, method: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, method).hexdigest()
