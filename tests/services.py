"""Programs of Debian's packages that tests run against: started on a free port, ended with the test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def needed(program: str) -> str:
    """The program's path; the test is left out where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: .ci/services")
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def running(port: int, *words: str | Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server until the block ends; begins once it takes connections."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [str(word) for word in words], stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def redis_server(folder: Path, port: int | None = None) -> Iterator[int]:
    """A Redis that keeps nothing; yields its port."""
    program, port = needed("redis-server"), port or free_port()
    words = (program, "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder)
    with running(port, *words, "--bind", "127.0.0.1", log=folder / "redis.log"):
        yield port


@contextmanager
def alertmanager(folder: Path, receiver: str) -> Iterator[str]:
    """An Alertmanager that tells `receiver`, a web address, at once; yields its own."""
    program, port = needed("prometheus-alertmanager"), free_port()
    config = folder / "alertmanager.yml"
    config.write_text(
        "route: {receiver: hook, group_by: [alertname], group_wait: 0s, group_interval: 1s}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{receiver}', send_resolved: true}}]}}]\n"
    )
    address = f"127.0.0.1:{port}"
    words = (program, f"--config.file={config}", f"--storage.path={folder / 'data'}")
    own = (f"--web.listen-address={address}", "--cluster.listen-address=")
    with running(port, *words, *own, log=folder / "alertmanager.log"):
        yield f"http://{address}"
