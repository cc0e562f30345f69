"""What offline stores of trackers hold, as the trackers' own programs wrote it, cut to a few steps."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import zlib
from collections.abc import Iterable
from contextlib import closing

LOSSES = (2.3, 2.2, math.nan)


def lines(messages: Iterable[object]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(one) + "\n" for one in messages).encode()


def neptune() -> bytes:
    """The queue of neptune 1.14."""
    told: list[dict[str, object]] = [
        {"type": "AssignString", "path": ["sys", "name"], "value": "Untitled"},
        {"type": "AssignFloat", "path": ["parameters", "lr"], "value": 0.1},
    ]
    told += [
        {"type": "LogFloats", "path": ["train", "loss"], "values": [{"value": loss, "step": n, "ts": 1.7e9}]}
        for n, loss in enumerate(LOSSES)
    ]
    return lines({"obj": one, "version": n, "at": 1.7e9} for n, one in enumerate(told))


def comet() -> bytes:
    """`messages.json` of comet_ml 3.58."""
    told: list[tuple[str, dict[str, object]]] = [
        ("file_name", {"file_name": "train.py"}),
        ("parameter_msg", {"param": {"paramName": "lr", "paramValue": 0.1, "source": "manual"}}),
        ("parameter_msg", {"param": {"paramName": "curr_step", "paramValue": 3, "source": "auto-logged"}}),
        ("metric_msg", {"metric": {"metricName": "sys.ram.used", "metricValue": 3e9, "step": None}}),
        ("standard_output", {"output": "RuntimeError: CUDA out of memory\n", "stderr": True}),
    ]
    told += [
        ("metric_msg", {"metric": {"metricName": "train/loss", "metricValue": loss, "step": n}})
        for n, loss in enumerate(LOSSES)
    ]
    return lines(
        {"payload": {**payload, "local_timestamp": 1_700_000_000_000 + n}, "type": kind}
        for n, (kind, payload) in enumerate(told)
    )


def clearml() -> bytes:
    """`metrics.jsonl` of clearml 2.1: a list of events a line."""
    return lines(
        [
            {
                "timestamp": 1_700_000_000_000 + n,
                "type": "training_stats_scalar",
                "task": "offline-1",
                "iter": n,
                "metric": "loss",
                "variant": "train",
                "value": loss,
            }
        ]
        for n, loss in enumerate(LOSSES)
    )


CLEARML_TASK = {
    "offline_folder": "/tmp/offline-1",
    "hyperparams": {
        "General": {"lr": {"name": "lr", "type": "float", "value": "0.1"}},
        "Args": {"data/shuffle": {"type": "bool", "value": "True"}},
        "odd": 3,
    },
}


def otlp() -> bytes:
    """Exports of a gauge, as the encoder of opentelemetry 1.45 gives them."""
    return lines(
        {
            "resourceMetrics": [
                {
                    "scopeMetrics": [
                        {
                            "metrics": [
                                {
                                    "name": "train.loss",
                                    "gauge": {
                                        "dataPoints": [
                                            {
                                                "attributes": [
                                                    {"key": "step", "value": {"intValue": str(n)}},
                                                    {"key": "host", "value": {"stringValue": "a"}},
                                                ],
                                                "timeUnixNano": str((1_700_000_000 + n) * 10**9),
                                                "asDouble": "NaN" if math.isnan(loss) else loss,
                                            }
                                        ]
                                    },
                                }
                            ]
                        }
                    ]
                }
            ]
        }
        for n, loss in enumerate(LOSSES)
    )


def prometheus_range() -> bytes:
    """The answer to a range query."""
    spelled = ["NaN" if math.isnan(loss) else str(loss) for loss in LOSSES]
    values = [[1_700_000_000 + 15 * n, loss] for n, loss in enumerate(spelled)]
    labels = {"__name__": "train_loss", "job": "train", "instance": "a:9464", "run": "x"}
    found = {"resultType": "matrix", "result": [{"metric": labels, "values": values}]}
    return json.dumps({"status": "success", "data": found}).encode()


PROMETHEUS_TEXT = b"""# HELP train_loss The loss.
# TYPE train_loss gauge
train_loss{run="x"} 2.3
# HELP steps_total Steps.
# TYPE steps_total counter
steps_total 40
"""


def optuna(direction: str = "MINIMIZE") -> bytes:
    """A study of Optuna 5 with two trials that reported values and one that did not."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(
            "CREATE TABLE studies (study_id INTEGER, study_name TEXT);"
            "CREATE TABLE study_directions (study_id INTEGER, direction TEXT, objective INTEGER);"
            "CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT);"
            "CREATE TABLE trial_params (trial_id INTEGER, param_name TEXT, param_value FLOAT, "
            "distribution_json TEXT);"
            "CREATE TABLE trial_intermediate_values (trial_id INTEGER, step INTEGER, "
            "intermediate_value FLOAT, intermediate_value_type TEXT);"
            "INSERT INTO studies VALUES (1, 'tune');"
            "INSERT INTO trials VALUES (1, 0, 1, 'PRUNED'), (2, 1, 1, 'COMPLETE'), (3, 2, 1, 'FAIL');"
        )
        db.execute("INSERT INTO study_directions VALUES (1, ?, 0)", (direction,))
        choice = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": [16, "big"]}})
        db.execute("INSERT INTO trial_params VALUES (2, 'lr', 0.1, '{\"name\": \"FloatDistribution\"}')")
        db.execute("INSERT INTO trial_params VALUES (2, 'batch', 1.0, ?)", (choice,))
        for trial in (1, 2):
            for step, loss in enumerate(LOSSES):
                nan = math.isnan(loss)
                row = (trial, step, None if nan else loss + trial, "NAN" if nan else "FINITE")
                db.execute("INSERT INTO trial_intermediate_values VALUES (?, ?, ?, ?)", row)
        return db.serialize()


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def _field(number: int, kind: int, content: bytes) -> bytes:
    return _varint(number << 3 | kind) + (_varint(len(content)) if kind == 2 else b"") + content


