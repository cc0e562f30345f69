"""The rulebook: every symptom, signature, cause, remedy and framework, loaded from YAML and checked.

The classes of `hrmdoc.rulebook.schema` say what a file may hold: an unknown key is refused with file, line,
nearest valid word. Checked rules are kept in the cache folder, since parsing YAML takes seconds. They hold as
long as no file came, went, or changed its size or one of its times; that is told without opening the files.
"""

from __future__ import annotations

import os
import re
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hrmdoc import __version__
from hrmdoc.errors import RuleError
from hrmdoc.paths import data_dir
from hrmdoc.rulebook import conditions, relations
from hrmdoc.rulebook.alternatives import unshown
from hrmdoc.rulebook.expressions import compile_expression
from hrmdoc.rulebook.rulefile import convert, line_of
from hrmdoc.rulebook.schema import (
    EVERY_SYMPTOM,
    MESSAGE,
    Applies,
    Cause,
    Change,
    ConfigKey,
    EventWhen,
    Fit,
    Framework,
    Given,
    LinesWhen,
    Needs,
    Number,
    Phase,
    Remedy,
    Rulebook,
    Severity,
    Signature,
    SignatureFile,
    SilenceWhen,
    Status,
    SymptomRule,
    Typical,
    Variant,
    Verify,
    When,
)

__all__ = [
    "EVERY_SYMPTOM",
    "FOLDERS",
    "MESSAGE",
    "Applies",
    "Cause",
    "Change",
    "ConfigKey",
    "EventWhen",
    "Fit",
    "Framework",
    "Given",
    "LinesWhen",
    "Needs",
    "Number",
    "Phase",
    "Remedy",
    "Rulebook",
    "Severity",
    "Signature",
    "SignatureFile",
    "SilenceWhen",
    "Status",
    "SymptomRule",
    "Typical",
    "Variant",
    "Verify",
    "When",
    "check",
    "load",
    "parse",
]

RuleFile = SymptomRule | SignatureFile | Cause | Remedy | Framework | Typical
FOLDERS: dict[str, type[RuleFile]] = {
    "symptoms": SymptomRule,
    "signatures": SignatureFile,
    "causes": Cause,
    "remedies": Remedy,
    "frameworks": Framework,
    "typical": Typical,
}
STATES_KEPT = 8
_LOADING = threading.Lock()
"""msgspec 0.22 crashes the process where two threads are the first to meet a class."""


def load(extra: Iterable[Path] = ()) -> Rulebook:
    """The built-in rules, extended and overridden by the folders in `extra` (later wins).

    Args:
        extra: the user's rule folders.

    Raises:
        RuleError: a file cannot be read, holds an unknown key or a wrong value, or names an id that does not
            exist.
    """
    roots = [data_dir("rules"), *(folder.absolute() for folder in extra)]
    files = [entry for root in roots for entry in _rule_files(root)]
    state = _state(files)
    cached = _cache_file(state)
    with _LOADING:
        try:
            known = msgspec.msgpack.decode(cached.read_bytes(), type=_Checked)
            if known.state == state:
                return known.book
        except (OSError, msgspec.MsgspecError):
            pass  # there is none yet, or it is another version's
        book = _parse_all([(Path(entry.path), _read(Path(entry.path))) for entry in files])
        _store(cached, msgspec.msgpack.encode(_Checked(state, book)))
        return book


class _Checked(Struct):
    """Checked rules as they are kept: `state` tells the files that they were made from."""

    state: bytes
    book: Rulebook


def _rule_files(root: Path) -> Iterator[os.DirEntry[str]]:
    if not root.is_dir():
        raise RuleError("the rule folder does not exist", file=root)
    for folder in (root / name for name in FOLDERS):
        if folder.is_dir():
            yield from sorted(
                (entry for entry in os.scandir(folder) if entry.name.endswith(".yaml")),
                key=lambda entry: entry.name,
            )


