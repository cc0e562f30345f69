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
    assert "no room is left for o.log: what the command writes may be lost" in done.err
    assert "output-lost  the disk of the log is full" in done.err


def test_a_config_that_lies_elsewhere_is_taken_into_account(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.log").write_text("".join(f"step {n} loss {3 * 0.97**n:.4f}\n" for n in range(60)))
    (apart / "far").mkdir()
    (apart / "far" / "config.yaml").write_text("learning_rate: 1.0\noptimizer: adamw\n")
    assert hrmdoc("analyze", "a.log").status == 0
    done = hrmdoc("analyze", "a.log", "--config", "far/config.yaml")
    assert done.status == 1
    assert "hrmdoc apply a.log --config far/config.yaml" in done.out
    assert hrmdoc("analyze", "a.log", "--config", "far/confg.yaml").status == 2


def test_a_watch_takes_a_config_that_lies_elsewhere_into_account_too(hrmdoc: Command, apart: Path) -> None:
    (apart / "a.log").write_text("".join(f"step {n} loss {3 * 0.97**n:.4f}\n" for n in range(60)))
    (apart / "far").mkdir()
    (apart / "far" / "config.yaml").write_text("learning_rate: 1.0\noptimizer: adamw\n")
    words = ("watch", "a.log", "--once", "--no-state", "--measure", "0")
    assert hrmdoc(*words).status == 0
    done = hrmdoc(*words, "--config", "far/config.yaml")
    assert done.status == 1
    assert "opened   lr-extreme" in done.out
    for name, text in (("missing.yaml", None), ("torn.yaml", "a: [1,\n")):
        if text is not None:
            (apart / "far" / name).write_text(text)
        done = hrmdoc(*words, "--config", f"far/{name}")
        assert (done.status, name in done.err) == (2, True), done.err


def test_a_disk_that_fills_up_is_told_while_the_command_still_runs(
    hrmdoc: Command, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, apart, lambda: 0 if (apart / "full").exists() else 1 << 39)
    (apart / "o.log").touch()
    own = apart / "config" / "hrmdoc" / "hrmdoc.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('[alerts]\ncommand = "tee -a told"\n')
    waits = """
import os, time
print("step 1 loss 2.0", flush=True)
open("full", "w").close()
until = time.time() + 60
while time.time() < until and not (os.path.exists("told") and "output-lost" in open("told").read()):
    time.sleep(0.05)
os.remove("full")
time.sleep(1)
print("step 2 loss 1.9", flush=True)
"""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(apart / "config"))
    done = hrmdoc("run", "--log", "o.log", "--", sys.executable, "-c", waits)
    assert done.status == 0
    assert (apart / "told").read_text().count("output-lost") >= 1
    first, again = (
        done.err.index("no room is left for o.log"),
        done.err.index("there is room again for o.log"),
    )
    assert first < done.err.index("opened output-lost") < again


def test_a_symptom_that_is_none_starts_nothing(hrmdoc: Command, apart: Path) -> None:
    words = ["--log", "o.log", "--restart-on", "gpu-util-lo"]
    assert "--restart-on needs --restart" in hrmdoc("run", *words, "--", "true").err
    done = hrmdoc("run", "--restart", "1", *words, "--", "true")
    assert (done.status, "did you mean 'gpu-util-low'?" in done.err) == (2, True)
    assert not (apart / "o.log").exists()
