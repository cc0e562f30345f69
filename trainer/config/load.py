"""From presets, a YAML file and overrides to one checked `TrainConfig`; and the arithmetic of a run's length.

A later source wins: defaults, then `preset=`, then the file, then the command line.
"""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import reduce
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from ruamel.yaml import YAML

from hrmdoc.errors import ConfigError, did_you_mean

from .overrides import Setting, Settings, parse_overrides, read_preset, read_yaml
from .schema import TrainConfig

HRM_UNUSED = (
    "eval_save_outputs",
)  # HRM dumps tensors under these names; accepted so that its files load, without effect


def load(file: Path | None = None, words: Sequence[str] = (), base: Settings | None = None) -> TrainConfig:
    """Reads and checks a configuration.

    Args:
        file: a YAML file with HRM's keys, or None.
        words: `key=value` overrides.
        base: settings below the file, such as those of a run that is resumed.

    Raises:
        ConfigError: an unknown key (with the nearest known one), a value of the wrong type or out of bounds,
            or two values that contradict each other. Names the file and line where the value was set.
    """
    given: Settings = {**(base or {}), **(read_yaml(file) if file else {}), **parse_overrides(words)}
    if "parallel" in given:  # the short form, parallel=fsdp
        given["parallel.strategy"] = given.pop("parallel")
    preset = given.get("preset")
    settings = {**(read_preset(str(preset.value)) if preset and preset.value else {}), **given}
    types_by_key = key_types()
    values = {
        key: _checked(key, setting, types_by_key)
        for key, setting in settings.items()
        if key not in HRM_UNUSED
    }
    config: TrainConfig = _build(TrainConfig, values)
    if (
        "eval_interval" not in given and config.eval_interval
    ):  # a preset's or the default: nobody meant it for these epochs
        config = replace(config, eval_interval=_divisor(config.epochs, config.eval_interval))
    _check_together(config, settings)
    return config


def key_types() -> dict[str, Any]:
    """Every dotted key and its type."""
    return dict(_walk(TrainConfig, ""))


def dump_keys(config: TrainConfig) -> dict[str, Any]:
    """Every dotted key and its value."""
    return {key: reduce(getattr, key.split("."), config) for key in key_types()}


def dump(config: TrainConfig) -> str:
    """The whole configuration as YAML; `load` gives it back unchanged."""
    text = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(asdict(config), text)
    return text.getvalue()


def total_steps(config: TrainConfig, groups: int, mean_examples: float, *, capped: bool = True) -> int:
    """Optimizer steps of the run: HRM's epochs count groups (a puzzle with its augmentations). `max_steps`
    caps them.

    Raises:
        ConfigError: the data does not fill one step.
    """
    batch = config.global_batch_size * config.grad_accum
    steps = int(config.epochs * groups * mean_examples / batch)
    if steps < 1:
        raise ConfigError(
            f"{config.epochs} epochs of {groups} groups do not fill one step of {batch} examples",
            hint="raise epochs or lower global_batch_size",
        )
    return steps if config.max_steps is None or not capped else min(steps, config.max_steps)


def schedule_warnings(config: TrainConfig, steps: int) -> list[str]:
    """What is odd, but not wrong, about the schedule of a run of `steps` steps."""
    warnings = []
    if config.lr_warmup_steps > steps:
        warnings.append(
            f"lr_warmup_steps={config.lr_warmup_steps} is longer than the run of {steps} steps, "
            "so the learning rate "
            f"only reaches {config.lr * steps / config.lr_warmup_steps:.1e} of {config.lr:.1e}; "
            f"try lr_warmup_steps={max(1, math.ceil(steps * 0.05))}"
        )
    return warnings


def _checked(key: str, setting: Setting, types_by_key: dict[str, Any]) -> Any:
    if key not in types_by_key:
        raise _unknown(key, setting, types_by_key)
    hint, value = types_by_key[key], setting.value
    # OmegaConf's reference; HRM's own YAML has one, puzzle_emb_ndim: ${.hidden_size}
    if isinstance(value, str) and value.startswith("${"):
        if key == "arch.puzzle_emb_ndim":
            return None
        raise _wrong(f"{key}: references such as {value} are not resolved", setting, "write the value")
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(f"{key}={value}: a finite number is needed", setting)
    value = _as_wanted(value, _members(hint))
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        choices = [
            str(choice)
            for member in _members(hint)
            if get_origin(member) is Literal
            for choice in get_args(member)
        ]
        what = f"{key}={value!r}: {str(error).replace('`', '')}"
        raise _wrong(what, setting, f"one of {', '.join(choices)}" if choices else None) from error


