"""What runs in a process of its own: `python -m benchmarks.speed.tasks NAME ARGUMENT...` ends with a line of
JSON.

Heavy imports stand inside the functions, so that a process pays for what it uses only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def peak_mb() -> float:
    """The most memory this process has held, in MB; pages of shared libraries count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def hrmdoc_read(path: str) -> dict[str, Any]:
    """Reads a file into a run, the whole signature catalogue wanted."""
    from hrmdoc import readers, rulebook
    from hrmdoc.examination.signatures import SignatureMatcher
    from hrmdoc.record.run import Run

    matcher = SignatureMatcher(rulebook.load())
    run = Run(path)
    readers.read_into(run, readers.discover(path), matcher.wanted)
    return {"points": run.points, "lines": len(run.lines), "damages": len(run.damages)}


def reader_only(reader: str, path: str) -> dict[str, Any]:
    """One reader without rules and without a run: its records are counted and dropped."""
    from hrmdoc import readers
    from hrmdoc.readers.support.base import Context
    from hrmdoc.record.records import Damage, Points

    session = readers.reader(reader).open_session(Context(path))
    points = damages = 0
    with Path(path).open("rb") as file:
        block = file.read(1 << 20)
        while block:
            for record in session.feed(block):
                points += len(record.values) if isinstance(record, Points) else 0
                damages += isinstance(record, Damage)
            block = file.read(1 << 20)
        for record in session.close():
            points += len(record.values) if isinstance(record, Points) else 0
            damages += isinstance(record, Damage)
    return {"points": points, "damages": damages}


def reader_into_run(reader: str, path: str) -> dict[str, Any]:
    """One reader into a run, without rules."""
    from hrmdoc import readers
    from hrmdoc.readers import Source
    from hrmdoc.record.run import Run

    run = Run(path)
    readers.read_into(run, [Source(path, reader, path)])
    return {"points": run.points, "damages": len(run.damages)}


def signature_scan(path: str) -> dict[str, Any]:
    """The whole signature catalogue over a log: literals by blocks, then each hit's line by the signatures'
    own patterns."""
    from hrmdoc import rulebook
    from hrmdoc.examination.signatures import SignatureMatcher
    from hrmdoc.record.records import Line

    matcher = SignatureMatcher(rulebook.load())
    session = matcher.session()
    hits = matches = 0
    tail = b""
    with Path(path).open("rb") as file:
        while data := file.read(1 << 20):
            cut = data.rfind(b"\n") + 1
            block, tail = tail + data[:cut], data[cut:]
            seen = -1
            for at in matcher.wanted(block):
                if at < seen:
                    continue
                start, seen = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
                hits += 1
                matches += len(session.match(Line(block[start:seen].decode("utf-8", "replace"), path, hits)))
    return {"hits": hits, "matches": matches}


def literals(path: str) -> dict[str, Any]:
    """Writes the literals of the catalogue to a file, one a line, for other programs."""
    from hrmdoc import rulebook
    from hrmdoc.examination.tracebacks import MARKS

    book = rulebook.load()
    found = dict.fromkeys(literal for signature in book.signatures.values() for literal in signature.literals)
    Path(path).write_text("\n".join((*found, *(mark for mark in MARKS if mark not in found))) + "\n")
    return {"literals": len(found), "signatures": len(book.signatures)}


def event_accumulator(folder: str) -> dict[str, Any]:
    """TensorBoard's EventAccumulator, nothing thrown away."""
    from tensorboard.backend.event_processing import event_accumulator

    accumulator = event_accumulator.EventAccumulator(
        folder, size_guidance={event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0}
    )
    accumulator.Reload()
    found = accumulator.Tags()
    points = sum(len(accumulator.Scalars(tag)) for tag in found["scalars"])
    return {"points": points + sum(len(accumulator.Tensors(tag)) for tag in found["tensors"])}


