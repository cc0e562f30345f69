"""`hrmdoc evaluate`: scores a checkpoint, shows what lies behind the means, and runs generated code where it
is allowed to."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import ConfigError, UsageError, did_you_mean

from ..config import load as configs

if TYPE_CHECKING:
    from ..data import PuzzleData
    from ..data.problems import Problem
    from ..evaluation.codegen import Completion
    from ..evaluation.score import Scored

USAGE = """usage: hrmdoc evaluate CHECKPOINT [--show N] [--draw FILE.svg] [--predictions FILE.npz]
                       [--export FOLDER] [key=value ...]
       hrmdoc evaluate CHECKPOINT --execute-code [--save-completions FILE.jsonl] [evaluate.samples=N]
                       [evaluate.k=1,10] [evaluate.temperature=T] [evaluate.top_p=P]
                       [evaluate.max_tokens=N] [evaluate.limit=N] [key=value ...]
       hrmdoc evaluate [CHECKPOINT] --completions FILE.jsonl --execute-code [data_path=FOLDER]
                       [key=value ...]

CHECKPOINT is a run directory (its best checkpoint is taken, by the evaluations of the run), one of its
checkpoints/step_<N>, or a checkpoint file of the reference HRM or TRM with its all_config.yaml beside.
Metrics go to stdout as JSON. Every puzzle takes arch.halt_max_steps ACT steps.
--show prints N boards, those with mistakes first; --draw makes a picture of them; --predictions saves them
all. Of ARC the augmentations of a task vote on its answer, as HRM's authors score it: pass@2 is ARC's own
measure. --export writes the weights (their average where the run kept one) as the reference saves and loads
them.

Code. A causal model of a text dataset (hrmdoc dataset text) writes evaluate.samples programs for each problem
of the test split. --save-completions saves them. --execute-code (or evaluate.execute_code=true) runs each
with the problem's tests and gives pass@k, the unbiased estimate of Chen et al. 2021, with a 95 % interval;
--completions judges the programs of any other model the same way (`task_id` and `completion` a line); beside
a checkpoint, the difference is shown, and exit status is 1 if the checkpoint's pass@k is lower. The problems'
own solutions are run too: a share below 100 % of them is the harness's fault. data_hash=SHA256 (of run.json)
makes sure that the data are the same.

WITHOUT --execute-code NO GENERATED CODE IS RUN. With it, code runs that nobody has read, in a process of its
own:
  limits   CPU seconds (evaluate.timeout_s), memory (evaluate.memory_mib), no new process or thread, no byte
           into a file, 32 open files; killed by the clock after six times the CPU seconds; nothing it prints
           is kept
  user     root becomes nobody; all capabilities are dropped, but for the right to read a Python that only
           root may read, which `files` then bounds
  network  none: an empty network namespace, and no sockets
  mounts   every file system is read-only (an own mount namespace, Linux 5.12)
  files    reads Python's library and the system's libraries only, writes and lists nothing else (Landlock,
           Linux 5.13)
  calls    the system calls that computing needs and no others: no fork, exec, socket, kill, no opening for
           writing, no chmod, chown, utime, setxattr, rename (seccomp; x86-64 and arm64)
