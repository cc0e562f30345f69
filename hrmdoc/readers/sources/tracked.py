"""Runs that a tracking server keeps: `wandb://entity/project/run` and `mlflow://[host:port/]run`.

They are asked for by the tracker's own client, with the user's own login, once a process; what came lies in a
folder that is removed when the process ends. Nothing is ever sent.
"""

from __future__ import annotations

import atexit
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hrmdoc.errors import HrmdocError, InputError, UsageError

Row = dict[str, Any]
_ENDS = {
    "finished": "ended",
    "killed": "stopped",
    "crashed": "crashed",
    "failed": "crashed",
}
"""How a server says that a run ended, in the words of JSON lines; one that goes on has no such line."""
_kept: dict[str, Path] = {}


def is_tracked(path: str) -> bool:
    """Whether a path names a run that a server keeps."""
    scheme, mark, place = path.partition("://")
    return bool(mark and place) and scheme in _CLIENTS


def fetched(path: str) -> Path:
    """The folder that holds what the server keeps of a run.

    Raises:
        UsageError: the client is not installed, or the path names no run.
        InputError: the server refuses, or knows no such run.
    """
    if path not in _kept:
        scheme, _, place = path.partition("://")
        import shutil
        import tempfile  # as slow to load as rarely needed

        folder = Path(tempfile.mkdtemp(prefix="hrmdoc-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        try:
            _write(folder, *_CLIENTS[scheme](place.strip("/")))
        except HrmdocError:
            raise
        except ImportError as error:
            what = f"needs the package {scheme}: {error}"
            raise UsageError(what, file=path, hint=f"pip install {scheme}") from error
        except Exception as error:  # clients raise whatever their servers and networks do
            what = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise InputError(f"the server gave nothing: {what}", file=path) from error
        _kept[path] = folder
    return _kept[path]


def _write(folder: Path, rows: Iterator[Row], settings: Mapping[str, Any], state: str) -> None:
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, default=str) + "\n")
        if state.lower() in _ENDS:
            file.write(json.dumps({"event": _ENDS[state.lower()], "detail": f"state {state}"}) + "\n")
    if settings:
        (folder / "config.json").write_text(json.dumps(dict(settings), default=str), "utf-8")


def _wandb(place: str) -> tuple[Iterator[Row], Mapping[str, Any], str]:
    """History, config and state of a run of Weights & Biases."""
    if place.count("/") != 2:
        raise UsageError(f"{place!r} names no run", hint="wandb://ENTITY/PROJECT/RUN, as in its address")
    run = importlib.import_module("wandb").Api().run(place)
    own = {key: value for key, value in dict(run.config).items() if not key.startswith("_")}
    return _numbers(run.scan_history()), own, str(run.state)


def _numbers(rows: Any) -> Iterator[Row]:
    """Rows without pictures, tables and histograms; W&B spells NaN as a word."""
    for row in rows:
        yield {key: value for key, value in row.items() if isinstance(value, int | float | str)}


def _mlflow(place: str) -> tuple[Iterator[Row], Mapping[str, Any], str]:
    """Metrics, parameters and status of a run of MLflow; without a host that of MLFLOW_TRACKING_URI."""
    host, _, name = place.rpartition("/")
    tracking = importlib.import_module("mlflow.tracking")
    client = tracking.MlflowClient(tracking_uri=f"http://{host}" if host else None)
    run = client.get_run(name)
    return _histories(client, name, list(run.data.metrics)), run.data.params, str(run.info.status)


def _histories(client: Any, run: str, metrics: list[str]) -> Iterator[Row]:
    for metric in metrics:
        for one in client.get_metric_history(run, metric):
            yield {"step": one.step, metric: one.value, "_timestamp": one.timestamp / 1000}


_CLIENTS: dict[str, Callable[[str], tuple[Iterator[Row], Mapping[str, Any], str]]] = {
    "wandb": _wandb,
    "mlflow": _mlflow,
}
