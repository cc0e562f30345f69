"""Writes the inputs of the benchmarks: event files, logs, JSON lines, tables. Every generator gives the same
bytes each time."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import google_crc32c

TAGS = tuple(
    f"{part}/{name}"
    for part in ("train", "optim")
    for name in ("loss", "grad_norm", "lr", "accuracy", "step_time")
) + tuple(f"layers/block_{number}/update_ratio" for number in range(10))
NAMES = (
    "step",
    "epoch",
    "time",
    "loss",
    "lr",
    "grad_norm",
    "accuracy",
    "step_time",
    "tokens_per_second",
    "num_tokens",
)
BLOCK = 1 << 20


def events(path: Path, scalars: int, tags: int = 20) -> Path:
    """One TensorBoard event file with `scalars` simple values, one an event, as most writers do."""
    heads = [_event_head(tag.encode()) for tag in TAGS[:tags]]
    with path.open("wb", buffering=BLOCK) as file:
        file.write(_framed(b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"))
        for number in range(scalars):
            step, tag = divmod(number, tags)
            value = struct.pack("<f", _curve(step + 1, tag))
            clock = b"\x09" + struct.pack("<d", 1.7e9 + 0.1 * step)
            file.write(_framed(clock + (b"\x10" + _varint(step) if step else b"") + heads[tag] + value))
    return path


def _event_head(tag: bytes) -> bytes:
    """Summary with one value up to the four bytes of the number."""
    value = b"\x0a" + _varint(len(tag)) + tag + b"\x15"
    inner = b"\x0a" + _varint(len(value) + 4) + value
    return b"\x2a" + _varint(len(inner) + 4) + inner


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes((number & 127 | 128,))
        number >>= 7
    return out + bytes((number,))


def _framed(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + _masked(length) + payload + _masked(payload)


def _masked(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _curve(step: int, salt: int) -> float:
    """A falling value with the ripple of small batches."""
    ripple = math.sin(step * 12.9898 + salt * 78.233) * 43758.5453
    return 0.5 + 4.0 / (1.0 + step / 200.0) + 0.1 * (ripple - math.floor(ripple))


def json_lines(path: Path, records: int) -> Path:
    """Records of ten numbers, as a structured metrics log has them."""
    with path.open("wb", buffering=BLOCK) as file:
        for row in _rows(records):
            file.write(json.dumps(dict(zip(NAMES, row, strict=True))).encode() + b"\n")
    return path


def comma_table(path: Path, records: int) -> Path:
    """The same records as a table."""
    with path.open("wb", buffering=BLOCK) as file:
        file.write(",".join(NAMES).encode() + b"\n")
        for row in _rows(records):
            file.write(",".join(map(repr, row)).encode() + b"\n")
    return path


def _rows(records: int) -> Iterator[tuple[float, ...]]:
    for step in range(records):
        loss = _curve(step + 1, 0)
        warm = min(1.0, (step + 1) / 100)
        yield (
            step,
            step / 1000,
            1.7e9 + 0.5 * step,
            loss,
            3e-4 * warm,
            0.2 + loss / 5,
            1 - loss / 5,
            0.48,
            8533.25,
            4096 * step,
        )


_PLAIN_LINES = (
    "2026-05-04 10:{m:02d}:{s:02d},123 [INFO] data.loader: shard {n} of 4096 opened in {f:.3f} s from "
    "/data/pile/{n:05d}.bin",
    "node{k}:{n}:{n} [{k}] NCCL INFO Channel {k:02d}/0 : {k}[{k}] -> 1[1] via P2P/CUMEM",
    '  warnings.warn("the attention mask is not set and cannot be inferred", UserWarning)',
    "[rank{k}]: cached {n} tokens, cache holds {f:.1f} GiB of 64.0 GiB",
    "/opt/lib/python3.11/site-packages/package/module.py:{n}: FutureWarning: `resume_download` is deprecated",
    'DEBUG:urllib3.connectionpool:https://host:443 "HEAD /models/main/config.json HTTP/1.1" 200 0',
    "I0504 10:{m:02d}:{s:02d}.123456 {n} service.cc:{k}] XLA service 0x55d0c0 initialized for platform CUDA",
    "2026-05-04T10:{m:02d}:{s:02d}Z stdout F worker {k} heartbeat ok queue={n} lag={f:.2f}ms",
)
_TROUBLE = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU {k}; 79.1 GiB total capacity; "
    "70.1 GiB already allocated)",
    "[rank{k}]:[E504 10:{m:02d}:{s:02d}.1] [PG 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={n})",
    "OSError: [Errno 28] No space left on device",
)


def text_log(path: Path, size: int, metric_every: int = 0) -> Path:
    """A log of `size` bytes: notices of libraries with a line of trouble in 20,000, and every so many lines
    one with metrics."""
    block = text_block(metric_every)
    with path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
        rest = size % len(block)
        file.write(block[: block.rfind(b"\n", 0, rest) + 1])
    return path


def text_block(metric_every: int) -> bytes:
    """About 8 MiB of log; the rest of the file repeats it."""
    rng = random.Random(7)
    lines, size, number = [], 0, 0
    while size < 8 << 20:
        number += 1
        if metric_every and number % metric_every == 0:
            line = huggingface_line(number)
        else:
            form = _TROUBLE[number % 3] if number % 20_000 == 0 else _PLAIN_LINES[number % 8]
            k, n = rng.randrange(8), rng.randrange(99_999)
            line = form.format(n=n, k=k, m=n % 60, s=n % 59, f=n / 997)
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines).encode() + b"\n"


def huggingface_line(step: int) -> str:
    """As transformers' Trainer prints it."""
    loss = _curve(step, 0)
    rate = 3e-4 / (1 + step / 1e4)
    return (
        f"{{'loss': {loss:.4f}, 'grad_norm': {loss / 3:.6f}, 'learning_rate': {rate:.10e}, 'epoch': "
        f"{step / 100:.2f}}}"
    )


