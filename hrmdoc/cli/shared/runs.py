"""The runs below the paths of a command line, each examined in a session of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hrmdoc.errors import InputError

if TYPE_CHECKING:
    from hrmdoc.analysis import AnalysisSession
    from hrmdoc.fleet.work import Done, Extra
    from hrmdoc.readers import RunGroup
    from hrmdoc.readers.sources.beginning import Listing
    from hrmdoc.record.records import Damage, Fact
    from hrmdoc.settings import Settings


def add_config(session: AnalysisSession, config: Path) -> None:
    """Takes the config that the user names into account, which has the last word on every setting.

    Raises:
        InputError: it cannot be read.
    """
    from hrmdoc.remedies.own_config import config_facts
    from hrmdoc.remedies.python_text import is_program

    if is_program(config):
        session.run.extend(fact for fact in config_facts(config) if fact.scope == "config")
        return
    log = session.run.sighting
    session.read([str(config)])
    session.run.sighting = log


def facts_of_config(config: Path) -> list[Fact]:
    """What the config that the user names says, for a run that is followed.

    Raises:
        InputError: it cannot be read.
    """
    from hrmdoc.analysis import AnalysisSession

    alone = AnalysisSession(str(config))
    add_config(alone, config)
    return [fact for fact in alone.run.facts.values() if fact.scope == "config"]


class Runs:
    """The runs that the user asked for.

    Args:
        paths: as they stand on the command line.
        one_run: all paths belong to one run.
        stated: the facts and roles that the user stated, as `AnalysisSession` takes them.
        how: how folders are looked through.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        one_run: bool = False,
        stated: Mapping[str, Any] | None = None,
        how: Listing | None = None,
    ) -> None:
        from hrmdoc import readers

        self.paths, self.one_run, self.stated, self.how = paths, one_run, stated or {}, how
        self.groups: list[RunGroup] = []
        self.settings: Settings | None = None
        self._problems: list[Damage] = []
        self._nothing: InputError | None = None
        try:
            self.groups = readers.runs_below(paths, self._problems, one_run=one_run, how=how)
        except InputError as error:
            if not all(path == "-" or os.path.lexists(path) for path in paths):
                raise
            self._nothing = error

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.groups) > 1

    @property
    def incomplete(self) -> bool:
        """Whether something was passed by that may hold a fault."""
        return any(problem.incomplete for problem in self._problems)

    def named(self, group: RunGroup) -> bool:
        """Whether the user named this run itself, rather than a folder that it lies in."""
        return not self.several or group.folder in {os.path.normpath(path) for path in self.paths}

    def only(self) -> AnalysisSession:
        """The one run, read; a run without data where nothing in it can be read."""
        from hrmdoc.analysis import AnalysisSession
        from hrmdoc.cli.shared.memory import give_back_large_arrays
        from hrmdoc.cli.shared.options import reading

        give_back_large_arrays()
        path = self.paths[0] if len(self.paths) == 1 or not self.groups else self.groups[0].folder
        session = AnalysisSession(path, **self.stated)
        if self._nothing is None:
            with reading(sum(source.size for source in self.groups[0].sources)) as session.on_read:
                session.try_to_read_run(self.groups[0], self._problems)
        else:
            session.run.extend(self._problems)
            session.note_nothing_read(self._nothing)
        return session

    def examined(self, extra: Extra = "") -> Iterator[tuple[RunGroup, Done]]:
        """Each of several runs in the order in which they are done, on all cores where there are many;
        progress is shown where there is a terminal.

        Args:
            extra: what is wanted beside the summary.
        """
        from hrmdoc import settings
        from hrmdoc.cli.shared.options import progress
        from hrmdoc.fleet.examine import examined
        from hrmdoc.fleet.work import Request, are_compared

        self.name_problems()
        request = Request(
            settings.load(Path.cwd()),
            dict(self.stated),
            extra,
            os.getcwd(),
            compare=are_compared(self.groups),
        )
        self.settings = request.settings
        with progress("examined", len(self.groups)) as advance:
            for done in examined(self.groups, request):
                group = self.groups[done.number]
                advance(group.folder)
                yield group, done

    def sessions(self) -> Iterator[tuple[RunGroup, AnalysisSession]]:
        """Each of several runs, read one after the other; progress is shown where there is a terminal."""
        from hrmdoc.analysis import AnalysisSession, Prepared
        from hrmdoc.cli.shared.options import progress
        from hrmdoc.fleet.work import are_compared

        self.name_problems()
        prepared = Prepared.of()
        with progress("examining", len(self.groups)) as advance:
            for group in self.groups:
                advance(group.folder)
                session = AnalysisSession(
                    group.folder, prepared=prepared, compare=are_compared(self.groups), **self.stated
                )
                session.try_to_read_run(group)
                yield group, session

    def readable(self) -> Iterator[AnalysisSession]:
        """The runs of which something can be read; others are named on standard error.

        Raises:
            InputError: there is none.
        """
        if self._nothing is not None:
            raise self._nothing
        found = False
        if len(self.paths) > 1 and not self.several:
            self.name_problems()
        for _, session in self.sessions() if self.several else [(None, self.only())]:
            if session.run.points or session.run.lines or session.run.events:
                found = True
                yield session
            else:
                reason = session.run.damages[0].what if session.run.damages else "nothing could be read"
                click.echo(f"hrmdoc: passed over: {session.run.path}: {reason}", err=True)
        if not found:
            raise InputError("none of the runs could be read", hint="`hrmdoc formats` lists what can be read")

    def name_problems(self) -> None:
        """Says on standard error what was passed by."""
        for problem in self._problems:
            click.echo(f"hrmdoc: passed over: {problem.file}: {problem.what}", err=True)
