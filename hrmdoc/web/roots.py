"""The folders that are served: nothing outside of them is read or written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from hrmdoc import readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.readers import RunGroup
from hrmdoc.readers.sources import folders
from hrmdoc.record.records import Damage


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders by their real paths."""

    paths: tuple[str, ...]

    @classmethod
    def of(cls, paths: Sequence[str]) -> Roots:
        """The roots that the user named; by default `runs`, or the working folder where there is none.

        Raises:
            UsageError: one does not exist or is no folder.
        """
        named = paths or ("runs" if os.path.isdir("runs") else ".",)
        for path in named:
            if not os.path.isdir(path):
                what = "is no folder" if os.path.lexists(path) else "there is no such folder"
                raise UsageError(what, file=path, hint="hrmdoc serve FOLDER, such as runs/")
        return cls(tuple(dict.fromkeys(os.path.realpath(path) for path in named)))

    def hold(self, path: str | Path) -> bool:
        """Whether the file or folder really lies below a root, whatever links lead there."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self.paths)

    def name(self, folder: str) -> str:
        """A run's folder as a person knows it: relative to its root, whose own name is told where there are
        several."""
        for root in self.paths:
            if folder == root:
                return os.path.basename(root) or root
            if folder.startswith(root.rstrip(os.sep) + os.sep):
                inside = os.path.relpath(folder, root)
                return inside if len(self.paths) == 1 else os.path.join(os.path.basename(root), inside)
        return folder

    def runs(self) -> list[RunGroup]:
        """Every run below the roots, without what links lead to outside of them."""
        problems: list[Damage] = []
        try:
            found = readers.runs_below(self.paths, problems)
        except InputError:  # nothing can be read there yet
            return []
        held = [group for group in found if all(self.hold(_on_disk(one.path)) for one in group.sources)]
        return [_in_its_own_folder(group) if group.folder in self.paths else group for group in held]


def key_of(folder: str) -> str:
    """The name of a run in addresses: it says nothing and leads nowhere by itself."""
    return hashlib.blake2b(folder.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def _in_its_own_folder(group: RunGroup) -> RunGroup:
    """The only run of a root under the name that it keeps once there are others."""
    records, _ = folders.parted(group.sources)
    homes = {os.path.dirname(_on_disk(one.path)) for one in records}
    return structs.replace(group, folder=os.path.commonpath(homes)) if homes else group


def _on_disk(path: str) -> str:
    """The file or, of a place inside an archive, the archive."""
    while path and not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path
