"""From which checkpoint a command goes on, and by which words it is told so.

Checkpoints are found on the disk, below the folder that the user or the command names; no log is asked.
What a framework calls its checkpoints, and how it is told to go on, stands in `rules/frameworks`.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hrmdoc.errors import UsageError
from hrmdoc.rulebook import Resume, Rulebook

PLACE = "{checkpoint}"
_NUMBER = re.compile(r"\d+")
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One that is whole. `step` is the last number of its name, -1 where there is none."""

    path: Path
    step: int


@dataclass(frozen=True, slots=True)
class Resumption:
    """How a command goes on.

    Attributes:
        words: the command's words for it, in which `{checkpoint}` stands for the path.
        places: globs that find checkpoints.
        whole: files without which one that is a folder is not whole.
        alone: the command finds its checkpoint itself, so that it is told to go on even where none is known.
    """

    words: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    alone: bool = False

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole: by its step, then by its time."""
        found = [
            one for one in map(_checkpoint, self._paths()) if one is not None and self._is_whole(one.path)
        ]
        return max(found, key=lambda one: (one.step, _time(one.path)), default=None)

    def _paths(self) -> Iterator[Path]:
        for place in self.places:
            yield from (Path(name) for name in glob.iglob(place, recursive=True))

    def _is_whole(self, path: Path) -> bool:
        """Whether it can be gone on from, as far as its files tell; a torn archive of torch has lost its
        end."""
        if path.is_dir():
            files = [path / name for name in self.whole] or [one for one in path.iterdir() if one.is_file()]
            return bool(files) and all(one.is_file() and _is_sound(one) for one in files)
        return path.is_file() and _is_sound(path)

    def command(self, words: Sequence[str], checkpoint: Checkpoint | None) -> list[str]:
        """The words of a command that goes on from `checkpoint`; as they are where there is none."""
        if not self.words or (checkpoint is None and not self.alone):
            return list(words)
        path = "" if checkpoint is None else str(checkpoint.path)
        added = [word.replace(PLACE, path) for word in self.words]
        return [*_without(words, self.words), *added]


NOT_AT_ALL = Resumption()


def stated(template: str, checkpoints: str | None) -> Resumption:
    """How the user says that a command goes on.

    Args:
        template: words for the command, with `{checkpoint}` where the path belongs.
        checkpoints: a folder, or a glob, in which they are found.

    Raises:
        UsageError: the template is no words, or names a checkpoint that nobody says where to find.
    """
    try:
        words = tuple(shlex.split(template))
    except ValueError as error:
        raise UsageError(f"--resume-with is no words: {error}: {template!r}") from error
    if not words:
        raise UsageError("--resume-with is empty")
    asks = any(PLACE in word for word in words)
    if asks and not checkpoints:
        hint = "--checkpoints runs/mine, or --checkpoints 'runs/mine/*.pt'"
        raise UsageError(
            f"--resume-with wants {PLACE}, and --checkpoints does not say where they are", hint=hint
        )
    return Resumption(words, _globs(checkpoints), alone=not asks)


def known(words: Sequence[str], checkpoints: str | None, book: Rulebook) -> Resumption:
    """How the framework of a command goes on, by the words of the command; `NOT_AT_ALL` where none fits."""
    for framework in book.frameworks.values():
        way = framework.resume
        if way is None or not _speaks(way, words):
            continue
        folder = _folder(way, words)
        if checkpoints:
            return Resumption(way.words, _globs(checkpoints), way.whole, way.alone)
        if folder or way.alone:
            places = (os.path.join(glob.escape(folder), way.checkpoint),) if folder else ()
            return Resumption(way.words, places, way.whole, way.alone)
    return NOT_AT_ALL


def folder_of(words: Sequence[str], book: Rulebook) -> Path | None:
    """The run's folder that a command names, in the words of a framework that it speaks."""
    ways = (one.resume for one in book.frameworks.values() if one.resume is not None)
    named = (_folder(way, words) for way in ways if _speaks(way, words))
    return next((Path(name) for name in named if name), None)


def _globs(checkpoints: str | None) -> tuple[str, ...]:
    if not checkpoints:
        return ()
    alone = glob.has_magic(checkpoints) or os.path.isfile(checkpoints)
    return (checkpoints,) if alone else (os.path.join(glob.escape(checkpoints), "*"),)  # it may come later


def _speaks(way: Resume, words: Sequence[str]) -> bool:
    if way.command:
        return re.search(way.command, " ".join(words)) is not None
    return bool(_folder(way, words))


def _folder(way: Resume, words: Sequence[str]) -> str:
    """The value of the first of the options that name the folder."""
    for place, word in enumerate(words):
        for option in way.folder:
            if word == option and option.startswith("-") and place + 1 < len(words):
                return words[place + 1]
            if word.startswith(f"{option}="):
                return word[len(option) + 1 :]
    return ""


def _without(words: Sequence[str], template: Iterable[str]) -> list[str]:
    """A command without what tells it already from where to go on; the program itself stays."""
    names = [word.split("=")[0] for word in template if word.startswith("-") or "=" in word]
    kept, skip = list(words[:1]), False
    for word, after in zip(words[1:], [*words[2:], ""], strict=False):
        if skip:
            skip = False
        elif word in names and word.startswith("-"):
            skip = bool(after) and not after.startswith("-")
        elif not any(word.startswith(f"{name}=") for name in names):
            kept.append(word)
    return kept


def _checkpoint(path: Path) -> Checkpoint | None:
    if path.name.startswith(".") or (path.is_symlink() and not path.exists()):
        return None
    numbers = _NUMBER.findall(path.stem if path.is_file() else path.name)
    return Checkpoint(path, int(numbers[-1][:18]) if numbers else -1)


def _is_sound(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            head = stream.read(len(_ZIP))
        return bool(head) and (head != _ZIP or zipfile.is_zipfile(file))
    except OSError:
        return False


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
