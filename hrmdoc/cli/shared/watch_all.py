"""`hrmdoc watch ROOT --all`: every run below a folder."""

from __future__ import annotations

import gc
import hashlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from hrmdoc.beats import VARIABLE
from hrmdoc.cli.shared.operations import reporting_many
from hrmdoc.cli.shared.options import console, say, status, worst
from hrmdoc.errors import ConfigError, UsageError
from hrmdoc.paths import state_dir

if TYPE_CHECKING:
    from hrmdoc.live.many.beats import Beats
    from hrmdoc.live.many.fleet_watch import FleetWatch
    from hrmdoc.live.many.leases import Leases
    from hrmdoc.live.many.news import News
    from hrmdoc.settings import Settings

PAUSE_S = 0.1
NAMED = 3
"""New runs of one turn that are named; of more the number is said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for, beside what each run is watched with.

    Attributes:
        once: examine once and end.
        leases: the folder in which watchers share the runs out.
        metrics: address and file for Prometheus.
        heartbeat: where the runs say that they live; by default what the environment or the settings say.
        poll_s: seconds between two readings of a run.
    """

    once: bool = False
    leases: Path | None = None
    metrics: tuple[str | None, Path | None] = (None, None)
    fail_on: str | None = None
    heartbeat: str | None = None
    poll_s: float | None = None


def watch_all(root: str, settings: Settings, options: dict[str, Any], asked: Asked) -> int:
    """Follows the runs below `root` until it is stopped; the exit status counts what is open then, but for
    Ctrl-C."""
    from hrmdoc.analysis import Prepared
    from hrmdoc.live.many.fleet_watch import FleetWatch

    if not os.path.isdir(root):
        raise UsageError("--all wants a folder", file=root, hint="hrmdoc watch runs/ --all")
    _for_many()
    beats = _beats(asked.heartbeat, settings)
    leases, once = asked.leases, asked.once
    held = None if once or not options["remember"] else _leases(Path(root), leases)
    keep = leases / "runs" if leases is not None else None
    alone = structs.replace(settings, heartbeat=None)  # those of all runs are read by one thread
    ways: dict[str, Any] = {"leases": held, "keep": keep, "beats": beats, "poll_s": asked.poll_s}
    fleet = FleetWatch(root, Prepared.of(alone), options, old=once, **ways)
    interrupted = False
    with reporting_many(settings, *asked.metrics, home=leases / "alerts" if leases else None) as observe:
        try:
            if once:
                for news in fleet.examine_all():
                    observe(news)
            else:
                interrupted = _follow(fleet, root, observe)
        finally:
            for news in fleet.finish():
                observe(news)
                _say_news(news, console())
    _table(fleet)
    if interrupted:
        return 130
    found = [entry.severity for entry in fleet.entries.values()]
    return status(worst(found), asked.fail_on or settings.fail_on) if found else 2


def _beats(heartbeat: str | None, settings: Settings) -> Beats | None:
    """Those that the user named. A place of one run is refused on the command line, and passed by where it
    stands in the environment or in the settings, which serve other commands too.

    Raises:
        ConfigError: it is no place of many runs.
    """
    from hrmdoc.live.many.beats import Beats

    where = heartbeat or os.environ.get(VARIABLE) or settings.heartbeat
    if where is None:
        return None
    out = console(err=True)
    try:
        return Beats(where, lambda words: say(out, words))
    except ConfigError as error:
        if heartbeat is not None:
            raise
        say(out, f"the heartbeat of the settings is left out: {error.what}")
        return None


def _leases(root: Path, folder: Path | None) -> Leases | None:
    """Where the watchers of this root meet: in the folder that the user named, else in the state folder."""
    from hrmdoc.live.many.leases import Leases

    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    try:
        return Leases(folder or state_dir() / "watchers" / name)
    except OSError as error:
        if folder is not None:
            raise UsageError(f"--leases cannot be written: {error.strerror}", file=folder) from error
        return None  # nothing can be kept: then nothing can be shared either


