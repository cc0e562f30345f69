"""The rulebook: every symptom, signature, cause, remedy and framework, loaded from YAML and checked.

The classes below are the schema: an unknown key is refused with file, line and the nearest valid word. Checked rules are
kept as JSON in the cache folder, keyed by the content of all files, since parsing YAML with positions takes a second.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct, field

from hrmdoc.errors import RuleError, did_you_mean
from hrmdoc.resources import data_dir

Severity = Literal["info", "warning", "critical"]
Status = Literal["experimental", "stable", "deprecated"]
Number = float | int | str  # a string is `$fact.key` or `$fact.key|default`
Phase = Literal["warmup", "early", "middle", "end"]
EVERY_SYMPTOM = "*"
"""In a cause's `produces`: any symptom that shows and is not named there."""


class Applies(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a rule speaks: run kinds (or all but some), phases, frameworks. Empty means everywhere."""

    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    frameworks: tuple[str, ...] = ()


class LinesWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Log lines matched by the signatures that name this symptom. `recovers`: it is over when training goes on behind the
    last of them, as it always is for a fatal line."""

    at_least: int = 1
    recovers: bool = False


class EventWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """Events of one kind; `within_steps` asks that they fall into so little progress."""

    kind: str
    at_least: int = 1
    within_steps: int | None = None
    pattern: str | None = None


class SilenceWhen(Struct, forbid_unknown_fields=True, frozen=True):
    """No record for longer than `factor` times the median interval between points, and than `floor` seconds."""

    factor: float = 10.0
    floor: float = 120.0


class When(Struct, forbid_unknown_fields=True, frozen=True):
    """What makes a symptom present: exactly one of `detector`, `lines`, `check`, `event`, `silence`, `all`, `any`, `absent`.

    A detector gives one score a point of `role` (paired with `against` where it compares two roles). The symptom opens when the
    score has reached `enter` for `patience` points in a row, and closes when it has fallen to `leave` (default: `enter`) for
    `leave_patience` points. `direction: below` turns both comparisons round. Below `min_points` points it is not evaluated.
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
            raise ValueError(f"`when` needs exactly one of {', '.join(forms)}, found {', '.join(used) or 'none'}")
        return used[0]


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


class Rate(Struct, forbid_unknown_fields=True, frozen=True):
    """A probability with its 95 % interval, and what it was measured on (`prior` when not yet measured)."""

    p: float
    low: float
    high: float
    basis: str = "prior"


class SymptomRule(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/symptoms/<id>.yaml"""

    id: str
    title: str
    when: When
    playbook: str
    status: Status = "stable"
    severity: Severity = "warning"
    group: str | None = None
    applies: Applies = Applies()
    variants: tuple[Variant, ...] = ()
    needs: Needs = Needs()
    evidence: str = ""
    summary: str = ""
    leak: Rate = Rate(0.01, 0.0, 0.05)
    falsepositives: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Signature(Struct, forbid_unknown_fields=True, frozen=True):
    """One wording of a log line. `literals`: every match holds at least one of them, so that a block can be searched fast.

    `traceback`: the line counts only as the last of a traceback whose header and frames it matches, one `file function` a line.
    `desync`: the line counts only when it and a line of another rank disagree about the collective (`sequence`, `op`, sizes).

    Roles after NVIDIA's attribution work: a `root` may be the first failure, a `cascade` is the consequence of another, a
    `confirmation` supports a root, a `note` is neither.
    """

    id: str
    symptom: str
    pattern: str
    literals: tuple[str, ...]
    example: str
    role: Literal["root", "cascade", "confirmation", "note"] = "root"
    fatal: bool = True
    means: str = ""
    traceback: str = ""
    desync: bool = False
    counterexamples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Cause(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/causes/<id>.yaml. `produces`: symptom -> how often it shows when the cause is at work."""

    id: str
    title: str
    prior: float
    produces: dict[str, float]
    playbook: str
    summary: str = ""
    benign: bool = False
    check: str = ""
    applies: Applies = Applies()
    remedies: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Change(Struct, forbid_unknown_fields=True, frozen=True):
    """One canonical key and how it changes. `value` may be a number, a string, a boolean or an expression over facts (`=...`)."""

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


class Remedy(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/remedies/<id>.yaml"""

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
    references: tuple[str, ...] = ()


class ConfigKey(Struct, forbid_unknown_fields=True, frozen=True):
    """How a framework spells one canonical key. `keys`: alternatives, the first is the one to insert."""

    keys: tuple[str, ...]
    type: Literal["float", "int", "bool", "str"] = "float"
    scale: float = 1.0
    note: str = ""


class Framework(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/frameworks/<id>.yaml. `metrics` maps a metric name (or `/regex/`) to a role, `config` a canonical key to own keys."""

    id: str
    title: str
    kind: str | None = None
    metrics: dict[str, str] = field(default_factory=dict)
    config: dict[str, ConfigKey] = field(default_factory=dict)
    config_files: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()


class SignatureFile(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/signatures/<subsystem>.yaml"""

    subsystem: str
    signatures: tuple[Signature, ...]


class Rates(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/rates.yaml: measured frequencies that take the place of those written in the rules; `make calibrate` writes it.

    `leaks` by symptom, `weights` by cause and symptom. Those of rules that no longer exist are passed over.
    """

    leaks: dict[str, Rate] = field(default_factory=dict)
    weights: dict[str, dict[str, Rate]] = field(default_factory=dict)


class Rulebook(Struct, frozen=True):
    """All rules by id."""

    symptoms: dict[str, SymptomRule] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    remedies: dict[str, Remedy] = field(default_factory=dict)
    frameworks: dict[str, Framework] = field(default_factory=dict)


S = TypeVar("S", SymptomRule, SignatureFile, Cause, Remedy, Framework)
FOLDERS: dict[str, type[Struct]] = {
    "symptoms": SymptomRule,
    "signatures": SignatureFile,
    "causes": Cause,
    "remedies": Remedy,
    "frameworks": Framework,
}
RATES = "rates.yaml"


def load(extra: Iterable[Path] = (), *, measured: bool = True) -> Rulebook:
    """The built-in rules, extended and overridden by the folders in `extra` (later wins).

    Args:
        extra: the user's rule folders.
        measured: take measured rates (`rates.yaml`) where there are some, rather than those written in the rules.

    Raises:
        RuleError: a file cannot be read, holds an unknown key or a wrong value, or names an id that does not exist.
    """
    roots = [data_dir("rules"), *extra]
    files = [path for root in roots for path in _rule_files(root) if measured or path.name != RATES]
    blobs = [(path, _read(path)) for path in files]
    digest = hashlib.sha256(b"5")
    for path, blob in blobs:
        digest.update(f"{path.parent.name}/{path.name}\0{len(blob)}\0".encode() + blob)
    cached = _cache_file(digest.hexdigest())
    try:
        return msgspec.json.decode(cached.read_bytes(), type=Rulebook)
    except (OSError, msgspec.MsgspecError):
        book = _parse_all(blobs)
        _store(cached, msgspec.json.encode(book))
        return book


def _rule_files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        raise RuleError("the rule folder does not exist", file=root)
    for folder in FOLDERS:
        yield from sorted((root / folder).glob("*.yaml"))
    if (root / RATES).is_file():
        yield root / RATES


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot read the rule: {error.strerror}", file=path) from error


def _cache_file(digest: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hrmdoc" / f"rules-{digest[:24]}.json"


def _store(path: Path, blob: bytes) -> None:
    """Keeps the checked rules; a cache that cannot be written costs a second, never an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(blob)
        temporary.replace(path)
    except OSError:
        return


def _parse_all(blobs: list[tuple[Path, bytes]]) -> Rulebook:
    book = Rulebook()
    for path, blob in blobs:
        if path.name == RATES:
            _set_rates(book, _rates(path, blob))
            continue
        parsed = parse(path, blob)
        if isinstance(parsed, SignatureFile):
            for signature in parsed.signatures:
                _check_signature(signature, path)
                book.signatures[signature.id] = signature
        elif isinstance(parsed, SymptomRule):
            book.symptoms[parsed.id] = parsed
        elif isinstance(parsed, Cause):
            book.causes[parsed.id] = parsed
        elif isinstance(parsed, Remedy):
            book.remedies[parsed.id] = parsed
        else:
            book.frameworks[parsed.id] = parsed
    return book


def _rates(path: Path, blob: bytes) -> Rates:
    try:
        return msgspec.convert(_yaml(path, blob), Rates, strict=True)
    except msgspec.ValidationError as error:
        raise _explained(error, path, _yaml(path, blob, positions=True), Rates) from error


def _set_rates(book: Rulebook, rates: Rates) -> None:
    """Puts measured rates into the rules read so far; rules of later folders stand as they are written."""
    for name, leak in rates.leaks.items():
        if name in book.symptoms:
            book.symptoms[name] = msgspec.structs.replace(book.symptoms[name], leak=leak)
    for name, weights in rates.weights.items():
        if name in book.causes:
            known = {symptom: rate.p for symptom, rate in weights.items() if symptom in book.symptoms}
            book.causes[name] = msgspec.structs.replace(book.causes[name], produces={**book.causes[name].produces, **known})


def parse(path: Path, blob: bytes) -> SymptomRule | SignatureFile | Cause | Remedy | Framework:
    """Checks one rule file; its folder tells what it is.

    Raises:
        RuleError: with file, line and the nearest valid word.
    """
    kind = FOLDERS.get(path.parent.name)
    if kind is None:
        raise RuleError(f"a rule lies in one of the folders {', '.join(FOLDERS)}, not in {path.parent.name!r}", file=path)
    try:
        parsed = msgspec.convert(_yaml(path, blob), kind, strict=True)
        for when in _whens(parsed):
            when.form()
    except msgspec.ValidationError as error:
        raise _explained(error, path, _yaml(path, blob, positions=True), kind) from error
    except ValueError as error:
        line = _line_of(_yaml(path, blob, positions=True), ("when",))
        raise RuleError(str(error), file=path, line=line) from error
    name = getattr(parsed, "id", None) or getattr(parsed, "subsystem", None)
    if name != path.stem:
        raise RuleError(f"the id {name!r} differs from the file name", file=path, line=1)
    return parsed  # type: ignore[return-value]


def _whens(parsed: object) -> Iterator[When]:
    if isinstance(parsed, SymptomRule):
        yield from walk(parsed.when)


def walk(when: When) -> Iterator[When]:
    """`when` and everything inside it."""
    yield when
    for inner in (*(when.all or ()), *(when.any or ()), *((when.absent,) if when.absent else ())):
        yield from walk(inner)


def _yaml(path: Path, blob: bytes, *, positions: bool = False) -> Any:
    """The tree of a rule file; with `positions` each value knows its line, at twice the cost."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = YAML(typ="rt" if positions else "safe", pure=True).load(blob.decode("utf-8"))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise RuleError(f"not valid YAML: {error.problem}", file=path, line=line) from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise RuleError(f"not valid YAML: {error}", file=path) from error
    if not isinstance(data, dict):
        raise RuleError("a rule file holds one mapping", file=path)
    return data


_UNKNOWN = re.compile(r"unknown field `(?P<key>[^`]*)`")
_AT = re.compile(r" - at `\$?(?P<route>[^`]*)`")


def _explained(error: msgspec.ValidationError, path: Path, data: Any, kind: type[Struct]) -> RuleError:
    """The validation error with its line and, for an unknown key, the nearest valid one."""
    text = str(error)
    found = _AT.search(text)
    route = tuple(part for part in re.split(r"[.\[\]]+", found["route"]) if part) if found else ()
    what, hint = _AT.sub("", text), None
    if unknown := _UNKNOWN.search(text):
        key = unknown["key"]
        hint = did_you_mean(key, _field_names(kind)) or f"known keys: {', '.join(_field_names(kind))}"
        what, route = f"unknown key {key!r}", (*route, key)
    return RuleError(what, file=path, line=_line_of(data, route), hint=hint)


def _field_names(kind: type[Struct]) -> list[str]:
    """Valid keys of `kind` and of the structures inside it, its own first."""
    nested = {
        SymptomRule: (When, Applies, Variant, Needs, Rate),
        SignatureFile: (Signature,),
        Remedy: (Change, Verify),
        Rates: (Rate,),
    }
    kinds = (kind, *nested.get(kind, ()), *((ConfigKey,) if kind is Framework else ()))
    return list(dict.fromkeys(name for one in kinds for name in one.__struct_encode_fields__))


def _line_of(data: Any, route: tuple[str, ...]) -> int | None:
    """1-based line of the value at `route` in a tree that ruamel.yaml loaded."""
    line: int | None = None
    for part in route:
        listed = isinstance(data, list)
        key: Any = int(part) if part.isdigit() and listed else part
        try:
            positions: Any = data.lc
            line = (positions.item(key) if listed else positions.key(key))[0] + 1
            data = data[key]
        except (KeyError, IndexError, AttributeError, TypeError):
            return line
    return line


def _check_signature(signature: Signature, path: Path) -> None:
    """Its pattern compiles and matches its own example and no counterexample, and a literal is in the example."""
    try:
        pattern = re.compile(signature.pattern)
    except re.error as error:
        raise RuleError(f"signature {signature.id}: not a regular expression: {error}", file=path) from error
    if not pattern.search(signature.example):
        raise RuleError(f"signature {signature.id}: the pattern does not match its own example", file=path)
    if not any(literal in signature.example for literal in signature.literals):
        raise RuleError(f"signature {signature.id}: no literal occurs in the example", file=path)
    for line in signature.counterexamples:
        if pattern.search(line):
            raise RuleError(f"signature {signature.id}: the pattern matches the counterexample {line!r}", file=path)


def check(book: Rulebook) -> list[str]:
    """Names that point nowhere, one message each; empty when the rulebook is whole."""
    problems = [f"signature {s.id}: no symptom {s.symptom!r}" for s in book.signatures.values() if s.symptom not in book.symptoms]
    known = {*book.symptoms, EVERY_SYMPTOM}
    for cause in book.causes.values():
        problems += [f"cause {cause.id}: no symptom {name!r}" for name in cause.produces if name not in known]
        problems += [f"cause {cause.id}: no remedy {name!r}" for name in cause.remedies if name not in book.remedies]
    for remedy in book.remedies.values():
        problems += [f"remedy {remedy.id}: no symptom {name!r}" for name in remedy.verify.gone if name not in book.symptoms]
    explained = {symptom for cause in book.causes.values() for symptom in cause.produces}
    problems += [f"symptom {name}: no cause produces it" for name in book.symptoms if name not in explained]
    pages = {path.stem for path in data_dir("playbooks").glob("*.md")}
    named = [(one.id, one.playbook) for one in book.symptoms.values()] + [(one.id, one.playbook) for one in book.causes.values()]
    problems += [f"{name}: no playbook {page!r}" for name, page in named if page.split("#")[0] not in pages]
    return problems