def swanlab() -> bytes:
    """The log of swanlab 0.10: start, scalars, a printed line, end."""
    messages = [_field(10, 2, _field(1, 2, b"p"))]
    for n, loss in enumerate(LOSSES):
        time = _field(4, 2, _field(1, 0, _varint(1_700_000_000 + n)))
        value = _field(5, 2, _field(1, 1, struct.pack("<d", loss)))
        messages.append(_field(13, 2, _field(1, 2, b"train/loss") + _field(2, 0, bytes([n])) + time + value))
    messages.append(_field(16, 2, _field(1, 2, b"RuntimeError: CUDA out of memory")))
    messages.append(_field(11, 2, _field(1, 0, b"\x02")))
    return _framed(b"\x02", messages)


def swanlab_of_json() -> bytes:
    """The same as swanlab 0.6 writes it."""
    at = "2023-11-14T22:13:{:02d}.171403+00:00"
    documents: list[tuple[str, dict[str, object]]] = [("Header", {"create_time": at.format(0)})]
    for n, loss in enumerate(LOSSES):
        said = loss if math.isfinite(loss) else "NaN"
        metric = {"index": n, "data": said, "create_time": at.format(n)}
        documents.append(("Scalar", {"metric": metric, "key": "train/loss", "step": n, "epoch": n + 1}))
    documents.append(("Log", {"message": "RuntimeError: CUDA out of memory", "level": "INFO"}))
    documents.append(("Footer", {"success": False, "create_time": at.format(59)}))
    return _framed(
        b"\0", [json.dumps({"model_type": kind, "data": data}).encode() + b"\n" for kind, data in documents]
    )


def _framed(version: bytes, messages: list[bytes]) -> bytes:
    log = b":SWL\xd6\xe1" + version
    for message in messages:
        framed = b"\x01" + message
        log += zlib.crc32(framed).to_bytes(4, "little") + len(message).to_bytes(2, "little") + framed
    return log


SEEDS = {
    "neptune": neptune(),
    "comet": comet(),
    "clearml": clearml(),
    "otlp": otlp(),
    "prometheus": prometheus_range(),
    "optuna": optuna(),
    "swanlab": swanlab(),
}
