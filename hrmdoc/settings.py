"""The user's own settings: `hrmdoc.toml`, or `[tool.hrmdoc]` in `pyproject.toml`, found from the working
folder upwards."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from hrmdoc.errors import ConfigError, did_you_mean
from hrmdoc.rulebook import Rulebook, When
from hrmdoc.rulebook.rulefile import misfit


class Acknowledgement(Struct, forbid_unknown_fields=True, frozen=True):
    """A symptom the team knows of: it is shown, but counts as info until the date passes."""

    symptom: str
    reason: str
    until: datetime.date | None = None

    def holds(self, today: datetime.date) -> bool:
        """Whether it still speaks on that day."""
        return self.until is None or today <= self.until


class Threshold(Struct, forbid_unknown_fields=True, frozen=True):
    """Another threshold for one symptom."""

    enter: float | None = None
    leave: float | None = None
    patience: int | None = None
    min_points: int | None = None
    severity: Literal["info", "warning", "critical"] | None = None


class Policy(Struct, forbid_unknown_fields=True, frozen=True):
    """What `hrmdoc watch --act` and `hrmdoc run --act` may do without asking.

    `auto`: remedies of these risks; `min_probability`: of the cause that they are for; `cooldown_s`: seconds
    between two of them.
    """

    auto: tuple[Literal["safe", "guarded"], ...] = ()
    min_probability: Annotated[float, Meta(gt=0, le=1)] = 0.5
    max_per_run: int = 3
    cooldown_s: float = 600.0


class Alerts(Struct, forbid_unknown_fields=True, frozen=True):
    """Where `watch` tells of incidents beside the terminal; nothing is sent unless a target stands here.

    `command` gets the incident as JSON on standard input, `webhook` as the body of a POST.
    """

    command: str | None = None
    webhook: str | None = None
    minimum: Literal["info", "warning", "critical"] = "warning"


class Settings(Struct, forbid_unknown_fields=True, frozen=True):
    """All settings, with their defaults."""

    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    fail_on: Literal["info", "warning", "critical"] = "warning"
    roles: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    thresholds: dict[str, Threshold] = field(default_factory=dict)
    acknowledge: tuple[Acknowledgement, ...] = ()
    policy: Policy = Policy()
    alerts: Alerts = Alerts()
    origin: str = ""


msgspec.json.Decoder(
    Settings
)  # met once while imports are locked: two threads that meet a class first crash msgspec 0.22


def load(folder: Path) -> Settings:
    """The nearest settings at or above `folder`; the defaults when there are none.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds an unknown key.
    """
    for place in (folder, *folder.resolve().parents):
        own = place / "hrmdoc.toml"
        if own.is_file():
            return _convert(_toml(own), own)
        project = place / "pyproject.toml"
        if project.is_file():
            table = _toml(project).get("tool", {}).get("hrmdoc")
            if table is not None:
                return _convert(table, project)
    return Settings()


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read the settings: {error}", file=path) from error


def _convert(table: dict[str, Any], path: Path) -> Settings:
    try:
        settings = msgspec.convert({**table, "origin": str(path)}, Settings)
    except msgspec.ValidationError as error:
        what, route, hint = misfit(error, Settings)
        raise ConfigError(f"{'.'.join(route)}: {what}", file=path, hint=hint) from error
    return msgspec.structs.replace(settings, rules=tuple(str(path.parent / one) for one in settings.rules))


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
    symptoms = dict(book.symptoms)
    for name, threshold in settings.thresholds.items():
        rule = symptoms[name]
        given = {key: value for key, value in msgspec.structs.asdict(threshold).items() if value is not None}
        variants = tuple(msgspec.structs.replace(one, **dict.fromkeys(given)) for one in rule.variants)
        severity = given.pop("severity", rule.severity)
        when = _with_threshold(rule.when, given) if given else rule.when
        if when is None:
            hint = "severity can be changed; what it looks for is told by `hrmdoc explain`"
            raise ConfigError(f"{name} is not judged by a threshold", file=settings.origin or None, hint=hint)
        symptoms[name] = msgspec.structs.replace(rule, when=when, severity=severity, variants=variants)
    return msgspec.structs.replace(book, symptoms=symptoms)


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
