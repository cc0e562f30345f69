"""Follows the files of a live run; new ones are looked for now and then.

Where a folder holds several runs, the newest is followed. Polling sizes works on every file system; events
only wake it sooner.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.live.growing import BEGIN, Growing, open_regular
from hrmdoc.readers import Source
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run

LOOK_FOR_NEW_EVERY = 1.0
"""Seconds between two searches for new files, where a folder got or lost one."""
SEARCHES = 10
"""And where none did, so many times as long: one may have come into a folder that held none."""
FRESH_S = 2.0
"""Seconds for which the time of a folder that just changed says nothing about the next change."""


class Follower:
    """Reads what is new under some paths into a run.

    Args:
        paths: files or folders, as the user named them.
        run: where the records go.
        wanted: literal search of the signature matcher.

        group: the files, where the caller looks for new ones; then `paths` are not searched.
        settings: names of settings, for `Context.settings`.

    Attributes:
        folder: the folder of the run that is followed, where the path that was named holds several; else "".
        other_runs: a line that names the others, or "".
        outrun: another run has begun there since.
    """

    def __init__(
        self,
        paths: Iterable[str],
        run: Run,
        wanted: Callable[[bytes], Iterable[int]],
        group: readers.RunGroup | None = None,
        settings: frozenset[str] = frozenset(),
    ) -> None:
        self._paths = list(paths)
        self._run = run
        self._wanted = wanted
        self._settings = settings
        self.group = group
        self._files: dict[str, Growing] = {}
        self._looked = self._searched = -SEARCHES * LOOK_FOR_NEW_EVERY
        self._stamps: dict[str, int] = {}
        self._known: set[str] = set()
        self.folder = ""
        self.other_runs = ""
        self.outrun = False

    @property
    def sources(self) -> list[Source]:
        """What is being followed."""
        return [one.source for one in self._files.values()]

    @property
    def folders(self) -> set[str]:
        """Where something may happen: the folders that the user named, those of the files that are followed,
        and all between."""
        named = {path if os.path.isdir(path) else os.path.dirname(path) for path in self._paths}
        found = {os.path.abspath(folder) for folder in named}
        for home in {os.path.abspath(os.path.dirname(path)) for path in self._files}:
            between = [home]
            while between[-1] not in found and len(between[-1]) > 1:
                between.append(os.path.dirname(between[-1]))
            found.update(between if between[-1] in found else [home])
        return found

    def find(self) -> None:
        """Looks for files, reads nothing yet.

        Raises:
            InputError: a path that the user named does not exist.
        """
        self._looked = self._searched = time.monotonic()
        if self.group is not None:
            self._take(self._parts(self.group))
            return
        self._stamps = {folder: _changed(folder) for folder in self.folders}
        self._discover()
        for folder in self.folders - self._stamps.keys():
            self._stamps[folder] = 0

    def poll(self, until: Callable[[], bool] = lambda: False, *, patient: bool = False) -> bool:
        """Reads what is new; whether there was anything.

        Args:
            until: asked after each block; nothing more is read once it is true, until the next call.
            patient: lines that are like those before them are held back.

        Raises:
            InputError: a path that the user named does not exist.
        """
        now = time.monotonic()
        if self.group is None and now - self._looked >= LOOK_FOR_NEW_EVERY:
            self._looked = now
            if now - self._searched >= SEARCHES * LOOK_FOR_NEW_EVERY or self._has_new():
                self.find()
        before = self._run.version
        for file in self._files.values():
            file.read(until, patient=patient)
        return self._run.version != before

    @property
    def behind(self) -> bool:
        """Whether the last poll left something to be read."""
        return any(file.behind for file in self._files.values())

    @property
    def gone(self) -> bool:
        """Whether none of its files is there any more."""
        return bool(self._files) and all(file.gone for file in self._files.values())

    @property
    def rotated(self) -> bool:
        """Whether something was read that does not lie in these files any more."""
        return any(file.rotated for file in self._files.values())

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return sum(file.held for file in self._files.values())

    def release(self) -> None:
        """Takes in what is held back."""
        for file in self._files.values():
            file.release()

    def close(self) -> None:
        """The run has ended: what was held back is taken in."""
        for file in self._files.values():
            file.close()

    def _has_new(self) -> bool:
        """Whether a folder got or lost an entry since the last search."""
        return any(_changed(folder) != before or not before for folder, before in self._stamps.items())

    def _discover(self) -> None:
        problems: list[Damage] = []
        try:
            found = readers.discover(self._paths, problems)
        except InputError:
            if all(os.path.exists(path) for path in self._paths):
                return  # there is nothing in it yet
            if not self._files:
                raise
            return
        self._take(self._of_one_run(found))

    def _take(self, sources: Sequence[Source]) -> None:
        for source in sources:
            if source.path not in self._files and not self._is_renamed(source.path):
                self._supersede(source)
                self._files[source.path] = self._open(source)

    def _of_one_run(self, found: list[Source]) -> Sequence[Source]:
        """The sources of the run that is followed already, at first of the newest."""
        groups = readers.runs_in(found) if len(self._paths) == 1 else []
        if len(groups) < 2:
            self._known |= {group.folder for group in groups}
            self.other_runs = readers.runs_note(groups)
            return self._parts(groups[-1]) if groups else found
        newest = groups[-1]
        mine = next(
            (group for group in groups if any(source.path in self._files for source in group.sources)), newest
        )
        self.outrun = mine is not newest and newest.folder not in self._known
        if not self.outrun:
            self._known |= {group.folder for group in groups}
        self.folder = mine.folder
        self.other_runs = readers.runs_note([*(group for group in groups if group is not mine), mine])
        return self._parts(mine)

    def _parts(self, group: readers.RunGroup) -> Sequence[Source]:
        """Its sources; where one part goes on with another the run learns of it once."""
        self._run.extend(group.resumes(self._run.events))
        return group.sources

    def _supersede(self, source: Source) -> None:
        """Of the state files of one Trainer each repeats those before: the newer one takes their place."""
        for path, one in list(self._files.items()):
            if source.reader == one.source.reader == "hf_state" and source.logger == one.source.logger:
                self._run.forget(source.logger, path)
                del self._files[path]

    def _open(self, source: Source) -> Growing:
        if source.reader not in self._run.formats:
            self._run.formats.append(source.reader)
        return Growing(source, self._run, self._wanted, self._settings)

    def _is_renamed(self, path: str) -> bool:
        """Whether this is a log that was followed by its former name, and was read by that."""
        known: dict[int, bytes] = {}
        for one in self._files.values():
            known |= one.renamed
            if one.begin and not one.whole:
                known[one.inode] = one.begin
        try:
            begin = known.get(os.stat(path).st_ino)
            if not begin:
                return False
            with open_regular(path) as file:
                return file.read(BEGIN).startswith(begin)
        except OSError:
            return False


def _changed(folder: str) -> int:
    """When it last got or lost an entry; 0 where that is not known, or was a moment ago."""
    try:
        at = os.stat(folder).st_mtime_ns
    except OSError:
        return 0
    return at if abs(time.time() - at / 1e9) > FRESH_S else 0