def _as_wanted(value: Any, members: Sequence[Any]) -> Any:
    """A number as the key's type has it: 1e3 counts as a whole number, and a name may look like a number."""
    if isinstance(value, float) and value.is_integer() and int in members and float not in members:
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and str in members else value


def _unknown(key: str, setting: Setting, known: dict[str, Any]) -> ConfigError:
    if key == "arch" and isinstance(setting.value, str):
        return _wrong(
            f"arch={setting.value} names a model file, and HRM's hrm_v1 is the only model here",
            setting,
            "leave it out",
        )
    inside = [name for name in known if name.startswith(f"{key}.")]
    if inside:
        return _wrong(
            f"{key!r} holds several keys, not one value", setting, f"set {inside[0]} and its neighbours"
        )
    same_name = [
        name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]
    ]  # hidden_size for arch.hidden_size
    hint = f"did you mean {same_name[0]!r}?" if same_name else did_you_mean(key, known)
    return _wrong(f"unknown key {key!r}", setting, hint)


def _wrong(what: str, setting: Setting, hint: str | None = None) -> ConfigError:
    return ConfigError(what, file=setting.file, line=setting.line, hint=hint)


def _check_together(config: TrainConfig, settings: Settings) -> None:
    """Values that are each valid and contradict each other."""
    arch = config.arch
    if arch.hidden_size % arch.num_heads:
        fitting = max(n for n in range(1, arch.num_heads + 1) if arch.hidden_size % n == 0)
        raise _conflict(
            f"arch.num_heads={arch.num_heads} does not divide arch.hidden_size={arch.hidden_size}",
            f"arch.num_heads={fitting} does",
            settings,
            "arch.num_heads",
            "arch.hidden_size",
        )
    if arch.pos_encodings == "rope" and not arch.mlp_t and (arch.hidden_size // arch.num_heads) % 2:
        raise _conflict(
            f"rotary positions need an even head size, not {arch.hidden_size // arch.num_heads}",
            "choose arch.num_heads so that arch.hidden_size / arch.num_heads is even, "
            "or arch.pos_encodings=learned",
            settings,
            "arch.num_heads",
            "arch.hidden_size",
        )
    if config.eval_interval is not None and config.epochs % config.eval_interval:
        raise _conflict(
            f"eval_interval={config.eval_interval} does not divide epochs={config.epochs}",
            f"eval_interval={_divisor(config.epochs, config.eval_interval)} does",
            settings,
            "eval_interval",
            "epochs",
        )
    if config.data_hash is not None and not config.data_hash.removeprefix("sha256:").isalnum():
        raise _conflict(
            f"data_hash={config.data_hash!r} is not a hash", "copy it from run.json", settings, "data_hash"
        )


def _divisor(whole: int, most: int) -> int:
    """The largest number up to `most` that divides `whole`."""
    return next(n for n in range(min(most, whole), 0, -1) if whole % n == 0)


def check_world(config: TrainConfig, world_size: int) -> None:
    """Refuses a global batch that cannot be shared evenly by `world_size` processes."""
    if config.global_batch_size % world_size:
        fitting = max(world_size, config.global_batch_size // world_size * world_size)
        raise ConfigError(
            f"global_batch_size={config.global_batch_size} cannot be shared evenly by {world_size} processes",
            hint=f"global_batch_size={fitting} can",
        )


def _conflict(what: str, hint: str, settings: Settings, *keys: str) -> ConfigError:
    return _wrong(what, next((settings[key] for key in keys if key in settings), Setting(None)), hint)


def _walk(kind: type, prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        found += _walk(hint, f"{prefix}{name}.") if is_dataclass(hint) else [(f"{prefix}{name}", hint)]  # type: ignore[arg-type]
    return found


def _build(kind: Any, values: dict[str, Any], prefix: str = "") -> Any:
    arguments = {}
    hints = get_type_hints(kind)
    for part in fields(kind):
        key = f"{prefix}{part.name}"
        if is_dataclass(hints[part.name]):
            arguments[part.name] = _build(hints[part.name], values, f"{key}.")
        elif key in values:
            arguments[part.name] = values[key]
    return kind(**arguments)


def _members(hint: Any) -> list[Any]:
    """The plain types that `hint` allows: unions taken apart, bounds dropped."""
    if get_origin(hint) is Annotated:
        return _members(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return [member for part in get_args(hint) for member in _members(part)]
    return [hint]
