"""A support bundle: everything a helper asks for first, in one archive, with secrets removed."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import platform
import sys
import zipfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from hrmdoc import __version__
from hrmdoc.analysis import Analysis
from hrmdoc.errors import InputError
from hrmdoc.monitors.gpu.program import asked
from hrmdoc.monitors.sensor import Absent
from hrmdoc.paths import write_whole
from hrmdoc.remedies.targets import targets
from hrmdoc.reports import as_json, review
from hrmdoc.text.clean import clean, strip_ansi
from hrmdoc.text.redact import redact_log, redact_settings, redact_value

PACKAGES = (
    "torch", "numpy", "transformers", "trl", "accelerate", "datasets", "tokenizers", "peft", "deepspeed",
    "flash-attn", "lightning", "wandb", "mlflow", "tensorboard", "triton", "bitsandbytes", "vllm", "hrmdoc",
)  # fmt: skip
VARIABLES = (
    "CUDA_", "NCCL_", "TORCH_", "PYTORCH_", "OMP_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_",
    "HF_HUB_", "TOKENIZERS_",
)  # fmt: skip
SMALLER = (
    "data.batch_size: 1 or 2, one device, 20 steps, logging every step, no resume: the smallest "
    "run that "
    "shows it"
)
MOST_LOGS, BLOCK, MOST_GPUS = 12, 4 << 20, 1000


def write(analysis: Analysis, target: Path, lines: int) -> list[str]:
    """Writes the archive and returns the names in it.

    Args:
        lines: how many last lines are kept of each text log.

    Raises:
        InputError: the archive cannot be written.
    """
    parts = dict(_parts(analysis, lines))
    try:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in parts.items():
                whole = name.encode(errors="backslashreplace").decode()  # a name of a file may hold any bytes
                archive.writestr(whole, text.encode(errors="backslashreplace"))
        write_whole(target, packed.getvalue())
    except OSError as error:
        raise InputError(f"the archive cannot be written: {error.strerror or error}", file=target) from error
    return list(parts)


def _parts(analysis: Analysis, lines: int) -> Iterator[tuple[str, str]]:
    yield "diagnosis.json", as_json.dumps(analysis)
    yield "report.html", review.html([analysis])
    yield "environment.json", json.dumps(environment(), indent=2)
    facts = {
        f"{fact.scope}:{fact.key}": as_json.plain(redact_value(fact.key, fact.value))
        for fact in analysis.run.facts.values()
    }
    yield "facts.json", json.dumps(facts, indent=2, ensure_ascii=False)
    where = targets(analysis.run, analysis.situation, analysis.book)
    packed = [path for path in (*where.files, *where.records) if path not in where.unnamed]
    for index, path in enumerate(packed):
        text = strip_ansi(path.read_text("utf-8", errors="replace"))
        yield f"config/{index}-{path.name}", redact_settings(text)
    yield "reproduce.md", _reproduction(analysis)
    for index, path in enumerate(_logs(analysis)):
        yield f"logs/{index}-{path.name}", _redacted(_tail(path, lines))


def environment() -> dict[str, object]:
    """Versions, platform and the environment variables that matter to training; values are redacted."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    variables = {
        key: redact_value(key, value) for key, value in os.environ.items() if key.startswith(VARIABLES)
    }
    return {
        "hrmdoc": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "packages": versions,
        "environment": variables,
        "gpus": _gpus(),
    }


def _gpus() -> list[str]:
    """One line a GPU as `nvidia-smi` tells it; empty without an NVIDIA driver."""
    cells = "index,name,driver_version,memory.total,memory.used,utilization.gpu"
    query = f"--query-gpu={cells},ecc.errors.uncorrected.volatile.total"
    try:
        return [clean(line) for line in asked("nvidia-smi", query, "--format=csv").splitlines()[:MOST_GPUS]]
    except Absent:
        return []


def _reproduction(analysis: Analysis) -> str:
    leading = next((h for h in analysis.diagnosis.hypotheses if not h.benign), None)
    keys = (
        "optimizer.lr",
        "schedule.warmup_steps",
        "data.batch_size",
        "precision",
        "optimizer.grad_clip",
        "seed",
        "model.hidden_size",
    )
    known = "\n".join(
        f"- {key}: {analysis.situation.facts[key]}" for key in keys if key in analysis.situation.facts
    )
    suspected = f"Suspected: {leading.title} ({leading.probability:.0%})\n\n" if leading else ""
    return (
        f"# To reproduce\n\n{suspected}Values of this run:\n\n{known or '- none known'}\n\nReduce to: "
        f"{SMALLER}.\n"
    )


def _logs(analysis: Analysis) -> list[Path]:
    named = dict.fromkeys(line.file for line in analysis.run.lines)
    named.update(dict.fromkeys(file for series in analysis.run.series.values() for file in series.files))
    found = [Path(file) for file in named if file and file != "-"]
    return [path for path in found if path.is_file() and path.suffix in (".log", ".out", ".err", ".txt", "")][
        :MOST_LOGS
    ]


def _tail(path: Path, lines: int) -> str:
    """The last lines of a file, of its last 4 MiB."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - BLOCK))
        return "\n".join(deque(file.read().decode("utf-8", errors="replace").splitlines(), lines))


def _redacted(text: str) -> str:
    return redact_log(strip_ansi(text))