def _follow(fleet: FleetWatch, root: str, observe: Callable[[News], None]) -> bool:
    """Reports what comes until a signal ends it; whether that was Ctrl-C."""
    out = console()
    stopped: list[int] = []
    asked: list[int] = []

    def end(number: int, frame: object) -> None:
        del frame
        stopped.append(number)
        signal.signal(number, signal.SIG_DFL)  # whoever asks twice does not want the table

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, end)
    with suppress(AttributeError):  # Windows has no such signal
        signal.signal(signal.SIGUSR1, lambda number, _: asked.append(number))
    say(out, f"looking for runs below {root}")
    first = True
    with _keys() as pressed:
        while not stopped:
            found: list[str] = []
            left = 0
            for news in fleet.turn():
                observe(news)
                _say_news(news, out)
                found += [news.entry.name] * (news.kind == "found")
                left += news.kind == "elsewhere"
                if stopped:
                    break
            _say_found([] if first else found, left, out)
            if first and fleet.entries and not fleet.busy:
                _say_begun(fleet, root, out)
                first = False
            if asked or pressed(0.0 if fleet.busy or fleet.behind else PAUSE_S):
                asked.clear()
                _table(fleet)
    return signal.SIGINT in stopped


def _say_begun(fleet: FleetWatch, root: str, out: Any) -> None:
    """Once every run was examined: how they stand, and what of that was known before."""
    from hrmdoc.reports.watched_runs import summed_up

    entries = [*fleet.entries.values()]
    how = "Enter" if sys.stdin is not None and sys.stdin.isatty() else f"kill -USR1 {os.getpid()}"
    say(out, f"following what is below {root}: {summed_up(entries)}; {how}: a table")
    known = [one for one in entries if one.open]
    if known:
        named = ", ".join(f"{one.name} ({one.open[0].symptom})" for one in known[:NAMED])
        more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
        say(out, f"open incidents: {named}{more}")


def _say_found(found: list[str], left: int, out: Any) -> None:
    if len(found) > NAMED:
        say(out, f"{len(found):,} more runs are followed")
    else:
        for name in found:
            say(out, f"new run: {name}")
    if left:
        say(out, f"{left:,} {'run is' if left == 1 else 'runs are'} followed by another watcher now")


def _say_news(news: News, out: Any) -> None:
    """One line an incident, with its run."""
    from hrmdoc.reports.terminal import show_action, show_incident

    name = news.entry.name
    if news.kind in ("examined", "treated") and news.update is not None:
        for incident in news.update.changes:
            show_incident(incident, out, run=name)
        for action in news.update.actions:
            show_action(action, out, run=name)
    elif news.kind == "ended":
        say(out, f"{name} ended: {news.entry.severity.replace('_', ' ')}")
    elif news.kind == "gone":
        say(out, f"{name} is gone: its files were removed")
    elif news.kind == "unreadable":
        say(out, f"{name} cannot be read: {news.entry.why}")


def _table(fleet: FleetWatch) -> None:
    from hrmdoc.reports.watched_runs import show_runs

    show_runs([*fleet.entries.values()], console())


@contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Tells whether Enter (or another line) was typed within some seconds; it waits for so long at most."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield _sleep
        return
    open_ = [sys.stdin]

    def pressed(seconds: float) -> bool:
        if not open_ or not select.select(open_, [], [], seconds)[0]:
            return False if open_ else _sleep(seconds)
        if not os.read(open_[0].fileno(), 1 << 12):
            open_.clear()  # the terminal is gone
        return bool(open_)

    yield pressed


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _for_many() -> None:
    """Asks the system for as many open files as it may give, since each sick run holds two locks; and has the
    interpreter search seldom for circles among objects of which next to all stay."""
    gc.set_threshold(100_000, 50, 100)
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 65_536 if most == resource.RLIM_INFINITY else min(most, 65_536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