def nanogpt_line(step: int) -> str:
    """As nanoGPT prints it."""
    return f"iter {step}: loss {_curve(step, 0):.4f}, time {140 + step % 9:.2f}ms, mfu 31.22%"


def megatron_line(step: int) -> str:
    """As Megatron-LM prints it."""
    return (
        f" [2026-05-04 10:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step:8d}/  500000 | "
        f"consumed samples: {step * 256:12d} | "
        f"elapsed time per iteration (ms): {1400 + step % 7:.1f} | learning rate: "
        f"{3e-4 / (1 + step / 1e4):.6E} | "
        f"global batch size:   256 | lm loss: {_curve(step, 0):.6E} | loss scale: 1.0 | grad norm: "
        f"{_curve(step, 1) / 3:.3f} | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def bar_line(step: int) -> str:
    """One redraw of a progress bar with a metric behind it."""
    percent = step * 100 // 1_000_000
    return f"\r{percent:3d}%|{'#' * 10}| {step}/1000000 [01:02<99:10, 12.31it/s, loss={_curve(step, 0):.3f}]"


LINES = {"huggingface": huggingface_line, "nanogpt": nanogpt_line, "megatron": megatron_line, "bar": bar_line}


def metric_lines(path: Path, form: str, lines: int) -> Path:
    """A log of metric lines alone, in the form of one framework."""
    make = LINES[form]
    with path.open("w") as file:
        for step in range(1, lines + 1):
            file.write(make(step) + "\n")
    return path


def hostile_log(path: Path, size: int) -> Path:
    """Lines made to hurt: no line end for megabytes, digits, brackets and quotes without end, NUL, half of a
    bar."""
    pieces = (
        b"1" * 65_000,
        b"{'a': " * 9000,
        b"[" * 60_000,
        b"loss=" * 12_000,
        b"=1.0," * 12_000,
        b" " * 64_000 + b"loss",
        b"\0" * 60_000,
        b"100%|" + b"#" * 60_000,
        b"Traceback (most recent call last)" * 1500,
        b"step 1 " * 9000,
        b"a." * 30_000 + b"Error",
        b"CUDA out of memory " * 3000,
        b"\x1b[31m" * 12_000,
        b"loss " + b"x" * 3_000_000,
        b"-" * 64_000,
        b"\xff\xfe\xfa" * 20_000,
    )
    with path.open("wb") as file:
        while file.tell() < size:
            for piece in pieces:
                file.write(piece + b"\n")
    return path
