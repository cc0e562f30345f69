"""Which files a patch may change: what the user launches, never a record that a run or a checkpoint keeps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.examination.examine import Situation
from hrmdoc.record.run import Run
from hrmdoc.remedies.launched import probable_configs
from hrmdoc.remedies.own_config import config_facts
from hrmdoc.roles.canonical import settings_of
from hrmdoc.roles.framework import chain
from hrmdoc.roles.typical import typical_facts
from hrmdoc.rulebook import Rulebook

RUN_RECORD = "run.json"
SUFFIXES = frozenset([".yaml", ".yml", ".json", ".py", ".sh", ".txt"])
_RECORD_FOLDERS = re.compile(
    r"checkpoints?(?:[-_]\d+)?|step_\d+|\.hydra|version_\d+|wandb|mlruns|offline-run-.*|run-\d{8}_\d{6}-.*"
)
"""Folders in which programs keep what a run was started with: a change there changes nothing."""
_RECORD_NAMES = frozenset(["hparams.yaml", "hparams.yml"])
_STATE_NAMES = frozenset(
    "run.json heartbeat.json trainer_state.json generation_config.json tokenizer_config.json "  # noqa: SIM905
    "adapter_config.json wandb-metadata.json wandb-summary.json".split()
)
_STATE_OF_TRAINING = b'"log_history"'
_OWN_DOCUMENT = re.compile(rb'\s*\{\s*"schema"\s*:\s*"hrmdoc\.')
"""How hrmdoc's own documents begin, whatever they were named: a diagnosis repeats the settings of its run."""
_MODEL_CONFIG = re.compile(rb'"(?:architectures|model_type|transformers_version)"\s*:')
_STARTED = re.compile(rb'"(?:command|config_source)"\s*:')
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Targets:
    """Where the settings of a run stand.

    Attributes:
        files: what the user launches, so that a change there counts; the first that holds a key is changed.
        records: files that only say what the run had.
        unnamed: those of `files` outside the run's folder that nothing but the run itself names. They may be
            shown, and are changed only once the user names them.
        said: what a file that was found beside the run says of it, as it counts once the user names it.
    """

    files: tuple[Path, ...]
    records: tuple[Path, ...] = ()
    unnamed: frozenset[Path] = frozenset()
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def why_none(self) -> str:
        """Why there is no file to change, where there is none."""
        if not self.records:
            return "no config file found"
        return f"{self.records[0]} only records what the run had; the run is not started from it"


def anywhere(path: Path) -> bool:
    """Whether a config may be looked for there: everywhere."""
    del path
    return True


def targets(
    run: Run,
    situation: Situation,
    book: Rulebook,
    config: Path | None = None,
    within: Callable[[Path], bool] = anywhere,
) -> Targets:
    """The config files of a run, the user's own first.

    Args:
        config: the file that the user names; then it is the only one.
        within: where a config may be looked for; elsewhere nothing is read.
    """
    if config is not None:
        return Targets((config,))
    stated = list(_stated(run))
    found = dict.fromkeys(filter(within, [*stated, *_read(run), *_beside(run, situation, book)]))
    settings = list(filter(_holds_settings, found))
    records = tuple(path for path in settings if is_record(path))
    files = tuple(path for path in settings if path not in records)
    if files or run.path in ("", "-"):
        outside = {path for path in stated if not _lies_in(path, _folder(run))}
        return Targets(files, records, frozenset(outside.intersection(files)))
    probable = probable_configs(_folder(run), situation.framework, situation.facts, book, within)
    files = _to_change(probable)
    return Targets(files, records, frozenset(files), _said(files, situation, book))


def _said(files: Sequence[Path], situation: Situation, book: Rulebook) -> Mapping[str, Any]:
    """What the first of these files says of a run that did not read it, and what is usual for that."""
    if not files:
        return {}
    try:
        facts = [fact for fact in config_facts(files[0]) if fact.scope == "config"]
    except InputError:
        return {}
    settings = settings_of(facts, chain(situation.framework, book), book.frameworks.get("generic"))
    said = {key: fact.value for key, fact in settings.items()}
    return said | typical_facts({**situation.facts, **said}, book.typical.values())


def _to_change(probable: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path for path in probable if _holds_settings(path) and not is_record(path))


def _holds_settings(path: Path) -> bool:
    return os.path.isfile(path) and path.suffix.lower() in SUFFIXES and not is_state(path)


def is_record(path: Path) -> bool:
    """Whether a program wrote the file to remember a run's settings by."""
    if path.name in _RECORD_NAMES or any(_RECORD_FOLDERS.fullmatch(part) for part in path.parts[:-1]):
        return True
    record = path.parent / RUN_RECORD
    return path.name == "config.yaml" and os.path.isfile(record) and _dumped(path, record)


def _dumped(path: Path, record: Path) -> bool:
    """Whether the trainer resolved the config into this file: then its record says how it was started, and
    the file has no comment, as those of persons do."""
    return bool(_STARTED.search(_head(record))) and b"#" not in _head(path)


def is_state(path: Path) -> bool:
    """Whether the file is the state of a training, describes a model, or is what hrmdoc said of a run: none
    holds settings to change."""
    if path.name in _STATE_NAMES:
        return True
    if path.suffix.lower() != ".json":
        return False
    head = _head(path)
    if _STATE_OF_TRAINING in head or _OWN_DOCUMENT.match(head):
        return True
    return path.name == "config.json" and bool(_MODEL_CONFIG.search(head))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _stated(run: Run) -> Iterator[Path]:
    """The config that the run says it was started with. One that a log names, which is anybody's text, is
    only taken below this folder or the run's."""
    named = run.fact("run.config_source")
    if named is None or not named.value:
        return
    path = Path(str(named.value))
    if Path(named.file).name == RUN_RECORD:
        yield path
    elif not path.is_absolute() and ".." not in path.parts:
        yield from (Path(path), _folder(run) / path)


def _read(run: Run) -> Iterable[Path]:
    """The files that the run's settings were read from, those of its own folder first."""
    named = dict.fromkeys(fact.file for fact in run.facts.values() if fact.scope == "config" and fact.file)
    return sorted(map(Path, named), key=lambda path: not _lies_in(path, _folder(run)))


def _beside(run: Run, situation: Situation, book: Rulebook) -> Iterator[Path]:
    """Files that bear the framework's usual names, in the run's folder."""
    framework = book.frameworks.get(situation.framework)
    if framework is not None and run.path not in ("", "-"):
        yield from (_folder(run) / name for name in framework.config_files)


def _folder(run: Run) -> Path:
    path = Path(run.path)
    return path if path.is_dir() else path.parent


def _lies_in(path: Path, folder: Path) -> bool:
    return folder.resolve() in path.resolve().parents
