"""Where `run` keeps the output of a command: never through a link, and never where there is no room."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

Command = Callable[..., Any]
PRINTS = "for i in range(30): print(f'step {i} loss {2 - i / 20:.3f}', flush=True)"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def room(monkeypatch: pytest.MonkeyPatch, full: Path, free: Callable[[], int]) -> None:
    """The disk of `full` has so many bytes free; all others have room."""

    def usage(folder: str | Path) -> Usage:
        return Usage(1 << 40, 0, free() if Path(folder).resolve() == full.resolve() else 1 << 39)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_a_link_in_the_place_of_the_log_is_not_followed(hrmdoc: Command, apart: Path) -> None:
    (apart / "victim").write_text("mine\n")
    (apart / "o.log").symlink_to("victim")
    done = hrmdoc("run", "--log", "o.log", "--", sys.executable, "-c", PRINTS)
    assert done.status == 2
    assert "o.log: the log is a link, which is not followed on writing" in done.err
    assert (apart / "victim").read_text() == "mine\n"


def test_where_the_disk_of_the_log_is_full_the_output_is_kept_elsewhere_and_shown(
    hrmdoc: Command, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, apart, lambda: 0)
    done = hrmdoc("run", "--log", "o.log", "--", sys.executable, "-c", PRINTS)
    assert done.status == 0
    assert "step 29 loss 0.550" in done.out
    assert "is full: the output is kept in " in done.err
    assert not (apart / "o.log").exists()


def test_a_disk_that_fills_up_is_named_as_what_may_have_ended_the_command(
    hrmdoc: Command, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, apart, lambda: 0 if "step 29" in (apart / "o.log").read_text() else 1 << 39)
    (apart / "o.log").touch()
    done = hrmdoc("run", "--log", "o.log", "--", sys.executable, "-c", PRINTS + "\nraise SystemExit(1)")
    assert done.status == 1
    assert "no room is left for o.log: what the command wrote last is lost" in done.err
    assert "disk-space-low  0 GiB are free" in done.err


def test_a_config_that_lies_elsewhere_is_taken_into_account(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.log").write_text("".join(f"step {n} loss {3 * 0.97**n:.4f}\n" for n in range(60)))
    (apart / "far").mkdir()
    (apart / "far" / "config.yaml").write_text("learning_rate: 1.0\noptimizer: adamw\n")
    assert hrmdoc("analyze", "a.log").status == 0
    done = hrmdoc("analyze", "a.log", "--config", "far/config.yaml")
    assert done.status == 1
    assert "hrmdoc apply a.log --config far/config.yaml" in done.out
    assert hrmdoc("analyze", "a.log", "--config", "far/confg.yaml").status == 2