def rustboard(folder: str, checksum: str = "--no-checksum") -> dict[str, Any]:
    """TensorBoard's data server until it shows every point; `cpu` is that of the server alone, at that
    moment."""
    import os
    import subprocess
    import tempfile
    import time

    import grpc
    import tensorboard_data_server
    from tensorboard.data.proto import data_provider_pb2, data_provider_pb2_grpc

    wanted = max(int(name.name.rsplit("-", 1)[1]) for name in Path(folder).iterdir())
    port_file = Path(tempfile.mkdtemp()) / "port"
    server = subprocess.Popen(
        [
            tensorboard_data_server.server_binary(),
            f"--logdir={folder}",
            "--reload=once",
            "--samples-per-plugin=scalars=all",
            "--port=0",
            f"--port-file={port_file}",
            "--die-after-stdin",
            checksum,
        ],
        stdin=subprocess.PIPE,
    )
    while not port_file.exists() or not port_file.read_text().endswith("\n"):
        time.sleep(0.01)
    stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(
        grpc.insecure_channel(f"localhost:{int(port_file.read_text())}")
    )
    request = data_provider_pb2.ListScalarsRequest(experiment_id="", plugin_filter={"plugin_name": "scalars"})
    top = -1
    while top < wanted:
        time.sleep(0.02)
        for run in stub.ListScalars(request).runs:
            top = max([top, *(tag.metadata.max_step for tag in run.tags)])
    fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = Path(f"/proc/{server.pid}/status").read_text().split("VmHWM:")[1].split()[0]
    server.kill()
    server.wait()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return {"cpu": cpu, "peak_mb": int(status) / 1024, "top": top}


def orjson_lines(path: str) -> dict[str, Any]:
    """orjson alone: each line parsed and dropped."""
    import orjson

    count = 0
    with Path(path).open("rb") as file:
        for line in file:
            orjson.loads(line)
            count += 1
    return {"points": count}


def pandas_table(path: str) -> dict[str, Any]:
    """The C reader of pandas."""
    import pandas as pd

    frame = pd.read_csv(path, engine="c")
    return {"points": int(frame.size)}


def bare(*modules: str) -> dict[str, Any]:
    """Imports and nothing else: the cost of being there."""
    import importlib

    for module in modules:
        importlib.import_module(module)
    return {"points": 0}


def analyze(path: str) -> dict[str, Any]:
    """Everything that `hrmdoc analyze` does, but the words."""
    from hrmdoc.analysis import AnalysisSession

    session = AnalysisSession(path)
    session.read([path])
    analysis = session.diagnose(closed=True)
    return {"points": analysis.run.points, "verdict": analysis.verdict}


def follow(path: str, interval: str, seconds: str) -> dict[str, Any]:
    """Reads what is new in a growing file at an interval for some seconds; `cpu` is what that alone cost."""
    import time

    from hrmdoc import rulebook
    from hrmdoc.examination.signatures import SignatureMatcher
    from hrmdoc.live.follow import Follower
    from hrmdoc.record.run import Run

    run = Run(path)
    follower = Follower([path], run, SignatureMatcher(rulebook.load()).wanted)
    follower.poll()
    begin, end, polls = time.process_time(), time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        time.sleep(float(interval))
        follower.poll()
        polls += 1
    cpu = time.process_time() - begin
    return {"cpu": cpu, "points": run.points, "updates": polls}


def watch(path: str, interval: str, seconds: str) -> dict[str, Any]:
    """Watches a growing file with all rules for some seconds; `cpu` is what that cost after the first
    update."""
    import time

    from hrmdoc.live.watch import Watch

    watching = Watch(path, interval=float(interval), remember=False)
    updates, cpu, points = 0, 0.0, 0
    begin = end = 0.0
    for update in watching.updates():
        if not updates:
            begin, end = time.process_time(), time.monotonic() + float(seconds)
        updates += 1
        cpu, points = time.process_time() - begin, update.analysis.run.points
        if time.monotonic() >= end:
            break
    return {"cpu": cpu, "points": points, "updates": updates}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        hrmdoc_read,
        reader_only,
        reader_into_run,
        signature_scan,
        literals,
        event_accumulator,
        rustboard,
        orjson_lines,
        pandas_table,
        bare,
        analyze,
        follow,
        watch,
    )
}


if __name__ == "__main__":
    said = TASKS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"peak_mb": peak_mb(), **said}))
