"""Starting one run: a fork for the lab's own programs, since loading torch takes longer than they do; a
process for the rest."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.lab.spec import HRM_PROGRAMS, HRM_SETTINGS, LIBRARIES, Spec, script_of

LAB_PYTHON = "HRMDOC_LAB_PYTHON"
"""Names the interpreter of another environment that holds the optional libraries."""


def command_of(spec: Spec) -> list[str] | None:
    """The command line of a run that is a process of its own, None for those that are forked."""
    if spec.program in HRM_PROGRAMS:
        return _hrm(spec)
    if spec.program in LIBRARIES and LAB_PYTHON in os.environ:
        return [os.environ[LAB_PYTHON], str(script_of(spec.program)), json.dumps(spec.as_json())]
    if spec.program == "process":
        return [sys.executable, str(script_of(spec.program)), json.dumps(spec.as_json())]
    return None


def missing_library(program: str) -> str:
    """The library that a program needs and that is not installed; "" when nothing is missing."""
    library = LIBRARIES.get(program, "torch").partition(".")[0]
    if program in LIBRARIES and LAB_PYTHON in os.environ:
        asked = [
            os.environ[LAB_PYTHON],
            "-c",
            f"import importlib.util, sys; sys.exit(not importlib.util.find_spec({library!r}))",
        ]
        return "" if subprocess.run(asked, check=False).returncode == 0 else library
    return "" if importlib.util.find_spec(library) else library


def _hrm(spec: Spec) -> list[str]:
    words = {word.partition("=")[0]: word for word in HRM_SETTINGS[spec.program]}
    given = {key: f"{key}={value}" for key, value in spec.settings.items() if key != "limit_s"}
    words |= given | {
        "seed": f"seed={spec.seed}",
        "threads": "threads=1",
        "device": "device=cpu",
        "run_dir": "run_dir=run",
    }
    if spec.fault and not spec.fault.startswith("settings-"):
        strength = "" if spec.strength is None else f":{spec.strength:g}"
        onset = "" if spec.onset is None else f"@{spec.onset}"
        words["fault"] = f"fault={spec.fault}{strength}{onset}"
    return [sys.executable, "-m", "hrmdoc.trainer", *words.values()]


def start_process(command: Sequence[str], folder: Path) -> int:
    """Starts a shell that runs `command` in `folder`, as a user does: what the shell says of its end is in
    the log as well."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    # The trailing command keeps bash from replacing itself, so that it reports a killed child.
    script = f"{shlex.join(command)}; status=$?; exit $status"
    return _start(folder, lambda: os.execvpe("bash", ["bash", "-c", script], environment))


def start_forked(spec: Spec, folder: Path) -> int:
    """Forks and runs the program's script in `folder` with its output in `train.log`."""
    return _start(folder, lambda: _run_script(script_of(spec.program), spec))


def _start(folder: Path, work: Callable[[], int]) -> int:
    """A child in a session of its own, which whoever started it reaps: `subprocess` would reap ended children
    by itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open("train.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
        status = work()
    finally:
        os._exit(status)


def _run_script(script: Path, spec: Spec) -> int:
    """Runs the script as `python script.py` would: the same output, the same traceback, the same exit
    status."""
    sys.argv = [str(script), json.dumps(spec.as_json())]
    sys.path.insert(0, str(script.parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # noqa: BLE001  # as the interpreter does: print it and end
        sys.stdout.flush()
        traceback.print_exception(type(error), error, _own_frames(error.__traceback__, script.parent))
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _own_frames(trace: TracebackType | None, home: Path) -> TracebackType | None:
    """The traceback from the program's first frame on, as if the interpreter itself had started it."""
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).parent != home:
        trace = trace.tb_next
    return trace
