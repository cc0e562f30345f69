"""What the names of files and folders say: what is no log, which rank wrote it, when it began, which logger
it belongs to."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from hrmdoc.readers.support.base import rank_of
from hrmdoc.readers.support.decode import SUFFIXES
from hrmdoc.text import patterns

_NO_LOG_SUFFIXES = frozenset(
    """
    pt pth bin safetensors ckpt onnx gguf h5 hdf5 keras npz npy pkl pickle joblib msgpack arrow parquet
    feather tar tgz zip 7z whl rar jpg jpeg png gif bmp svg webp tif tiff ico pdf mp3 mp4 mov avi wav flac
    ogg ttf woff woff2 py pyc pyi pyx so o a c cc cpp h hpp cu cuh rs go java js ts jsx tsx css scss html
    htm sh bash zsh bat ps1 rb lua ipynb md rst tex bib jinja jinja2 j2 lock toml cfg ini model spm tiktoken
    tmpl proto r mat pb index meta idx distcp cubin ptx swp tmp
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
_WEIGHTS = frozenset(
    "pt pth bin safetensors ckpt onnx gguf h5 hdf5 keras npz npy pkl pickle joblib".split()  # noqa: SIM905 (as above)
)
_NO_LOG_NAMES = frozenset(
    """
    tokenizer.json tokenizer_config.json vocab.json vocab.txt merges.txt special_tokens_map.json
    added_tokens.json generation_config.json preprocessor_config.json processor_config.json
    dataset_info.json dataset_infos.json requirements.txt package.json package-lock.json adapter_model.json
    conda.yaml conda.yml environment.yml python_env.yaml input_example.json identifiers.json license licence
    notice makefile dockerfile readme changelog codeowners pnpm-lock.yaml mkdocs.yml docker-compose.yml
    .gitignore .gitattributes .ds_store latest diagnosis.json incidents.jsonl actions.jsonl
    host.jsonl meta.json demo-output.log report.html report.md
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
_STATES_OF_A_SWEEP = ("experiment_state-", "basic-variant-state-", "searcher-state-", "search_gen_state-")
_NO_LOG_FOLDERS = frozenset(
    [
        "node_modules",
        "__pycache__",
        "site-packages",
        "venv",
        "artifacts",
        "control",
        "code",
        "media",
        "weights",
        "images",
        "hrmdoc_rules",
        "tests",
        "fixtures",
        "testdata",
    ]
)
_HIDDEN_WANTED = frozenset({".hydra", ".wandb", ".trackio", ".aim", ".neptune"})
_MARKS_OF_NO_RUN = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
_RULE_KINDS = frozenset({"symptoms", "signatures", "causes", "remedies", "frameworks"})

_RULE_ID = patterns.lazy(rb"^(?:- )?id: ", re.MULTILINE)
_ROTATED = patterns.lazy(r"^(?P<base>.+\.(?:log|out|err|txt|jsonl|csv))[.-](?P<number>\d{1,3})$")
_ATTEMPT = patterns.lazy(
    r"(?P<head>^|.*/)attempt_(?P<attempt>\d+)/(?P<rank>\d+)/(?P<name>stdout\.log|stderr\.log|error\.json)$"
)
_EVENT_TIME = patterns.lazy(r"tfevents\.(\d{9,11})(?:\.|$)")
_WANDB_FOLDER = patterns.lazy(r"(?:offline-)?run-(\d{8}_\d{6})-([\w-]+)")
_CHECKPOINT = patterns.lazy(r"^(?:checkpoint|global_step|step|iter|ckpt)[-_]?(\d+)$")


def is_no_log(name: str) -> bool:
    """Whether a file of this name is surely no record of a run: weights, images, code, tokenizers."""
    lowered = plain_name(name).lower()
    if "tfevents" in lowered:  # they end with a host name, which may end with anything
        return False
    if lowered in _NO_LOG_NAMES or lowered.endswith((".index.json", "~", ".tmp", ".swp")):
        return True
    if lowered.startswith("."):  # hidden files are settings and halves of files being replaced
        return True
    if lowered.startswith(_STATES_OF_A_SWEEP):
        return True
    suffix = lowered.rpartition(".")[2] if "." in lowered else ""
    return suffix in _NO_LOG_SUFFIXES


def holds_weights(name: str) -> bool:
    """Whether a file of this name holds weights or arrays."""
    return os.path.splitext(plain_name(name))[1].lower().lstrip(".") in _WEIGHTS and "tfevents" not in name


def is_no_log_folder(name: str) -> bool:
    """Whether a folder of this name is passed by. Hidden folders are, but for those of known loggers."""
    return name in _NO_LOG_FOLDERS or (name.startswith(".") and name not in _HIDDEN_WANTED)


def is_no_run_folder(path: str) -> bool:
    """Whether a folder is marked by what lies in it as no place of runs: virtual environments, caches, rules.

    `plots` belongs to pictures, but for those of DVCLive, whose tables lie below `plots/metrics`.
    """
    if os.path.basename(path) == "plots":
        return not os.path.isdir(os.path.join(path, "metrics"))
    try:
        inside = {entry.name for entry in os.scandir(path)}
    except OSError:
        return False
    if os.path.basename(path) == "debug" and _of_swanlab(os.path.dirname(path)):
        return True
    rules = inside & _RULE_KINDS
    return not inside.isdisjoint(_MARKS_OF_NO_RUN) or any(
        _holds_rules(os.path.join(path, one)) for one in rules
    )


def _of_swanlab(folder: str) -> bool:
    """Whether a folder is that of a run of SwanLab, which keeps what went wrong in itself in `debug`."""
    with suppress(OSError):
        return any(entry.name.endswith(".swanlab") for entry in os.scandir(folder))
    return False


def _holds_rules(folder: str) -> bool:
    """Whether a folder of rules begins with one: YAML with the key `id`."""
    try:
        first = next((one.path for one in os.scandir(folder) if one.name.endswith(".yaml")), None)
        if first is None:
            return False
        with open(first, "rb") as file:
            return _RULE_ID.search(file.read(4096)) is not None
    except OSError:
        return False


def plain_name(name: str) -> str:
    """`name` without the ending of a compressed file."""
    return next((name[: -len(suffix)] for suffix in SUFFIXES if name.endswith(suffix)), name)


def checkpoint_number(folder: str) -> int | None:
    """The step in the name of a checkpoint folder, else None."""
    found = _CHECKPOINT.match(folder)
    return int(found[1]) if found else None


def rank_in(path: str) -> int | None:
    """The rank that a file's name gives, or its place in the log folder of torchrun."""
    if found := _ATTEMPT.match(path):
        return int(found["rank"])
    return rank_of(Path(path))


def started_in(path: str) -> float | None:
    """When the file was begun, Unix seconds, if a name gives."""
    if found := _EVENT_TIME.search(path):
        return float(found[1])
    if found := _WANDB_FOLDER.search(path):
        try:
            return datetime.strptime(found[1], "%Y%m%d_%H%M%S").astimezone().timestamp()
        except ValueError:
            return None
    return None


def logger_of(path: str, reader: str) -> str:
    """The logger that a file belongs to: event files of one folder, rotated logs, restarts of torchrun, parts
    of one W&B run."""
    folder, _, name = path.rpartition("/")
    if reader == "tfevents":
        return f"{folder or '.'}/*.tfevents"
    if reader == "wandb" and (found := _WANDB_FOLDER.search(path)):
        return f"wandb:{found[2]}"
    if reader == "hf_state":
        return f"{_output_folder(folder)}/trainer_state.json"
    if found := _ATTEMPT.match(path):
        return f"{found['head']}{found['rank']}/{found['name']}"
    rotated = _ROTATED.match(plain_name(name))
    return path[: len(path) - len(name)] + rotated["base"] if rotated else path


def _output_folder(folder: str) -> str:
    head, _, last = folder.rpartition("/")
    return (head or ".") if checkpoint_number(last) is not None else (folder or ".")


def rotation(path: str) -> int:
    """How many times a log was rotated away (`train.log.2` gives 2); 0 for the current one."""
    found = _ROTATED.match(plain_name(path.rpartition("/")[2]))
    return int(found["number"]) if found else 0


def attempt(path: str) -> int:
    """The restart that torchrun wrote this file in; 0 where there is none."""
    found = _ATTEMPT.match(path)
    return int(found["attempt"]) if found else 0


def is_torchrun_part(path: str) -> bool:
    """Whether the file lies in the log tree of torchrun, whose folders are restarts and ranks of one run."""
    return _ATTEMPT.match(path.replace("\\", "/")) is not None


def natural(path: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key in which `step_9` comes before `step_10`."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d{1,18}|\D+|\d+", path)
    )
