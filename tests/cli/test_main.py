"""The command itself: help, loading, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.cli.shared.commands import COMMANDS

Command = Callable[..., Any]
TRAINERS = {"train", "evaluate", "dataset", "validate"}
"""Commands that hand their words, `--help` too, to the trainer."""
HEAVY = ("numpy", "pandas", "tensorboard", "torch")
NOT_FOR_A_HEALTHY_LOG = (
    *(
        "bz2",
        "difflib",
        "hashlib",
        "hyperscan",
        "jinja2",
        "lzma",
        "psutil",
        "numpy.ma",
        "ruamel.yaml",
        "sqlite3",
        "zoneinfo",
    ),
    *(
        "hrmdoc.reports.compare",
        "hrmdoc.preflight",
        "hrmdoc.remedies.prescribe",
        "hrmdoc.remedies",
        "hrmdoc.live",
        "hrmdoc.alerts",
        "hrmdoc.fleet",
        "hrmdoc.metrics",
        "hrmdoc.supervision",
        "hrmdoc.web",
    ),
)


def loaded_by(code: str, names: Sequence[str] = HEAVY) -> set[str]:
    """Which of some modules a piece of Python loads."""
    told = f"import sys\n{code}\nprint('\\nLOADED', *[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_help_loads_nothing_heavy() -> None:
    assert loaded_by("from hrmdoc.cli.main import main; main(['--help'])") == set()


def test_analyzing_a_text_log_loads_no_heavy_package_but_numpy(sick: Path) -> None:
    assert loaded_by(f"from hrmdoc.cli.main import main; main(['analyze', {str(sick)!r}])") == {"numpy"}


def test_a_short_healthy_log_loads_nothing_that_only_other_runs_need(healthy: Path) -> None:
    told = loaded_by(
        f"from hrmdoc.cli.main import main; main(['analyze', {str(healthy)!r}])",
        ("numpy", *NOT_FOR_A_HEALTHY_LOG),
    )
    assert told == {"numpy"}


def test_noise_loads_no_masked_arrays(apart: Path) -> None:
    rows = (f"{{'loss': {2.5 - i / 200 + 0.05 * (i * 7919 % 101) / 101:.4f}}}\n" for i in range(200))
    (apart / "noisy.log").write_text("".join(rows))
    code = "from hrmdoc.cli.main import main; main(['analyze', 'noisy.log'])"
    assert loaded_by(code, ("numpy", "numpy.ma")) == {"numpy"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - TRAINERS))
def test_every_command_has_help(hrmdoc: Command, name: str) -> None:
    done = hrmdoc(name, "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: hrmdoc {name}")


def test_a_misspelt_command_gets_a_suggestion(hrmdoc: Command) -> None:
    done = hrmdoc("analyse", "x")
    assert done.status == 2
    assert "did you mean 'analyze'?" in done.err


def test_no_argument_is_a_matter_of_usage(hrmdoc: Command) -> None:
    assert hrmdoc("analyze").status == 2


@pytest.mark.parametrize("name", ["formats", "rules"])
def test_lists_go_to_stdout(hrmdoc: Command, name: str) -> None:
    done = hrmdoc(name, *(["list"] if name == "rules" else []))
    assert done.status == 0
    assert len(done.out.splitlines()) > 5
    assert done.err == ""


@pytest.mark.parametrize("name", ["loss-spike", "learning-rate-too-high", "reduce-learning-rate", "oom-cuda"])
def test_every_kind_of_rule_is_explained(hrmdoc: Command, name: str) -> None:
    done = hrmdoc("explain", name)
    assert done.status == 0
    assert done.out.startswith("# ")


def test_a_misspelt_id_gets_a_suggestion(hrmdoc: Command) -> None:
    done = hrmdoc("explain", "loss-spik")
    assert done.status == 2
    assert "did you mean 'loss-spike'?" in done.err


def test_a_terminal_code_in_the_name_of_a_file_is_not_echoed(hrmdoc: Command) -> None:
    assert "\x1b" not in hrmdoc("analyze", "\x1b[31mred").err


def test_broken_settings_are_told_with_their_file(hrmdoc: Command, sick: Path, apart: Path) -> None:
    (apart / "hrmdoc.toml").write_text("fail-on = 'never'\n")
    done = hrmdoc("analyze", sick)
    assert done.status == 2
    assert "hrmdoc.toml" in done.err
    assert "did you mean 'fail_on'?" in done.err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted where /proc lists them")
def test_an_examination_starts_no_threads_of_linear_algebra_and_hands_on_the_environment(apart: Path) -> None:
    (apart / "train.log").write_text("".join(f"step {i} loss {2 - i / 100}\n" for i in range(60)))
    said = (
        "import os, threading, hrmdoc.cli.main as main; from click.testing import CliRunner;"
        "CliRunner().invoke(main.cli, ['analyze', 'train.log']);"
        "print(len(os.listdir('/proc/self/task')), 'OPENBLAS_NUM_THREADS' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", said], cwd=apart, env=environment, capture_output=True, text=True, check=True
    )
    threads, handed_on = done.stdout.split()
    assert (int(threads), handed_on) == (1, "False"), done.stdout


ENDING = """
import atexit, sys, threading, time, hrmdoc.cli.main as entry
class Late:
    def __del__(self): print("taken apart")
kept = Late()
def answer():
    atexit.register(print, "libraries told")
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread done"))).start()
    print("answered", end=" ")
    {end}
entry.main = answer
entry.run()
"""


def ending(end: str) -> tuple[int, str]:
    """Exit status and output of a process whose command ends like that."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING.replace("{end}", end)], capture_output=True, text=True
    )
    return done.returncode, done.stdout


def test_a_command_that_has_ended_leaves_without_taking_all_apart() -> None:
    assert ending("return 1") == (1, "answered thread done\nlibraries told\n")


@pytest.mark.parametrize("end", ["raise RuntimeError", "sys.modules['torch'] = sys; return 1"])
def test_a_fault_and_what_trained_end_as_python_does(end: str) -> None:
    assert ending(end) == (1, "answered thread done\nlibraries told\ntaken apart\n")


def test_too_little_memory_is_said_with_the_way_out(
    hrmdoc: Command, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    (apart / "train.log").write_text("step 1 loss 2.0\n")
    monkeypatch.setattr("hrmdoc.analysis.AnalysisSession.diagnose", exhausted)
    done = hrmdoc("analyze", apart / "train.log")
    assert done.status == 2
    said = done.err
    assert "there is not enough memory for this" in said
    assert "tail -c" in said
    assert "fault of hrmdoc" not in said
