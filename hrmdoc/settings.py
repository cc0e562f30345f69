"""The user's own settings: `hrmdoc.toml`, or `[tool.hrmdoc]` in `pyproject.toml`, found from the working
folder upwards."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from hrmdoc import trust
from hrmdoc.errors import ConfigError, did_you_mean
from hrmdoc.routes import Alerts
from hrmdoc.rulebook import Rulebook, When
from hrmdoc.rulebook import current as current_ids
from hrmdoc.rulebook.rulefile import FREE, misfit

LONGEST = 1 << 20
"""Bytes of a settings file."""


class Acknowledgement(Struct, forbid_unknown_fields=True, frozen=True):
    """A symptom the team knows of: it is shown, but counts as info until the date passes."""

    symptom: str
    reason: str
    until: datetime.date | None = None

    def holds(self, today: datetime.date) -> bool:
        """Whether it still speaks on that day."""
        return self.until is None or today <= self.until


class Threshold(Struct, forbid_unknown_fields=True, frozen=True):
    """Another threshold for one symptom. One whose severity is stated keeps it, whatever the course of
    the run speaks for."""

    enter: float | None = None
    leave: float | None = None
    patience: int | None = None
    min_points: int | None = None
    severity: Literal["info", "warning", "critical"] | None = None


class Policy(Struct, forbid_unknown_fields=True, frozen=True):
    """What `hrmdoc watch --act` and `hrmdoc run --act` may do.

    `auto`: remedies of these risks, without asking; `remedies` and `causes`: these alone, where any stand
    there (a cause, or the symptom that first aid ends); `never`: none of these remedies, causes or symptoms;
    `ask`: remedies, or risks, that wait for a person's yes, whether or not `auto` has their risk;
    `min_probability`: of the cause that they are for; `max_per_run`: how many; `cooldown_s`: seconds between
    two of them; `verify_s`: seconds in which one has to show that it helped.
    """

    auto: tuple[Literal["safe", "guarded"], ...] = ()
    min_probability: Annotated[float, Meta(gt=0, le=1)] = 0.5
    max_per_run: Annotated[int, Meta(ge=0)] = 3
    cooldown_s: Annotated[float, Meta(ge=0)] = 600.0
    verify_s: Annotated[float, Meta(gt=0)] = 3600.0
    remedies: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


class Settings(Struct, forbid_unknown_fields=True, frozen=True):
    """All settings, with their defaults. `origin`: the file; `alerts_origin`: the file of `alerts`;
    `withheld`: what does not count, since the user does not trust it yet."""

    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    fail_on: Literal["info", "warning", "critical", "never"] = "warning"
    roles: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    thresholds: dict[str, Threshold] = field(default_factory=dict)
    acknowledge: tuple[Acknowledgement, ...] = ()
    policy: Policy = Policy()
    alerts: Alerts = Alerts()
    heartbeat: str | None = None
    origin: str = ""
    alerts_origin: str = ""
    withheld: tuple[str, ...] = ()


msgspec.json.Decoder(
    Settings
)  # met once while imports are locked: two threads that meet a class first crash msgspec 0.22


def load(folder: Path) -> Settings:
    """The nearest settings at or above `folder`, over the user's own; the defaults when there are none.

    What could do harm (see `hrmdoc.trust`) counts in the user's own file, and elsewhere once that is trusted.

    Raises:
        ConfigError: a file cannot be read, is not TOML, or holds an unknown key.
    """
    own = trust.own_file()
    mine = _toml(own) if own.is_file() else {}
    base = _convert(mine, own) if mine else Settings()
    found = nearest(folder)
    if found is None or found[1] == own:
        return base
    table, path = found
    local = _convert(table, path)
    if kept_back := trust.withheld(table, path):
        _note_withheld(path, tuple(kept_back))
    counting = {name: getattr(local, name) for name in table if name not in kept_back}
    if "alerts" in counting:
        counting["alerts_origin"] = str(path)
    return msgspec.structs.replace(base, **counting, origin=str(path), withheld=tuple(kept_back))


def nearest(folder: Path) -> tuple[dict[str, Any], Path] | None:
    """The nearest settings and their file."""
    for place in (folder, *folder.resolve().parents):
        own = place / "hrmdoc.toml"
        if own.is_file():
            return _toml(own), own
        project = place / "pyproject.toml"
        if project.is_file() and (found := read(project)) is not None:
            return found
    return None


def read(path: Path) -> tuple[dict[str, Any], Path] | None:
    """The settings that a file holds; None for a `pyproject.toml` without any."""
    table = _toml(path)
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("hrmdoc")
    return None if table is None else (table, path)


@lru_cache
def _note_withheld(path: Path, names: tuple[str, ...]) -> None:
    """Says once what does not count, and how to change that."""
    import logging  # slow to load, and of no use to most

    why = trust.objection(path)
    way = f"{why}, so it never will" if why else f"look at it, then: hrmdoc trust {path}"
    logging.getLogger("hrmdoc").warning("hrmdoc: %s: %s does not count; %s", path, ", ".join(names), way)


def _toml(path: Path) -> dict[str, Any]:
    """The file as a table; whoever sees to it that a folder holds such a file may have written anything."""
    import tomllib  # slow to load, and of no use where there are no settings

    try:
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise ConfigError(f"settings are no longer than {LONGEST >> 20} MiB", file=path)
        return tomllib.loads(text.decode())
    except RecursionError as error:
        raise ConfigError("cannot read the settings: nested too deeply", file=path) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read the settings: {error}", file=path) from error


def _convert(table: dict[str, Any], path: Path) -> Settings:
    try:
        settings = msgspec.convert({**table, "origin": str(path), "alerts_origin": str(path)}, Settings)
    except msgspec.ValidationError as error:
        what, route, hint = misfit(error, Settings)
        named = ".".join(_with_names(route, table))
        raise ConfigError(f"{named}: {what}", file=path, hint=hint) from error
    return msgspec.structs.replace(settings, rules=tuple(str(path.parent / one) for one in settings.rules))


def _with_names(route: Sequence[str], table: Any) -> list[str]:
    """The keys that lead to what does not fit, those that are free to choose too: msgspec leaves them out."""
    named: list[str] = []
    for part in route:
        if part == FREE and isinstance(table, dict):
            wrong = (name for name, value in table.items() if not _fits(named, name, value))
            part = next(wrong, part)
        named.append(part)
        table = table.get(part) if isinstance(table, dict) else None
    return named


def _fits(route: Sequence[str], name: str, value: Any) -> bool:
    """Whether one entry of the table at `route` is what it must be."""
    alone = {name: value}
    for key in reversed(route):
        alone = {key: alone}
    try:
        msgspec.convert(alone, Settings)
    except msgspec.ValidationError:
        return False
    return True


def current(settings: Settings, book: Rulebook) -> Settings:
    """The settings, with rules that they name by an id of before under those of today.

    What the policy allows stays named where nothing stands for it any more: an empty list would allow all.
    """
    symptoms, reasons = book.symptoms, {*book.symptoms, *book.causes}

    def allowed(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
        return tuple(one for name in names for one in now((name,), known) or (name,))

    def now(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
        return current_ids(names, book, known)

    thresholds = {new: one for name, one in settings.thresholds.items() for new in now((name,), symptoms)}
    policy = msgspec.structs.replace(
        settings.policy,
        remedies=allowed(settings.policy.remedies, book.remedies),
        causes=allowed(settings.policy.causes, reasons),
        never=now(settings.policy.never, {*book.remedies, *reasons}),
        ask=now(settings.policy.ask, book.remedies),
    )
    return msgspec.structs.replace(
        settings,
        disable=now(settings.disable, symptoms),
        thresholds=thresholds | {name: one for name, one in settings.thresholds.items() if name in symptoms},
        acknowledge=tuple(
            msgspec.structs.replace(one, symptom=new)
            for one in settings.acknowledge
            for new in now((one.symptom,), symptoms)
        ),
        policy=policy,
    )


def adjusted(book: Rulebook, settings: Settings) -> Rulebook:
    """The rulebook with the user's thresholds in place; a variant keeps what the user does not set.

    Raises:
        ConfigError: a threshold or acknowledgement names a symptom that does not exist, or one that no
            threshold decides.
    """
    named = (*settings.thresholds, *(one.symptom for one in settings.acknowledge), *settings.disable)
    for name in named:
        if name not in book.symptoms:
            raise ConfigError(
                f"no symptom {name!r}", file=settings.origin or None, hint=did_you_mean(name, book.symptoms)
            )
    _check_policy(book, settings)
    symptoms = dict(book.symptoms)
    for name, threshold in settings.thresholds.items():
        rule = symptoms[name]
        given = {key: value for key, value in msgspec.structs.asdict(threshold).items() if value is not None}
        variants = tuple(msgspec.structs.replace(one, **dict.fromkeys(given)) for one in rule.variants)
        severity = given.pop("severity", rule.severity)
        when = _with_threshold(rule.when, given) if given else rule.when
        if when is None:
            hint = "severity can be changed; `hrmdoc explain` says what it looks for"
            raise ConfigError(f"{name} is not judged by a threshold", file=settings.origin or None, hint=hint)
        weighed = rule.weighed and threshold.severity is None
        symptoms[name] = msgspec.structs.replace(
            rule, when=when, severity=severity, variants=variants, weighed=weighed
        )
    return msgspec.structs.replace(book, symptoms=symptoms)


def _check_policy(book: Rulebook, settings: Settings) -> None:
    """Refuses a policy that names what does not exist: it would allow or forbid nothing."""
    policy, reasons = settings.policy, {*book.causes, *book.symptoms}
    asked: dict[str, tuple[tuple[str, ...], set[str]]] = {
        "remedies": (policy.remedies, {*book.remedies}),
        "causes": (policy.causes, reasons),
        "never": (policy.never, {*book.remedies, *reasons}),
        "ask": (policy.ask, {*book.remedies, "safe", "guarded"}),
    }
    for key, (names, known) in asked.items():
        for name in names:
            if name not in known:
                raise ConfigError(
                    f"policy.{key}: there is no {name!r}",
                    file=settings.origin or None,
                    hint=did_you_mean(name, known),
                )


def _with_threshold(when: When, given: dict[str, Any]) -> When | None:
    """`when` with the thresholds at its first detector; None when it has none.

    Of alternatives the user's takes the place of all: whoever sets a threshold wants to hear of nothing below
    it.
    """
    if when.detector:
        return msgspec.structs.replace(when, **given)
    for part in when.any or ():
        if (changed := _with_threshold(part, given)) is not None:
            return changed
    parts = list(when.all or ())
    for place, part in enumerate(parts):
        if (changed := _with_threshold(part, given)) is not None:
            return msgspec.structs.replace(when, all=(*parts[:place], changed, *parts[place + 1 :]))
    return None
