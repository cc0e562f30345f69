"""The core of all integrations: feed it metrics, get incidents.

    import hrmdoc
    with hrmdoc.Monitor() as monitor:
        for step, batch in enumerate(batches):
            ...
            monitor.log(step, {"loss": loss, "grad_norm": norm})

A call of `log` copies what it is given and returns; a thread examines it. Nothing raises into the training.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.integrations import boards, given
from hrmdoc.integrations.wording import AT_LEAST, Level, line_of
from hrmdoc.record.records import Event, Record

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.integrations.boards import Board
    from hrmdoc.integrations.examiner import Examiner
    from hrmdoc.live.incidents import Incident
    from hrmdoc.settings import Settings

EVERY_S = 1.0
"""Seconds between two times that the thread takes in what was logged."""
SEEK_S = 2.0
LAST_LOOK_S = 60.0
_log = logging.getLogger("hrmdoc")
_no_fork = threading.RLock()
"""Held while a monitor thinks: a fork in the middle of an import would leave its child a lock for ever."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release
    )


class Monitor:
    """Examines the run that this process trains, as it goes. Of several ranks the first one speaks.

    Args:
        name: what reports call the run; by default that of the folder, or of the working folder.
        config: settings of the run, nested or flat, by the names that the framework gives them.
        framework: an id of `rules/frameworks`, where it is known.
        to: a folder to keep the run in, for `hrmdoc watch` and `hrmdoc serve`; by default none is written.
        stop: `should_stop` becomes true with the first incident at least as severe as this.
        save: `take_save` answers true once for each incident at least as severe as this.
        on_incident: called with each change of an incident, in the monitor's thread.
        tell: whether incidents go to W&B and MLflow, where a run of theirs is active.
        rank: the global rank of this process, where the environment does not say it.
        share: of one core that the examination may take.
        settings: by default those nearest to the working folder.
        facts: canonical facts, such as `{"run.kind": "rl"}`.
        command: how the run was started, where another process than this was.
    """

    def __init__(
        self,
        name: str = "",
        *,
        config: Mapping[str, Any] | None = None,
        framework: str = "",
        to: str | os.PathLike[str] | None = None,
        stop: Level | None = None,
        save: Level | None = None,
        on_incident: Callable[[Incident], object] | None = None,
        tell: bool = True,
        rank: int | None = None,
        share: float = 0.002,
        settings: Settings | None = None,
        facts: Mapping[str, Any] | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        self._folder = Path(to) if to is not None else None
        self.name = name or (self._folder.name if self._folder else Path.cwd().name)
        self._options: dict[str, Any] = {"settings": settings, "facts": facts, "share": share}
        self._stop, self._save, self._on_incident = stop, save, on_incident
        self._tell, self._rank, self._framework = tell, rank, framework
        self._config: dict[str, Any] = dict(config or {})
        self._command = command
        self._given_boards: list[Board] = []
        self.enabled = given.enabled()
        self._begin()

    def _begin(self) -> None:
        """Starts afresh, also in the child of a fork: that keeps no threads, and locks that nobody holds."""
        self._pid = os.getpid()
        self._speaks = self.enabled and given.rank(self._rank) == 0
        self._queue: deque[given.Row | Record] = deque()
        self._done, self._wake, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._boards: list[Board] = list(self._given_boards)
        self._seek_at = 0.0
        self._saves = 0
        self._complained = False
        self.should_stop = False
        self.analysis: Analysis | None = None
        self.incidents: list[Incident] = []
        """Every change so far, the oldest first."""

    def __repr__(self) -> str:
        found = self.analysis.verdict if self.analysis is not None else "not examined yet"
        return f"<Monitor {self.name!r}: {found}, {len(self.incidents)} changes of incidents>"

    def _repr_html_(self) -> str | None:
        """How a notebook shows it: the run as it was at the last examination."""
        return None if self.analysis is None else self.analysis._repr_html_()

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Takes the metrics of a step: numbers, or tensors and arrays of one element, which are copied and
        not waited for. What is no number is passed over, and named once. Never slow; never raises."""
        try:
            if not self._ready():
                return
            now = time.time()
            if now >= self._seek_at:
                self._seek(now)
            copied = {
                name: value if type(value) is float else given.copied(value)
                for name, value in metrics.items()
            }
            self._queue.append(given.Row(given.step(step), now, copied))
        except Exception as error:  # noqa: BLE001 (whatever is wrong here, training goes on)
            self._complain(error)

    def configure(self, config: Mapping[str, Any], *, facts: Mapping[str, Any] | None = None) -> None:
        """Logs settings of the run, and canonical facts such as `run.total_steps`. Never raises."""
        try:
            self._config.update(config)
            if self._ready():
                self._queue.extend(given.facts(config, facts or {}))
        except Exception as error:  # noqa: BLE001 (as above)
            self._complain(error)

    def add_board(self, board: Board) -> None:
        """Has findings reported at one place more."""
        if all(one.key != board.key for one in self._boards):
            self._given_boards.append(board)
            self._boards.append(board)

    def take_save(self) -> bool:
        """Whether a checkpoint is asked for; asks for none again until the next incident."""
        asked, self._saves = self._saves > 0, 0
        return asked

    def close(self, state: given.State = "finished", error: BaseException | None = None) -> Analysis | None:
        """The run has ended; is examined once more. Never raises.

        Args:
            state: how it ended.
            error: what ended it; its traceback is examined too.

        Returns:
            The last analysis; None where nothing was logged, or another rank speaks.
        """
        if self._thread is None or self._done.is_set() or self._pid != os.getpid():
            return self.analysis
        atexit.unregister(self._at_exit)
        try:
            self._queue.extend(given.end(state, error))
        except Exception as failure:  # noqa: BLE001 (as above)
            self._complain(failure)
        self._done.set()
        self._wake.set()
        self._thread.join(LAST_LOOK_S)
        return self.analysis

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        state: given.State = "finished" if kind is None else "crashed"
        self.close("stopped" if isinstance(error, KeyboardInterrupt) else state, error)

    def _ready(self) -> bool:
        if self._pid != os.getpid():
            self._begin()
        if not self._speaks or self._done.is_set():
            return False
        if self._thread is not None:
            return True
        with self._lock:
            if self._thread is None:
                named = {"run.framework": self._framework} if self._framework else {}
                self._queue.append(Event("start", time=time.time()))
                self._queue.extend(given.facts(self._config, named))
                self._thread = threading.Thread(target=self._work, name="hrmdoc-monitor", daemon=True)
                self._thread.start()
                atexit.register(self._at_exit)
        return True

    def _seek(self, now: float) -> None:
        """Finds the boards of this thread: MLflow keeps the active run by thread."""
        self._seek_at = now + SEEK_S
        for board in boards.active() if self._tell else ():
            if all(one.key != board.key for one in self._boards):
                self._boards.append(board)

    def _at_exit(self) -> None:
        error = getattr(sys, "last_value", None)
        self.close("finished" if error is None else "crashed", error)

    def _work(self) -> None:
        try:
            with _no_fork:
                examiner = self._opened()
            while not self._done.is_set():
                self._wake.wait(EVERY_S)
                self._spread(self._looked(examiner), examiner)
            self._spread(self._looked(examiner, closed=True), examiner)
            for board in self._boards:
                self._guarded(board.closed, examiner.analysis)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (as above; a thread that exits says no word)
            self._give_up(error)

    def _opened(self) -> Examiner:
        from hrmdoc.integrations.examiner import Examiner  # with numpy and all rules: not in the loop's time
        from hrmdoc.integrations.folder import RunFolder

        self._record: RunFolder | None = None
        if self._folder:
            self._record = RunFolder(self._folder, self.name, self._framework, self._command)
        return Examiner(self.name, folder=self._folder, **self._options)

    def _looked(self, examiner: Examiner, *, closed: bool = False) -> list[Incident]:
        """Takes in what was logged, and examines where it is time to."""
        with _no_fork:
            news = [self._queue.popleft() for _ in range(len(self._queue))]
            if news:
                examiner.take(news)
                if self._record is not None:
                    self._record.write(news, self._config)
            return examiner.examine(closed=closed) if closed or examiner.due() else []

    def _spread(self, changes: list[Incident], examiner: Examiner) -> None:
        self.analysis = examiner.analysis
        self.incidents += changes
        for incident in changes:
            _say(line_of(incident), logging.ERROR if incident.severity == "critical" else logging.WARNING)
            if incident.is_open:
                self.should_stop = self.should_stop or incident.severity in AT_LEAST[self._stop]
                self._saves += incident.severity in AT_LEAST[self._save]
            if self._on_incident is not None:
                self._guarded(self._on_incident, incident)
            for board in self._boards:
                self._guarded(board.report, incident, examiner.analysis, len(examiner.open))

    def _guarded(self, call: Callable[..., object], *told_: object) -> None:
        try:
            call(*told_)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a board that is away, a callback with a mistake)
            _say(f"hrmdoc: an incident could not be reported: {_named(error)}")

    def _complain(self, error: BaseException) -> None:
        """Says that a call was passed over, once: a loop would say it at every step."""
        if not self._complained:
            self._complained = True
            _say(f"hrmdoc: the monitor could not take what it was given: {_named(error)}; training goes on")

    def _give_up(self, error: BaseException) -> None:
        if self._speaks:
            self._speaks = False
            _say(f"hrmdoc: the monitor ends: {_named(error)}; training goes on")


def _say(words: str, level: int = logging.WARNING) -> None:
    """Says something in the log; a handler of the training's that fails costs the words alone."""
    with suppress(Exception):
        _log.log(level, "%s", words)


def _named(error: BaseException) -> str:
    """An error by its kind and its words, which its own class may fail to say."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 (a class of the training's)
        return type(error).__name__
