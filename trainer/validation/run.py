"""A validation from beginning to end: counted, checked for repeatability, trained, asked, reported."""

from __future__ import annotations

import json
import math
import platform
import shutil
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import ConfigError, HrmdocError, InputError

from ..rundir.directory import claim
from ..rundir.files import write_atomic
from ..sandbox import self_test
from ..setup.facts import git_commit
from . import report as reports
from .answers import BOTH, Answers
from .budget import Budget
from .compute import fingerprint
from .gpt2 import require_transformers
from .material import Material, prepare, tokenizer_facts
from .request import Request
from .sides import Gpt2Side, HrmSide, Trial

Say = Callable[[str], None]
TRAINING_SHARE = 0.5
"""Of a budget, for the training of both models; the rest is for what they are asked."""
HRM_SHARE = 0.6
"""Of a budget, after which HRM's training is cut short where it takes longer than was measured."""
PACKAGES = ("hrmdoc", "torch", "transformers", "numpy")
PLAN, REPORT, ANSWERS = "plan.json", "report.json", "answers.jsonl"


def validate(request: Request, say: Say) -> dict[str, Any]:
    """Runs, or goes on with, a validation in `request.out`, until it is done or the budget is spent.

    Returns:
        The report, also written to `report.json` there; `complete` says whether all was asked.

    Raises:
        HrmdocError: the request, the data or the weights cannot be used.
    """
    request.check()
    require_transformers()
    budget, out = Budget(request.budget), request.out
    new = not out.exists()
    locks = claim(out, option="--out")
    try:
        if request.fresh:
            _forget(out)
        return _validate(request, budget, say)
    except HrmdocError:
        if new and not (out / PLAN).exists():  # a wrong word leaves no folder behind
            shutil.rmtree(out, ignore_errors=True)
        raise
    finally:
        for lock in locks:
            lock.release()


def _forget(out: Path) -> None:
    """Removes what an earlier call left, and nothing else."""
    for name in (PLAN, REPORT, ANSWERS):
        (out / name).unlink(missing_ok=True)
    for name in ("data", *BOTH):
        shutil.rmtree(out / name, ignore_errors=True)


def _validate(request: Request, budget: Budget, say: Say) -> dict[str, Any]:
    out, keys = request.out, request.keys
    material = prepare(request.data, out / "data", keys.limit, request.expected)
    tokenizer = tokenizer_facts(request.gpt2)
    guards, missing = _sandbox()
    ours = HrmSide(request, material)
    theirs = Gpt2Side(request, material, ours.batch_size)
    say(f"all is kept in {out}")
    plan = _plan(request, material, ours, theirs, say)
    steps = plan["steps"]
    trained = ours.train(steps["hrm"], out / "hrm", budget, HRM_SHARE, say)
    trained = trained and theirs.train(steps["gpt2"], out / "gpt2", budget, say)
    found = _head(request, material, tokenizer, plan) | {"sandbox": {"guards": guards, "missing": missing}}
    if not trained:
        left = "the budget was spent in training"
        return _write(out, {**found, "complete": False, "left": left, "gate": reports.gate({})})
    writers, said = {}, {}
    for name, side in (("hrm", ours), ("gpt2", theirs)):
        writers[name], said[name] = side.finish(out / name)
        flops = plan["flops_per_step"][name]
        known = steps[name] is not None and flops is not None
        said[name]["training"] = {
            "flops": steps[name] * flops if known else None,
            "steps": steps[name],
            "flops_per_step": flops,
        }
    answers = Answers(
        out / ANSWERS,
        {
            "weights": {name: said[name]["weights_sha256"] for name in BOTH},
            "asked": request.identity(),
            "data": material.facts["dataset_sha256"],
        },
    )
    longest = 0.0
    for problem in material.problems[len(answers.rows) :]:
        begun = budget.spent_s
        if budget.over() or begun + longest > budget.seconds:
            break
        answers.add(problem, writers, keys, material.encoding, request.seed)
        longest = max(longest, budget.spent_s - begun)
        say(f"{len(answers.rows)} of {len(material.problems)} problems answered by both")
    return _write(out, _scored(request, material, found, said, answers))


def _scored(
    request: Request, material: Material, found: dict[str, Any], said: dict[str, Any], answers: Answers
) -> dict[str, Any]:
    complete = len(answers.rows) == len(material.problems)
    scores: dict[str, Any] = {}
    if answers.rows:
        scores = reports.scores(answers.counts, request.ks, request.numpy_seed)
    for name in BOTH:
        said[name]["ended"] = answers.ended(name)
    problems = {"scored": len(answers.rows), "asked": len(material.problems), "samples": request.samples}
    intervals = scores.pop("intervals", {})
    head = {key: found.pop(key) for key in ("schema", "commit", "seed")}
    left = {} if complete else {"left": f"the budget was spent after {len(answers.rows)} problems"}
    return {
        **head,
        **scores,
        "gate": reports.gate(scores),
        "complete": complete,
        **left,
        "problems": problems,
        "models": said,
        "intervals": intervals,
        **found,
    }


