"""rules/frameworks/: how programs name their metrics and settings."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


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


class Resume(Struct, forbid_unknown_fields=True, frozen=True):
    """How a program of the framework goes on from a checkpoint.

    `command`: a pattern that its command line matches; without one it is known by an option of `folder`.
    `folder`: options that name the folder of the run. `checkpoint`: a glob in it. `whole`: files without
    which a checkpoint that is a folder is torn. `words`: what is added to the command, `{checkpoint}` for
    the path. `alone`: the program finds its newest checkpoint itself.
    """

    words: tuple[str, ...]
    folder: tuple[str, ...] = ()
    checkpoint: str = ""
    whole: tuple[str, ...] = ()
    command: str = ""
    alone: bool = False
    references: tuple[str, ...] = ()


class Framework(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/frameworks/<id>.yaml. `metrics` maps a metric name (or `/regex/`) to a role, `config` a canonical
    key to own keys.

    `own_metrics` holds names that have another meaning in runs of other frameworks; they are read so once
    this one is known. `trees`: it grows trees, and trains no weights by their gradient.
    """

    id: str
    title: str
    kind: str | None = None
    trees: bool = False
    metrics: dict[str, str] = field(default_factory=dict)
    own_metrics: dict[str, str] = field(default_factory=dict)
    config: dict[str, ConfigKey] = field(default_factory=dict)
    config_files: tuple[str, ...] = ()
    resume: Resume | None = None
    markers: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()
