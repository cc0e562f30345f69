"""Where a log is being read: what every format knows of the rank whose line it sees, and of the log.

What only one format needs between two lines is that format's own `State`, kept here by rank.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Struct, field

from hrmdoc.readers.log.grammar.position import Flow
from hrmdoc.readers.log.grammar.settings import names_of
from hrmdoc.readers.log.grammar.template import Plans
from hrmdoc.readers.log.state.bar_of_run import BarOfRun
from hrmdoc.readers.log.state.facts import Facts
from hrmdoc.readers.log.state.sink import LeftOut, Mark, Sink

S = TypeVar("S", bound="State")
F = TypeVar("F")


class Line(Struct):
    """One line, or one redraw of it.

    Attributes:
        text: the message, without what launchers and loggers write before it.
        mark: where it stands, and when and by which rank it was written.
        kinds: what the words on it may be about, see `scan`.
        logger: the last word of the prefix that named one.
        whole: the line with its prefix.
        kept: a signature asks for it, so that it is kept already.
    """

    text: str
    mark: Mark
    kinds: int = 0
    logger: str = ""
    whole: str = ""
    kept: bool = False


class State(Struct):
    """What a format remembers of one rank between its lines.

    Attributes:
        MEASURES: while it is open, any line may be about metrics.
        MODAL: it has a `mode`.
        STEADY: while it is open, lines that a format takes are read as those of their shape always are.
    """

    MEASURES: ClassVar[bool] = True
    MODAL: ClassVar[bool] = False
    STEADY: ClassVar[bool] = False

    @property
    def open(self) -> bool:
        """Whether the next line is wanted even if no word on it is known."""
        return False

    def take(self, text: str) -> bool:
        """Takes a line in that goes on with what is open and that no format asked before would take, where
        nothing else is open; False, and nothing has happened, where it must be read as any other."""
        del text
        return False

    @property
    def mode(self) -> Hashable:
        """What changes how a single line is read, such as the columns of a table above it; false when
        nothing does."""
        return None


class Log:
    """What the formats of one log share.

    Attributes:
        plans: templates of lines that were understood.
        settings: names of settings, in lower case.
        formats: the formats of this log by their classes.
    """

    def __init__(self, sink: Sink, settings: frozenset[str] = frozenset()) -> None:
        self.sink = sink
        self.settings = names_of(settings)
        self.file = sink.file
        self.plans = Plans()
        self.left_out = LeftOut()
        self.facts = Facts(sink, self.left_out)
        self.formats: dict[type[Any], Any] = {}

    def format(self, kind: type[F]) -> F:
        """The log's own reader of a format."""
        found: F = self.formats[kind]
        return found

    def leave_out(self, what: str, mark: Mark, count: int = 1, *, data: bool = False) -> None:
        """Notes that a bound was reached; see `LeftOut`."""
        self.left_out.add(what, mark, count, data=data)


class Cursor(Struct):
    """Where the lines of one rank have come to.

    Attributes:
        log: what all ranks share.
        flow: epoch and step.
        bar: the bar that counts the run's steps.
        steps_per_epoch: as last seen, 0 when unknown.
        trial: of the trials that a search prints into one log, the one that is read.
        filed: the log holds Composer's own rows, which its bars repeat.
        rank: whose lines these are.
    """

    log: Log
    flow: Flow = field(default_factory=Flow)
    bar: BarOfRun = field(default_factory=BarOfRun)
    steps_per_epoch: float = 0.0
    trial: str = ""
    filed: bool = False
    rank: int | None = None
    states: dict[type[State], Any] = field(default_factory=dict)
    modal: list[State] = field(default_factory=list)
    opening: list[State] = field(default_factory=list)

    def of(self, kind: type[S]) -> S:
        """A format's own state."""
        state = self.states.get(kind)
        if state is None:
            state = self.states[kind] = kind()
            if kind.MODAL:
                self.modal.append(state)
            if kind.open is not State.open:
                self.opening.append(state)
        return state

    @property
    def open(self) -> bool:
        """Whether something that goes over several lines has not ended."""
        return True in [state.open for state in self.opening]

    @property
    def inside(self) -> State | None:
        """What is open, where that is one thing alone."""
        opened = [state for state in self.opening if state.open]
        return opened[0] if len(opened) == 1 else None

    @property
    def steady(self) -> bool:
        """Whether all that is open leaves lines of known shapes to be read as ever."""
        return not [state for state in self.opening if state.open and not state.STEADY]

    @property
    def measures(self) -> bool:
        """Whether what is open makes any line one that may be about metrics."""
        return True in [state.open for state in self.opening if state.MEASURES]

    @property
    def mode(self) -> tuple[Hashable, ...]:
        """All that changes how a single line is read."""
        return tuple([mode for state in self.modal if (mode := state.mode)])

    def place(self) -> tuple[int | None, Literal["step", "epoch"]]:
        """The step that the log has come to, or else the epoch."""
        step = self.flow.step
        return (self.flow.epoch, "epoch") if step is None else (step, "step")