def _plan(request: Request, material: Material, ours: HrmSide, theirs: Gpt2Side, say: Say) -> dict[str, Any]:
    """How many steps each model gets, and whether a step can be repeated; as it was decided at first, where
    this goes on with an earlier call."""
    file = request.out / PLAN
    asked = {**request.identity(), "data": material.facts["dataset_sha256"]}
    if file.is_file():
        kept = _read(file)
        if kept.get("asked") != json.loads(json.dumps(asked)):
            other = [key for key, value in asked.items() if kept.get("asked", {}).get(key) != value]
            raise ConfigError(
                f"another validation is in this folder: it differs in {', '.join(other) or 'its plan'}",
                file=request.out,
                hint="--out another folder, or --fresh",
            )
        return kept
    say("counting the operations of a step, and trying whether it can be repeated ...")
    costs = {"hrm": ours.cost(), "gpt2": theirs.cost()}
    flops = _compute(request, ours, {name: one.seconds / one.flops for name, one in costs.items()}, say)
    steps: dict[str, int | None] = {
        "hrm": ours.steps_given or max(1, round(flops / costs["hrm"].flops)),
        "gpt2": max(1, round(flops / costs["gpt2"].flops)) if theirs.trained else None,
    }
    if ours.steps_given is not None and theirs.trained:
        steps["gpt2"] = max(1, round(ours.steps_given * costs["hrm"].flops / costs["gpt2"].flops))
    plan = {
        "asked": asked,
        "flops_each": flops if ours.steps_given is None else ours.steps_given * costs["hrm"].flops,
        "flops_per_step": {name: one.flops for name, one in costs.items()},
        "steps": steps,
        "repeatable": {
            name: _repeatable(side.trial, material) for name, side in (("hrm", ours), ("gpt2", theirs))
        },
    }
    write_atomic(file, json.dumps(plan, indent=1) + "\n")
    return plan


def _compute(request: Request, ours: HrmSide, per_flop: Mapping[str, float], say: Say) -> float:
    """Floating-point operations for the training of each model: what is asked for, the size's own, or fewer
    where they would not fit the budget."""
    wanted = request.compute or request.size.flops
    both = sum(per_flop.values())
    if request.budget is not None and request.compute is None and ours.given is None:
        fits = TRAINING_SHARE * request.budget * 60 / both
        wanted = min(wanted, _two_digits(fits))
    if ours.given is None:
        say(f"training: {wanted:.2g} FLOP each, about {wanted * both / 60:,.1f} CPU minutes for both")
        if wanted * both > 3600 and request.budget is None:
            say("--budget MINUTES bounds all of it; --size tiny is a quick try")
    return wanted


def _two_digits(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / unit) * unit


def _repeatable(begin: Callable[[], Trial], material: Material) -> bool:
    """Whether two steps and a few words come out the same, bit for bit, when they are done again."""

    def once() -> tuple[str, list[list[int]]]:
        trial = begin()
        trial.step()
        trial.step()
        prompt = material.encoding.encode(material.problems[0].prompt)
        generator = torch.Generator(trial.writer.device).manual_seed(0)
        return fingerprint(trial.weights()), trial.writer.write(prompt, 2, generator)

    return once() == once()


def _head(
    request: Request, material: Material, tokenizer: Mapping[str, Any], plan: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "schema": reports.SCHEMA,
        "commit": git_commit(),
        "seed": request.seed,
        "compute": {
            "equal": request.gpt2 is None or request.finetune,
            "flops_each": plan["flops_each"],
            "size": request.size.name,
        },
        "data": material.facts,
        "tokenizer": dict(tokenizer),
        "determinism": {
            "seed": request.seed,
            "numpy_seed": request.numpy_seed,
            "torch_deterministic": request.deterministic,
            "cuda_deterministic": request.deterministic,
            "repeatable": plan["repeatable"],
        },
        "environment": _environment(request),
    }


def _environment(request: Request) -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available() and request.device != "cpu"
        else "cpu",
        "threads": request.threads,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _sandbox() -> tuple[list[str], list[str]]:
    try:
        held, missing = self_test()
    except (RuntimeError, OSError) as error:
        raise ConfigError(
            str(error), hint="run it elsewhere; nothing was executed outside the sandbox"
        ) from error
    return list(held), list(missing)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file, hint="--fresh begins anew") from error
    if not isinstance(found, dict):
        raise InputError("is no plan of a validation", file=file, hint="--fresh begins anew")
    return found


def _write(out: Path, report: dict[str, Any]) -> dict[str, Any]:
    try:
        write_atomic(out / REPORT, json.dumps(report, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=out / REPORT) from error
    return report
