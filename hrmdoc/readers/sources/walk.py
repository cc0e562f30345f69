"""Walks a folder for files that may be records of a run, to a bounded depth and number."""

from __future__ import annotations

import os
from collections.abc import Iterator

from hrmdoc.readers.support import names
from hrmdoc.record.records import Damage

_MAX_DEPTH = 8
MAX_FILES = 20_000
_AIM = (
    "is an Aim store, which only Aim can read: export its metrics to CSV with its SDK (pip install aim), "
    "or log to TensorBoard as well"
)


def files_below(
    root: str, noted: list[Damage], most: int = MAX_FILES
) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder that may be records, each with its status; links that lead outside are not
    followed. `noted` receives what was not looked at."""
    real_root = os.path.realpath(root)
    looked_at = 0
    for folder in folders_below(root, noted):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: names.natural(entry.name))
        except OSError as error:
            what = f"the folder cannot be read: {error.strerror}"
            noted.append(Damage(folder, None, what, incomplete=True))
            continue
        for entry in entries:
            looked_at += 1
            if looked_at > most:
                noted.append(
                    Damage(
                        root,
                        None,
                        f"holds more than {most:,} files; the rest was not looked at",
                        incomplete=True,
                    )
                )
                return
            if names.is_no_log(entry.name):
                continue
            try:
                if entry.is_symlink() and not os.path.realpath(entry.path).startswith(real_root + os.sep):
                    continue
                if entry.is_file():
                    yield entry.path, entry.stat()
            except OSError as error:
                noted.append(Damage(entry.path, None, f"cannot be read: {error.strerror}", incomplete=True))


def folders_below(root: str, noted: list[Damage]) -> Iterator[str]:
    """`root` and the folders below it that may hold records, parents first. Links to folders are not
    followed."""
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        if os.path.basename(os.path.abspath(folder)) == ".aim":
            noted.append(Damage(folder, None, _AIM))
            continue
        yield folder
        try:
            inner = [
                e.name
                for e in os.scandir(folder)
                if e.is_dir(follow_symlinks=False)
                and not names.is_no_log_folder(e.name)
                and not names.is_no_run_folder(e.path)
            ]
        except OSError:
            continue
        if depth == _MAX_DEPTH:
            if inner:
                noted.append(
                    Damage(
                        folder,
                        None,
                        f"folders deeper than {_MAX_DEPTH} levels were not looked at",
                        incomplete=True,
                    )
                )
            continue
        inner = _without_old_checkpoints(folder, sorted(inner, key=names.natural, reverse=True))
        waiting += [(os.path.join(folder, name), depth + 1) for name in inner]


def _without_old_checkpoints(folder: str, entries: list[str]) -> list[str]:
    """Of all `checkpoint-N` only the newest one that holds a state, since each repeats the history of those
    before."""
    numbers = {name: number for name in entries if (number := names.checkpoint_number(name)) is not None}
    if len(numbers) < 2:
        return entries
    newest_first = sorted(numbers, key=lambda name: numbers[name], reverse=True)
    whole = (
        name for name in newest_first if os.path.exists(os.path.join(folder, name, "trainer_state.json"))
    )
    keep = next(whole, newest_first[0])
    return [name for name in entries if name == keep or name not in numbers]