It sees no environment variables and starts in an empty folder. What your kernel or container refuses is named
under "sandbox": "missing" and warned about; on macOS only `limits` is left, without its bound on memory. It
does not protect from a hole in the kernel, nor from a program that cheats its own tests (one that returns an
object equal to everything, or reads the sandbox's own variables and forges its report, passes). For programs
that may be hostile on purpose, use a virtual machine.
"""
FILES = {"--draw": ".svg", "--predictions": ".npz", "--completions": ".jsonl", "--save-completions": ".jsonl"}
WRITTEN = ("--draw", "--predictions", "--save-completions")
SWITCHES = ("--execute-code",)
_NOT_ALLOWED = "--completions runs programs, which has to be allowed"
TICK_S = 5.0  # seconds between two lines of progress


@dataclass(slots=True)
class Request:
    """The words of the command line, sorted."""

    checkpoint: Path | None = None
    show: int = 0
    export: Path | None = None
    execute: bool = False
    files: dict[str, Path] = field(default_factory=dict)
    settings: list[str] = field(default_factory=list)


def command(words: list[str]) -> int:
    """Prints the metrics as JSON to stdout, boards and progress to stderr.

    Returns:
        0, or 1 if another model's completions were given and pass more often; mistakes are raised.
    """
    if any(word in ("-h", "--help") for word in words):
        sys.stdout.write(USAGE)
        return 0
    request = parse(words)
    if request.checkpoint is None:
        found = _foreign(request)
    else:
        if not request.checkpoint.exists():
            hint = "name a run directory or its checkpoint"
            raise ConfigError("there is no such run or checkpoint", file=request.checkpoint, hint=hint)
        from ..evaluation.score import open_checkpoint

        if request.execute:
            request.settings.append("evaluate.execute_code=true")
        found = _scored(open_checkpoint(request.checkpoint, request.settings), request)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return int(any(share["estimate"] < 0 for share in found.get("difference", {}).values()))


def parse(words: list[str]) -> Request:
    """Sorts the words.

    Raises:
        UsageError: an unknown option, a file that cannot be, or not exactly one checkpoint.
    """
    request, waiting = Request(), iter(words)
    places: list[str] = []
    for word in waiting:
        name, equals, text = word.partition("=")
        if word.startswith("-"):
            _option(request, name, text if text or name in SWITCHES else next(waiting, ""))
        elif equals and name != "checkpoint":
            request.settings.append(word)
        else:
            places.append(text if equals else word)
    if len(places) > 1 or (not places and "--completions" not in request.files):
        raise UsageError(
            "evaluate takes one checkpoint", hint="name a run directory or one of its checkpoints/step_<N>"
        )
    request.checkpoint = Path(places[0]) if places else None
    return request


def _option(request: Request, name: str, text: str) -> None:
    """Takes one option and what follows it."""
    if name in SWITCHES and not text:
        request.execute = True
    elif name in FILES:
        request.files[name] = _file(name, text)
    elif name == "--show":
        if not text.isdecimal() or not int(text):
            raise UsageError(f"--show needs a number of boards, not {text!r}")
        request.show = int(text)
    elif name == "--export":
        request.export = Path(text)
        if not request.export.name or request.export.is_file():
            raise UsageError("--export needs a folder")
    else:
        hint = did_you_mean(name, (*FILES, *SWITCHES, "--show", "--export")) or "hrmdoc evaluate --help"
        raise UsageError(f"unknown option {name}", hint=hint)


def _file(name: str, text: str) -> Path:
    place, wanted = Path(text), FILES[name]
    fits = place.absolute().parent.is_dir() and not place.is_dir() if name in WRITTEN else place.is_file()
    if place.suffix != wanted or not fits:
        what = (
            f"{name} needs a {wanted} file in an existing folder"
            if name in WRITTEN
            else f"{name} needs an existing {wanted} file"
        )
        raise UsageError(f"{what}, not {text!r}")
    return place


def _scored(scored: Scored, request: Request) -> dict[str, Any]:
    from ..evaluation.breakdown import board_of, breakdown, picture, show, table
    from ..evaluation.draw import ARC
    from ..evaluation.vote import vote, votes

    keys, board = scored.config.evaluate, board_of(scored.data.info)
    steps = scored.model.arch.halt_max_steps
    sys.stderr.write(f"step {scored.step}{scored.chosen and f': {scored.chosen}'} | ACT steps: {steps}\n")
    if board is None and (request.show or "--draw" in request.files):
        raise UsageError(
            "only boards can be drawn: Sudoku, mazes, ARC",
            hint="--save-completions saves what the model writes",
        )
    with tempfile.TemporaryDirectory() as folder:
        saved = request.files.get("--predictions", Path(folder) / "predictions.npz")
        metrics: dict[str, Any] = dict(
            scored.metrics(saved if board or "--predictions" in request.files else None)
        )
        if board is not None:
            metrics["breakdown"] = breakdown(saved, board)
            sys.stderr.write(table(metrics) + show(saved, board, request.show))
        if board == ARC:
            metrics["vote"] = vote(saved, scored.data.path / "identifiers.json")
            sys.stderr.write(votes(metrics["vote"]))
        if board is not None and "--draw" in request.files:
            request.files["--draw"].write_text(picture(saved, board), encoding="utf-8")
    if request.export is not None:
        from ..evaluation.exchange import export

        sys.stderr.write(f"exported to {export(request.export, scored.model, scored.config, scored.step)}\n")
    if keys.execute_code or {"--completions", "--save-completions"} & set(request.files):
        metrics |= {"step": scored.step, "seed": scored.config.seed, **_code(scored, request)}
    return metrics


def _code(scored: Scored, request: Request) -> dict[str, Any]:
    from ..data.bpe import gpt2
    from ..data.problems import load_problems
    from ..evaluation.codegen import (
        compare,
        complete,
        read_completions,
        report,
        solvable,
        tally,
        write_completions,
    )

    keys, saves, others = (
        scored.config.evaluate,
        request.files.get("--save-completions"),
        request.files.get("--completions"),
    )
    if not scored.model.arch.causal:
        raise ConfigError(
            "this model writes no programs: it is not causal", hint="train on text with arch.causal=true"
        )
    if others and not keys.execute_code:
        raise UsageError(_NOT_ALLOWED, hint="add --execute-code; see --help")
    problems = solvable(load_problems(scored.data.folder), keys.limit)
    theirs = read_completions(others, problems) if others else []
    if others:
        problems = _answered(problems, theirs)
    written = complete(scored.model, problems, keys, gpt2(), scored.config.seed, _ticking())
    if not keys.execute_code:
        found, verdicts = {"code": {"programs": len(written)}}, None
    else:
        code, verdicts = report(problems, written, keys, _ticking())
        found = {"code": code}
        _warn(code)
    if others and verdicts is not None:
        found["other"], judged = report(problems, theirs, keys, _ticking())
        found["difference"] = compare(
            tally(problems, written, verdicts), tally(problems, theirs, judged), keys
        )
    if saves:
        write_completions(saves, written, verdicts)
    return found


def _answered(problems: list[Problem], completions: list[Completion]) -> list[Problem]:
    given = {completion.task_id for completion in completions}
    answered = [problem for problem in problems if problem.task_id in given]
    if len(answered) < len(problems):
        sys.stderr.write(
            f"warning: {len(problems) - len(answered)} of {len(problems)} problems have no completion: "
            "left out\n"
        )
    return answered


def _foreign(request: Request) -> dict[str, Any]:
    """Programs of another model, judged as ours are."""
    from ..data import PuzzleData
    from ..data.locate import check_hash, open_data
    from ..data.problems import load_problems
    from ..evaluation.codegen import read_completions, report, solvable, write_completions

    config = configs.load(
        None, [*request.settings, *(["evaluate.execute_code=true"] if request.execute else [])]
    )
    if not config.evaluate.execute_code:
        raise UsageError(_NOT_ALLOWED, hint="add --execute-code; see --help")
    path = open_data(config.data_path)
    check_hash(config, path)
    data: PuzzleData = PuzzleData(path, "test")
    problems = solvable(load_problems(data.folder), config.evaluate.limit)
    completions = read_completions(request.files["--completions"], problems)
    found, verdicts = report(_answered(problems, completions), completions, config.evaluate, _ticking())
    if "--save-completions" in request.files:
        write_completions(request.files["--save-completions"], completions, verdicts)
    _warn(found)
    return {"code": found}


def _warn(found: dict[str, Any]) -> None:
    if missing := found.get("sandbox", {}).get("missing"):
        sys.stderr.write(
            f"warning: the sandbox ran without its guards {', '.join(missing)}; see hrmdoc evaluate --help\n"
        )
    if bad := found.get("solutions", {}).get("not_passed"):
        sys.stderr.write(
            f"warning: {len(bad)} of the problems' own solutions do not pass; see solutions.not_passed\n"
        )


def _ticking() -> Any:
    """Says lines of progress, at most one every TICK_S seconds."""
    last = time.monotonic()

    def tick(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= TICK_S:
            last = time.monotonic()
            sys.stderr.write(f"{line}\n")

    return tick
