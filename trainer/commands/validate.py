"""`hrmdoc validate`: HRM against GPT-2 on programming problems, with a gate."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import msgspec
from msgspec import Meta

from hrmdoc.errors import ConfigError, InputError, UsageError, did_you_mean

from ..config.overrides import read_yaml
from ..validation.request import Request
from ..validation.sizes import SIZES

TICK_S = 5.0  # seconds between two lines of progress
_Count, _Number = Annotated[int, Meta(ge=1)], Annotated[float, Meta(gt=0)]
KEYS: dict[str, Any] = {
    **dict.fromkeys(("data", "gpt2", "hrm", "out", "hash"), str),
    **dict.fromkeys(("samples", "limit", "max_tokens", "timeout", "threads"), _Count),
    **dict.fromkeys(("seed", "numpy_seed"), Annotated[int, Meta(ge=0)]),
    **dict.fromkeys(("finetune", "fresh", "torch_deterministic", "cuda_deterministic"), bool),
    **dict.fromkeys(("compute", "budget"), _Number),
    "size": Annotated[str, Meta(pattern=f"^({'|'.join(SIZES)})$")],
    "device": Literal["auto", "cpu", "cuda", "mps"],
    "temperature": Annotated[float, Meta(ge=0)],
    "top_p": Annotated[float, Meta(gt=0, le=1)],
    "k": int | str,
}
"""The options that a file may state, and what they may be."""
COUNT = click.IntRange(min=1)
FOLDER = click.Path(path_type=Path)


@click.command("validate", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("data", required=False)
@click.option("--size", type=click.Choice(list(SIZES)), help="Of both models [default: full]: 27M and 117M.")
@click.option("--gpt2", type=FOLDER, metavar="DIR", help="GPT-2's weights, as save_pretrained writes them.")
@click.option("--finetune", is_flag=True, default=None, help="Train those weights on the problems, too.")
@click.option("--hrm", type=FOLDER, metavar="RUN", help="A trained causal HRM instead of one trained here.")
@click.option("--samples", type=COUNT, help="Programs written for each problem [default: 100].")
@click.option("-k", "--k", metavar="1,10,100", help="The k of pass@k [default: 1,10,100 as samples go].")
@click.option("--limit", type=COUNT, help="Problems of the test split [default: the size's].")
@click.option("--max-tokens", type=COUNT, help="Of a program.")
@click.option("--temperature", type=click.FloatRange(min=0), help="[default: 0.8]")
@click.option("--top-p", type=click.FloatRange(min=0, min_open=True, max=1), help="[default: 0.95]")
@click.option(
    "--timeout", "timeout_s", type=COUNT, metavar="S", help="CPU seconds of a program [default: 5]."
)
@click.option("--seed", type=click.IntRange(min=0), help="[default: 42]")
@click.option("--compute", type=float, metavar="FLOP", help="For the training of each [default: the size's].")
@click.option(
    "--budget", type=float, metavar="MINUTES", help="CPU minutes of this call, after which it ends."
)
@click.option("--out", type=FOLDER, metavar="DIR", help="Where all is kept [default: runs/validate-...].")
@click.option("--fresh", is_flag=True, default=None, help="Begin anew in that folder instead of going on.")
@click.option("--hash", "expected", metavar="SUM|FILE", help="What md5 or sha256 the data must have.")
@click.option(
    "--config", type=FOLDER, metavar="YAML", help="These options, and those of determinism, as keys."
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), help="[default: auto]")
@click.option("--threads", type=COUNT, help="Of the CPU [default: 1].")
@click.option(
    "--benchmark",
    type=FOLDER,
    multiple=True,
    metavar="CHECKPOINT",
    help="Score this on DATA instead; repeatable.",
)
@click.option("--gate", is_flag=True, help="Exit with 1 where HRM's pass@1 is lower than GPT-2's.")
def options(**given: Any) -> int:
    """Validate HRM against GPT-2 on the programming problems of DATA: the same tokens, problems, sampling and
    compute for both, pass@1, 10 and 100 with intervals, and the JSON report of the validation on stdout.

    DATA is MBPP's mbpp.jsonl (its authors' split is used), its sanitized edition, any file with their keys, a
    folder of `hrmdoc dataset text`, or builtin:problems, which shows that all works and nothing else. With
    --gate it may also be a report.json written before: then only the gate is asked.

    GPT-2 is trained from scratch with as many floating-point operations as HRM, unless --gpt2 gives weights.
    The same command goes on where the last call ended (--out), and gives the same bytes when it is repeated
    on one CPU: a --budget decides by measuring how much compute fits, so repeat with the --compute that the
    report names. What both models write is run in the sandbox of `hrmdoc evaluate` (see its --help).

    --benchmark scores checkpoints, ours or the reference's, on Sudoku, mazes or ARC in HRM's layout (`hrmdoc
    dataset`; DATA may be left out: each then has its own), and gives a table of what was reached on how much
    compute. Puzzles come in random order (--seed), up to --limit groups or until the --budget is spent.

    \b
    Examples:
      hrmdoc validate builtin:problems --size tiny
      hrmdoc validate mbpp.jsonl --size small --budget 60
      hrmdoc validate mbpp.jsonl --gpt2 gpt2/ --hrm runs/text --gate
      hrmdoc validate --gate report.json
      hrmdoc validate data/sudoku-extreme-1k --benchmark checkpoints/step_26040 --limit 500

    Exit status: 0 done, 1 the gate failed or was not reached, 2 wrong usage or input.
    """
    gate = bool(given.pop("gate"))
    stated = {key: value for key, value in given.items() if value is not None and key != "config"}
    if given["config"] is not None:
        stated = _of_file(given["config"]) | stated
    checkpoints = stated.pop("benchmark")
    if checkpoints:
        return _benchmark(checkpoints, stated, gate=gate)
    if "data" not in stated:
        hint = "hrmdoc validate builtin:problems --size tiny, or give MBPP's mbpp.jsonl"
        raise UsageError("which problems?", hint=hint)
    earlier = _report(stated["data"]) if gate else None
    if earlier is not None:
        return _ask_gate(earlier, stated["data"])
    return _validate(_request(stated), gate=gate)


def command(words: list[str]) -> int:
    """Reads the options and runs the validation; the exit status.

    Raises:
        UsageError: an option is wrong.
    """
    try:
        status: int = options.main(words, prog_name="hrmdoc validate", standalone_mode=False)
    except click.UsageError as error:
        what = error.format_message().rstrip(".")
        raise UsageError(f"{what[:1].lower()}{what[1:]}", hint="hrmdoc validate --help") from error
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.Abort as end:
        raise KeyboardInterrupt from end
    return status or 0


def _request(stated: dict[str, Any]) -> Request:
    size = SIZES[stated.get("size", "full")]
    values = {**stated, "size": size, "data": str(stated["data"])}
    values.setdefault("numpy_seed", values.get("seed", 42))
    if isinstance(values.get("k"), str | int):
        values["k"] = _ks(str(values["k"]))
    for name in ("budget", "compute"):
        if values.get(name) is not None and not 0 < values[name] < float("inf"):
            raise UsageError(f"--{name} must be a number above 0, not {values[name]}")
    out = values.pop("out", None)
    request = Request(**values, out=out or Path())
    return request if out else replace(request, out=_place(request))


def _place(request: Request) -> Path:
    """A folder of its own for each validation that is asked for, the same one for the same."""
    asked = json.dumps({**request.identity(), "data": str(Path(request.data).absolute())}, sort_keys=True)
    return Path("runs") / f"validate-{request.size.name}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def _ks(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise UsageError(f"--k {text!r} is no list of whole numbers such as 1,10,100")
    return tuple(sorted({int(part) for part in parts}))


def _of_file(file: Path) -> dict[str, Any]:
    """The options of a YAML file. `cuda_deterministic` is what `torch_deterministic` is: one switch decides
    both.

    Raises:
        ConfigError: it cannot be read, or holds what is no option.
    """
    found: dict[str, Any] = {}
    for key, setting in read_yaml(file).items():
        name = key.replace("-", "_")
        if name not in KEYS:
            hint = did_you_mean(name, KEYS)
            raise ConfigError(f"there is no option {key!r}", file=file, line=setting.line, hint=hint)
        try:
            found[name] = msgspec.convert(setting.value, KEYS[name])
        except msgspec.ValidationError as error:
            what = f"{key} is {setting.value!r}: {str(error).replace('`', '')}"
            raise ConfigError(what, file=file, line=setting.line) from error
    switches = {found.pop(name) for name in ("torch_deterministic", "cuda_deterministic") if name in found}
    if len(switches) > 1:
        raise ConfigError(
            "torch_deterministic and cuda_deterministic differ", file=file, hint="set both alike"
        )
    if switches:
        found["deterministic"] = switches.pop()
    return {
        {"hash": "expected", "timeout": "timeout_s"}.get(name, name): value for name, value in found.items()
    } | {name: Path(found[name]) for name in ("gpt2", "hrm", "out") if name in found}


def _benchmark(checkpoints: tuple[Path, ...], stated: dict[str, Any], *, gate: bool) -> int:
    """Scores checkpoints on boards."""
    takes = {"data", "limit", "seed", "budget", "device", "threads"}
    if gate or stated.keys() - takes:
        other = "--gate" if gate else f"--{min(stated.keys() - takes).replace('_', '-')}"
        raise UsageError(f"--benchmark does not go with {other}", hint="it scores what is trained already")
    if stated.get("budget") is not None and not 0 < stated["budget"] < float("inf"):
        raise UsageError(f"--budget must be a number above 0, not {stated['budget']}")
    from ..validation.benchmark import Task, benchmark, table

    words = tuple(f"{name}={stated[name]}" for name in ("device", "threads") if name in stated)
    task = Task(stated.get("data"), stated.get("limit"), stated.get("seed", 42), stated.get("budget"), words)
    found = benchmark(checkpoints, task, _ticking())
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    sys.stderr.write("\n" + table(found))
    return 0


def _report(data: str) -> Any:
    """The report that DATA is, None where it is none."""
    file = Path(data)
    if file.suffix != ".json" or not file.is_file():
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error
    return found if isinstance(found, dict) else None


def _ask_gate(report: Any, file: str) -> int:
    from ..validation.report import check

    found = check(report, file)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return int(not found["passed"])


def _validate(request: Request, *, gate: bool) -> int:
    from ..validation.report import table
    from ..validation.run import validate

    report = validate(request, _ticking())
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    if "models" in report and "hrm_pass@1" in report:
        sys.stderr.write("\n" + table(report))
    if missing := report["sandbox"]["missing"]:
        sys.stderr.write(f"warning: the sandbox ran without its guards {', '.join(missing)}\n")
    if bad := [name for name, same in report["determinism"]["repeatable"].items() if not same]:
        sys.stderr.write(f"warning: {', '.join(bad)}: two steps did not come out the same when repeated\n")
    if request.samples < 100:
        sys.stderr.write(f"note: {request.samples} programs a problem give no pass@100\n")
    if not report["complete"]:
        sys.stderr.write(f"{report['left']}: the same command goes on from there\n")
    sys.stderr.write(f"gate {'passed' if report['gate']['passed'] else 'failed'}: {report['gate']['why']}\n")
    return int(gate and not report["gate"]["passed"])


def _ticking() -> Callable[[str], None]:
    """Says lines of progress, at most one every TICK_S seconds, and those that end with three dots or tell of
    the training at once."""
    last = 0.0

    def say(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= TICK_S or not line.startswith(("step ", *"0123456789")):
            last = now
            sys.stderr.write(line.rstrip() + "\n")
            sys.stderr.flush()

    return say
