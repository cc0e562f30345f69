"""Logs that commands are tried on, and the commands themselves: in this process, or in one of their own."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hrmdoc.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command gave back."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own, far from anybody's settings and state; rules stay compiled."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HRMDOC_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.fixture
def hrmdoc(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process."""

    def run(*words: str | Path) -> Outcome:
        capfd.readouterr()
        status = main([str(word) for word in words])
        out, err = capfd.readouterr()
        assert "Traceback (most recent call last)" not in err
        assert "a fault of hrmdoc itself" not in err
        return Outcome(status, out, err)

    return run


@pytest.fixture
def spawn() -> Command:
    """Runs a command in a process of its own."""

    def run(*words: str | Path, stdin: bytes = b"", **more: str) -> Outcome:
        environment = {**os.environ, **more}
        command = [sys.executable, "-m", "hrmdoc", *map(str, words)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, timeout=120, check=False
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def healthy_lines() -> list[str]:
    """A loss that falls and flattens, with a little noise, as Hugging Face prints it."""
    return [
        f"{{'loss': {0.5 + 2 * math.exp(-i / 40) + 0.01 * math.sin(i * 7.3):.4f}, "
        f"'grad_norm': {1 + 0.1 * math.sin(i * 3.1):.3f}, "
        f"'learning_rate': 5e-05, 'epoch': {i / 100:.2f}}}"
        for i in range(120)
    ]


@pytest.fixture
def healthy(apart: Path, healthy_lines: list[str]) -> Path:
    path = apart / "healthy.log"
    path.write_text("\n".join(healthy_lines) + "\n")
    return path


@pytest.fixture
def sick(apart: Path, healthy_lines: list[str]) -> Path:
    """A loss that is NaN from the hundredth point on."""
    path = apart / "sick.log"
    broken = ["{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 1.0}"] * 20
    path.write_text("\n".join([*healthy_lines[:100], *broken]) + "\n")
    return path
