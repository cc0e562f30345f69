"""Settings as they come in: YAML files, presets and `key=value` words, flattened to dotted keys that remember
their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from hrmdoc.errors import ConfigError, did_you_mean

PRESETS = Path(__file__).parent / "presets"
AUTO = "auto"  # resume=auto: go on if there is something to go on with
HYDRA_ONLY = ("defaults", "hydra")  # HRM's own YAML holds them; they choose files, not values


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it was set. `file` is None for the command line."""

    value: Any
    file: str | None = None
    line: int | None = None


Settings = dict[str, Setting]


def parse_overrides(words: Sequence[str]) -> Settings:
    """`key=value`, `+key=value` and `++key=value` words, as Hydra takes them. Values are YAML 1.2, so `1e-4`
    is a number.

    Raises:
        ConfigError: a word has no `=`, no key, or a value that is not YAML.
    """
    settings: Settings = {}
    for word in words:
        key, equals, text = word.lstrip("+").partition("=")
        if not equals or not key:
            raise ConfigError(
                f"{word!r} is not a setting", hint="write key=value, such as lr=1e-4 or arch.hidden_size=32"
            )
        try:
            value = YAML(typ="safe", pure=True).load(StringIO(text))
        except (YAMLError, ValueError) as error:
            raise ConfigError(
                f"the value of {key!r} cannot be read: {text!r}", hint="quote it if it is a text"
            ) from error
        if isinstance(value, dict):
            settings.update(
                (f"{key}.{inner}", Setting(found.value)) for inner, found in _flatten(value, None)
            )
        else:
            settings[key] = Setting(value)
    return settings


def read_yaml(path: Path) -> Settings:
    """The settings in a YAML file, with their lines. An empty file has none.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a mapping.
    """
    try:
        document = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration: {error.strerror}", file=path) from error
    except (YAMLError, ValueError) as error:
        mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
        what = (error.problem if isinstance(error, MarkedYAMLError) else None) or "not a YAML text"
        raise ConfigError(
            f"not valid YAML: {what}", file=path, line=None if mark is None else mark.line + 1
        ) from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError("a configuration is a mapping of keys to values", file=path, line=1)
    return {key: value for key, value in _flatten(document, str(path)) if key.split(".")[0] not in HYDRA_ONLY}


def run_settings(path: Path) -> Settings:
    """The configuration beside a checkpoint or in a run directory; none if it is not there."""
    folders = (path, path.parent, path.parent.parent)
    file = next((folder / "config.yaml" for folder in folders if (folder / "config.yaml").is_file()), None)
    return {} if file is None else read_yaml(file)


def preset_names() -> list[str]:
    """The presets there are."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def preset_title(name: str) -> str:
    """The first sentence of a preset's file."""
    lines = (PRESETS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    head = " ".join(line[1:].strip() for line in takewhile(lambda line: line.startswith("#"), lines))
    return head.partition(". ")[0].rstrip(".")


def read_preset(name: str) -> Settings:
    """The settings of one preset, or of several joined by commas (later ones win)."""
    known = preset_names()
    settings: Settings = {}
    for part in name.split(","):
        if part not in known:
            raise ConfigError(
                f"there is no preset {part!r}",
                hint=did_you_mean(part, known) or f"known presets: {', '.join(known)}",
            )
        settings.update(read_yaml(PRESETS / f"{part}.yaml"))
    return settings


def _flatten(mapping: dict[Any, Any], file: str | None, prefix: str = "") -> Iterator[tuple[str, Setting]]:
    for key, value in mapping.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flatten(value, file, f"{dotted}.")
        else:
            line = mapping.lc.key(key)[0] + 1 if isinstance(mapping, CommentedMap) else None
            yield dotted, Setting(_builtin(value), file, line)


def _builtin(value: Any) -> Any:
    """ruamel's number and text types, which remember their spelling, as plain Python."""
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return [_builtin(part) for part in value] if isinstance(value, list) else value