def _state(files: Iterable[os.DirEntry[str]]) -> bytes:
    """One line a file: name, size, and the times at which its content and its entry changed.

    The second of these cannot be set, as unpacking an archive sets the first, so another file does not pass
    for this one.

    Raises:
        RuleError: a file cannot be looked at.
    """
    lines = [f"{__version__} 13"]
    for entry in files:
        try:
            found = entry.stat()
        except OSError as error:
            raise RuleError(f"cannot read the rule: {error.strerror}", file=entry.path) from error
        lines.append(f"{entry.path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}")
    return os.fsencode("\n".join(lines))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot read the rule: {error.strerror}", file=path) from error


def _cache_file(state: bytes) -> Path:
    """Where rules of that state are kept. States that share a sum take the place from one another."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hrmdoc" / f"rules-{zlib.crc32(state):08x}.msgpack"


def _store(path: Path, blob: bytes) -> None:
    """Keeps the checked rules beside a few of other states; a cache that cannot be written costs a second,
    never an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(blob)
        temporary.replace(path)
        for old in sorted(path.parent.glob("rules-*"), key=lambda one: one.stat().st_mtime)[:-STATES_KEPT]:
            old.unlink()
    except OSError:
        return


def _parse_all(blobs: list[tuple[Path, bytes]]) -> Rulebook:
    book = Rulebook()
    for path, blob in blobs:
        parsed = parse(path, blob)
        if isinstance(parsed, SignatureFile):
            for signature in parsed.signatures:
                _check_signature(signature, path)
                book.signatures[signature.id] = signature
            book.symptoms.update((message.id, message.rule()) for message in parsed.symptoms)
        elif isinstance(parsed, SymptomRule):
            book.symptoms[parsed.id] = parsed
        elif isinstance(parsed, Cause):
            book.causes[parsed.id] = parsed
        elif isinstance(parsed, Remedy):
            book.remedies[parsed.id] = parsed
        elif isinstance(parsed, Typical):
            book.typical[parsed.id] = parsed
        else:
            book.frameworks[parsed.id] = parsed
    return msgspec.structs.replace(book, symptoms=dict(sorted(book.symptoms.items())))


def good_signs(book: Rulebook) -> frozenset[str]:
    """Info symptoms that only benign causes produce, such as `learns-well`: no findings, but reasons to take
    others lightly."""
    by_benign = {symptom for cause in book.causes.values() if cause.benign for symptom in cause.produces}
    by_real = {symptom for cause in book.causes.values() if not cause.benign for symptom in cause.produces}
    return frozenset(
        name
        for name in by_benign - by_real
        if name in book.symptoms and book.symptoms[name].severity == "info"
    )


def _older_forms(tree: dict[str, Any]) -> dict[str, Any]:
    """A leak with its interval, `{p, low, high, basis}`, counts as the number `p`: rules of users may still
    have it."""
    leak = tree.get("leak")
    return {**tree, "leak": leak["p"]} if isinstance(leak, dict) and "p" in leak else tree


def parse(path: Path, blob: bytes) -> RuleFile:
    """Checks one rule file; its folder tells what it is.

    Raises:
        RuleError: with file, line and the nearest valid word.
    """
    kind = FOLDERS.get(path.parent.name)
    if kind is None:
        raise RuleError(
            f"a rule lies in one of the folders {', '.join(FOLDERS)}, not in {path.parent.name!r}", file=path
        )
    parsed = convert(path, blob, kind, _older_forms)
    if isinstance(parsed, SymptomRule):
        try:
            for when in parsed.when.walk():
                when.form()
        except ValueError as error:
            raise RuleError(str(error), file=path, line=line_of(path, blob, ("when",))) from error
    for route, problem in _misfits(parsed):
        raise RuleError(problem, file=path, line=line_of(path, blob, route))
    name = parsed.subsystem if isinstance(parsed, SignatureFile) else parsed.id
    if name != path.stem:
        raise RuleError(f"the id {name!r} differs from the file name", file=path, line=1)
    return parsed


