"""The schema of every rule file. An unknown key is refused by `hrmdoc.rulebook`, with file, line and the
nearest valid word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

Severity = Literal["info", "warning", "critical"]
Status = Literal["experimental", "stable", "deprecated"]
Number = float | int | str  # a string is an expression over facts, `=optimizer.lr`
Phase = Literal["warmup", "early", "middle", "end"]
EVERY_SYMPTOM = "*"
"""In a cause's `produces`: any symptom that shows and is not named there."""


class Applies(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a rule speaks: run kinds (or all but some), phases, frameworks. Empty means everywhere."""

    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    frameworks: tuple[str, ...] = ()

    def fits(self, kind: str, framework: str) -> bool:
        """Whether it speaks about runs of this kind and framework."""
        return (
            kind not in self.not_kinds
            and (not self.kinds or kind in self.kinds)
            and (not self.frameworks or framework in self.frameworks)
        )


class LinesWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Log lines matched by the signatures that name this symptom. `recovers`: it is over when training goes
    on behind the last of them, as it always is for a fatal line. `got_over`: the signature by which the
    program says so itself."""

    at_least: int = 1
    recovers: bool = False
    got_over: str = ""


class EventWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Events of one kind; `within_steps` asks that they fall into so little progress."""

    kind: str
    at_least: int = 1
    within_steps: int | None = None
    pattern: str | None = None


class SilenceWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """No progress for longer than `factor` times the median interval between points, and than `floor`
    seconds; than `start` seconds where no interval is known yet."""

    factor: float = 10.0
    floor: float = 120.0
    start: float = 1800.0


class When(Struct, forbid_unknown_fields=True, frozen=True):
    """What makes a symptom present: exactly one of `detector`, `lines`, `check`, `event`, `silence`, `all`,
    `any`, `absent`.

    A detector gives one score a point of `role` (paired with `against` where it compares two roles). The
    symptom opens when the score has reached `enter` for `patience` points in a row, and closes when it has
    fallen to `leave` (default: `enter`) for `leave_patience` points. `direction: below` turns both
    comparisons round. Below `min_points` points it is not evaluated.
    """

    detector: str | None = None
    role: str | tuple[str, ...] | None = None
    against: str | None = None
    with_: dict[str, Any] = field(name="with", default_factory=dict)
    enter: Number | None = None
    leave: Number | None = None
    patience: int = 1
    leave_patience: int = 1
    direction: Literal["above", "below"] = "above"
    min_points: int = 1
    lines: LinesWhen | None = None
    check: str | None = None
    event: EventWhen | None = None
    silence: SilenceWhen | None = None
    all: tuple[When, ...] | None = None
    any: tuple[When, ...] | None = None
    absent: When | None = None

    def form(self) -> str:
        """Which one of the forms this is."""
        forms = ("detector", "lines", "check", "event", "silence", "all", "any", "absent")
        used = [name for name in forms if getattr(self, name) is not None]
        if len(used) != 1:
            raise ValueError(
                f"`when` needs exactly one of {', '.join(forms)}, found {', '.join(used) or 'none'}"
            )
        return used[0]

    @property
    def parts(self) -> tuple[When, ...]:
        """The conditions that `all`, `any` or `absent` joins; none for the other forms."""
        return (*(self.all or ()), *(self.any or ()), *((self.absent,) if self.absent else ()))

    def walk(self) -> Iterator[When]:
        """This condition and everything inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def with_detectors(self, changed: Callable[[When], When]) -> When:
        """This condition with every detector of it, however deep, as `changed` gives it back."""
        if self.detector is not None:
            return changed(self)
        parts = tuple(part.with_detectors(changed) for part in self.parts)
        if self.absent is not None:
            return replace(self, absent=parts[0])
        return replace(self, **{joint: parts for joint in ("all", "any") if getattr(self, joint) is not None})


class Variant(Struct, forbid_unknown_fields=True, frozen=True):
    """Other thresholds for other kinds of runs or frameworks; what is left out stays as in `when`."""

    kinds: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    with_: dict[str, Any] = field(name="with", default_factory=dict)
    enter: Number | None = None
    leave: Number | None = None
    patience: int | None = None
    min_points: int | None = None
    severity: Severity | None = None


class Needs(Struct, forbid_unknown_fields=True, frozen=True):
    """What must be known for the rule to be evaluated. `any_role`: one of them is enough."""

    roles: tuple[str, ...] = ()
    any_role: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class SymptomRule(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/symptoms/<id>.yaml

    `presupposes`: one of these has to show before the question of this symptom arises: where none does, its
    absence says nothing; where one does, this symptom qualifies that one and is no finding beside it.
    `after`: other symptoms whose state its checks ask for. It is looked at behind all of them.
    `run_state`: what has become of a run that shows it, where the symptom says so. `catch_all`: it says that
    something failed and not what. `launcher`: its lines are those of a launcher, not of any rank.
    `alarms: outcome`: it is information while the run ends well all the same.
    """

    id: str
    title: str
    when: When
    playbook: str
    status: Status = "stable"
    severity: Severity = "warning"
    alarms: Literal["always", "outcome"] = "always"
    group: str | None = None
    after: tuple[str, ...] = ()
    presupposes: tuple[str, ...] = ()
    run_state: Literal["hung", "stopped"] | None = None
    catch_all: bool = False
    launcher: bool = False
    applies: Applies = Applies()
    variants: tuple[Variant, ...] = ()
    needs: Needs = Needs()
    evidence: str = ""
    summary: str = ""
    leak: float = 0.01
    falsepositives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()


MESSAGE = When(lines=LinesWhen())
"""One line of one of its signatures is enough."""


class Message(Struct, forbid_unknown_fields=True, frozen=True):
    """A symptom that is there as soon as one of its signatures is, written beside them.

    `counterexamples`: logs, of one line or several, that must not open it.
    """

    id: str
    title: str
    playbook: str
    severity: Severity = "warning"
    status: Status = "stable"
    group: str | None = None
    catch_all: bool = False
    launcher: bool = False
    variants: tuple[Variant, ...] = ()
    summary: str = ""
    leak: float = 0.01
    falsepositives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()

    def rule(self) -> SymptomRule:
        """The same as any other symptom is written."""
        return SymptomRule(when=MESSAGE, evidence="{text}", **asdict(self))


class Signature(Struct, forbid_unknown_fields=True, frozen=True):
    """One wording of a log line. `literals`: every match holds at least one of them, so that a block can be
    searched fast.

    `examples`: what real programs wrote, one line each or the whole traceback that ends in it; `example` is a
    first one.

    `traceback`: the line counts only as the last of a traceback whose header and frames it matches, one `file
    function` a line. `quoted`: the same for the source that its innermost frame shows. `desync`: the line
    counts only when it and a line of another rank disagree about the collective (`sequence`, `op`, sizes).
    `fallback`: it is looked at only where no other signature matches the line, without what a launcher puts
    before it. `facts`: captured groups that are facts of the run, by canonical key; a size becomes a number
    of GiB.

    Roles after NVIDIA's attribution work: a `root` may be the first failure, a `cascade` is the consequence
    of another, a `confirmation` supports a root, a `note` is neither.
    """

    id: str
    symptom: str
    pattern: str
    literals: tuple[str, ...]
    example: str = ""
    examples: tuple[str, ...] = ()
    role: Literal["root", "cascade", "confirmation", "note"] = "root"
    fatal: bool = True
    means: str = ""
    traceback: str = ""
    desync: bool = False
    fallback: bool = False
    quoted: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    counterexamples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def shown(self) -> tuple[str, ...]:
        """All its examples."""
        return (self.example, *self.examples) if self.example else self.examples


class Given(Struct, forbid_unknown_fields=True, frozen=True):
    """A circumstance that makes a cause `odds` times as likely beforehand. `text` says what was seen, as
    evidence is listed. `about`: symptoms that it qualifies; it counts together with them, for or against."""

    check: str
    odds: float
    text: str
    about: tuple[str, ...] = ()


class Cause(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/causes/<id>.yaml. `produces`: symptom -> how often it shows when the cause is at work. `given`:
    what settings and facts say about it, which healthy runs have as well."""

    id: str
    title: str
    prior: float
    produces: dict[str, float]
    playbook: str
    summary: str = ""
    benign: bool = False
    check: str = ""
    applies: Applies = Applies()
    given: tuple[Given, ...] = ()
    remedies: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Change(Struct, forbid_unknown_fields=True, frozen=True):
    """One canonical key and how it changes. `value` may be a number, a string, a boolean or an expression
    over facts (`=...`)."""

    key: str
    op: Literal["set", "multiply", "clamp", "remove"]
    value: Any = None
    min: float | None = None
    max: float | None = None


class Verify(Struct, forbid_unknown_fields=True, frozen=True):
    """How one sees that a remedy helped: which symptoms must be gone, by when, and what else to look at."""

    gone: tuple[str, ...] = ()
    within: str = ""
    also: str = ""


class Fit(Struct, forbid_unknown_fields=True, frozen=True):
    """A condition without which a remedy is not offered; `why` says what hinders. An unknown fact hinders
    nothing."""

    check: str
    why: str


class Remedy(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/remedies/<id>.yaml. `applies`: the kinds of runs that it suits; `fits`: what else must hold."""

    id: str
    title: str
    kind: Literal["patch", "action", "manual"]
    risk: Literal["safe", "guarded", "manual"]
    why: str
    verify: Verify
    changes: tuple[Change, ...] = ()
    action: dict[str, Any] | None = None
    steps: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    applies: Applies = Applies()
    fits: tuple[Fit, ...] = ()
    references: tuple[str, ...] = ()


class ConfigKey(Struct, forbid_unknown_fields=True, frozen=True):
    """How a framework spells one canonical key. `keys`: alternatives, the first is the one to insert.

    `insert`: whether a file that lacks the key may be given it; not where the program would refuse it there.
    `words`: own words for canonical values, such as `flash_attention_2` for true; of several words for one
    value the first is written.
    """

    keys: tuple[str, ...]
    type: Literal["float", "int", "bool", "str"] = "float"
    scale: float = 1.0
    insert: bool = True
    words: dict[str, Any] = field(default_factory=dict)
    note: str = ""


class Framework(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/frameworks/<id>.yaml. `metrics` maps a metric name (or `/regex/`) to a role, `config` a canonical
    key to own keys.

    `own_metrics` holds names that have another meaning in runs of other frameworks; they are read so once
    this one is known.
    """

    id: str
    title: str
    kind: str | None = None
    metrics: dict[str, str] = field(default_factory=dict)
    own_metrics: dict[str, str] = field(default_factory=dict)
    config: dict[str, ConfigKey] = field(default_factory=dict)
    config_files: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()


class SignatureFile(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/signatures/<subsystem>.yaml"""

    subsystem: str
    signatures: tuple[Signature, ...]
    symptoms: tuple[Message, ...] = ()


class TypicalRow(Struct, forbid_unknown_fields=True, frozen=True):
    """What is usual for the runs that it applies to and for which `when` holds: facts and their values, which
    may be expressions (`=...`)."""

    sets: dict[str, float | str]
    applies: Applies = Applies()
    when: str = "True"
    source: str = ""


class TypicalTable(Struct, forbid_unknown_fields=True, frozen=True):
    """One question: the first of its rows that holds answers it."""

    title: str
    rows: tuple[TypicalRow, ...]


class Typical(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/typical/<id>.yaml: later tables may use what earlier ones give."""

    id: str
    tables: tuple[TypicalTable, ...]


class Rulebook(Struct, frozen=True):
    """All rules by id, and what is usual."""

    symptoms: dict[str, SymptomRule] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    remedies: dict[str, Remedy] = field(default_factory=dict)
    frameworks: dict[str, Framework] = field(default_factory=dict)
    typical: dict[str, Typical] = field(default_factory=dict)