def _misfits(parsed: RuleFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with the expressions of a file by itself."""
    yield from conditions.misfits(parsed)
    if isinstance(parsed, SymptomRule):
        yield from relations.misfits(parsed)


def _check_signature(signature: Signature, path: Path) -> None:
    """Its pattern compiles and matches a line of every example and of no counterexample, and a literal is in
    every example."""
    try:
        pattern = re.compile(signature.pattern)
    except re.error as error:
        raise RuleError(f"signature {signature.id}: not a regular expression: {error}", file=path) from error
    if not signature.shown():
        raise RuleError(f"signature {signature.id}: no example", file=path)
    for example in signature.shown():
        if not any(pattern.search(line) for line in example.splitlines()):
            raise RuleError(
                f"signature {signature.id}: the pattern does not match its own example {example!r}", file=path
            )
        if not any(literal in example for literal in signature.literals):
            raise RuleError(
                f"signature {signature.id}: no literal occurs in the example {example!r}", file=path
            )
    for line in signature.counterexamples:
        if pattern.search(line):
            raise RuleError(
                f"signature {signature.id}: the pattern matches the counterexample {line!r}", file=path
            )


def _uncompiled(check: str) -> str:
    """Why a check is no expression; empty when it is one."""
    try:
        compile_expression(check)
    except RuleError as error:
        return str(error)
    return ""


def _flaws(given: Given, book: Rulebook) -> Iterator[str]:
    """What is wrong with a circumstance of a cause."""
    asked = compile_expression(given.check).symptoms
    yield from (f"no symptom {name!r}" for name in (*asked, *given.about) if name not in book.symptoms)
    if given.odds <= 0:
        yield f"odds are above 0, not {given.odds:g}"


def check(book: Rulebook, own: Collection[str] = ()) -> list[str]:
    """Names that point nowhere, one message each; empty when the rulebook is whole.

    Args:
        own: symptoms of a user's own; they are told of whether or not a cause accounts for them.
    """
    problems = [
        f"signature {s.id}: no symptom {s.symptom!r}"
        for s in book.signatures.values()
        if s.symptom not in book.symptoms
    ]
    named = {s.symptom for s in book.signatures.values()}
    problems += [
        f"symptom {rule.id}: no signature names it"
        for rule in book.symptoms.values()
        if rule.when.lines is not None and rule.id not in named
    ]
    problems += [
        f"signature {s.id}: no example that this alternative alone matches: {part}"
        for s in book.signatures.values()
        for part in unshown(s)
    ]
    told = [
        (rule.id, part.lines.got_over)
        for rule in book.symptoms.values()
        for part in rule.when.walk()
        if part.lines
    ]
    problems += [
        f"symptom {name}: no signature {over!r}"
        for name, over in told
        if over and over not in book.signatures
    ]
    problems += relations.problems(book.symptoms)
    known = {*book.symptoms, EVERY_SYMPTOM}
    for cause in book.causes.values():
        problems += [f"cause {cause.id}: no symptom {name!r}" for name in cause.produces if name not in known]
        problems += [
            f"cause {cause.id}: no remedy {name!r}" for name in cause.remedies if name not in book.remedies
        ]
        problems += [
            f"cause {cause.id}: {problem}" for given in cause.given for problem in _flaws(given, book)
        ]
    for remedy in book.remedies.values():
        problems += [
            f"remedy {remedy.id}: no symptom {name!r}"
            for name in remedy.verify.gone
            if name not in book.symptoms
        ]
        problems += [
            f"remedy {remedy.id}: {error}" for fit in remedy.fits if (error := _uncompiled(fit.check))
        ]
    offered = {name for cause in book.causes.values() for name in cause.remedies}
    problems += [f"remedy {name}: no cause offers it" for name in book.remedies if name not in offered]
    explained = {symptom for cause in book.causes.values() for symptom in cause.produces}
    problems += [
        f"symptom {name}: no cause produces it" for name in book.symptoms if name not in {*explained, *own}
    ]
    pages = {path.stem for path in data_dir("playbooks").glob("*.md")}
    linked = [(one.id, one.playbook) for one in book.symptoms.values()]
    linked += [(one.id, one.playbook) for one in book.causes.values()]
    problems += [f"{name}: no playbook {page!r}" for name, page in linked if page.split("#")[0] not in pages]
    return problems
