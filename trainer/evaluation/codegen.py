"""Programs that a causal HRM writes for the problems of a dataset, run in the sandbox, and how many of them
pass."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import ConfigError, InputError

from ..config.schema import EvaluateKeys
from ..data.bpe import END, Encoding
from ..data.problems import Problem
from ..model.hrm import HRM
from ..sandbox import Limits, Verdict, self_test
from .generate import Sampling, generate_many
from .judging import judged
from .passk import difference, mean_pass_at_k, wilson

USUAL_K = (1, 10, 100)  # of the HumanEval and MBPP literature
HEAT = 0.8  # the temperature for many samples, as Chen et al. 2021 use for pass@100
BATCH = 32  # samples generated at a time

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Completion:
    """One program for a problem."""

    task_id: int | str
    code: str


def complete(
    model: HRM, problems: Sequence[Problem], keys: EvaluateKeys, encoding: Encoding, seed: int, tick: Say
) -> list[Completion]:
    """`keys.samples` programs for each problem. Every problem draws from a generator of its own, made of
    `seed` and its place.

    Raises:
        ConfigError: many samples are asked for that would all be the same.
    """
    sampling, found = sampling_of(keys), list[Completion]()
    for place, problem in enumerate(problems):
        generator = generator_of(seed, place, model.H_init.device)
        prompt = encoding.encode(problem.prompt)
        for start in range(0, keys.samples, BATCH):
            rows = min(BATCH, keys.samples - start)
            drawn = generate_many(
                model, prompt, keys.max_tokens, END, rows, sampling=sampling, generator=generator
            )
            found += [Completion(problem.task_id, encoding.decode(tokens)) for tokens in drawn]
        tick(f"{place + 1} of {len(problems)} problems written")
    return found


def generator_of(seed: int, place: int, device: torch.device) -> torch.Generator:
    """What draws the programs of the problem at `place`."""
    return torch.Generator(device).manual_seed(seed * 1_000_003 + place)


def sampling_of(keys: EvaluateKeys) -> Sampling:
    """How tokens are chosen.

    Raises:
        ConfigError: many samples are asked for that would all be the same.
    """
    heat = keys.temperature if keys.temperature is not None else (HEAT if keys.samples > 1 else 0.0)
    if heat == 0 and keys.samples > 1:
        raise ConfigError(
            f"evaluate.samples={keys.samples} at evaluate.temperature=0 gives the same program "
            f"{keys.samples} times",
            hint="evaluate.temperature=0.8, or evaluate.samples=1",
        )
    return Sampling(heat, keys.top_p)


def judge(
    problems: Sequence[Problem], completions: Sequence[Completion], keys: EvaluateKeys, tick: Say
) -> list[Verdict]:
    """Runs each completion with the tests of its problem, in the sandbox, several at a time; in their
    order."""
    limits = Limits(keys.timeout_s, keys.memory_mib)
    answers: dict[int | str, list[str]] = {problem.task_id: [] for problem in problems}
    for completion in completions:
        answers[completion.task_id].append(completion.code)
    verdicts: dict[int | str, Iterator[Verdict]] = {}
    run = 0
    for problem, found in zip(problems, judged(problems, list(answers.values()), limits), strict=True):
        verdicts[problem.task_id] = iter(found)
        run += len(found)
        tick(f"{run} of {len(completions)} programs run")
    return [next(verdicts[completion.task_id]) for completion in completions]


def report(
    problems: Sequence[Problem], completions: Sequence[Completion], keys: EvaluateKeys, tick: Say
) -> tuple[dict[str, Any], list[Verdict]]:
    """pass@k with intervals, how the programs ended, and what the harness makes of the problems' own
    solutions.

    Raises:
        ConfigError: a k is asked for that is more than a problem's samples, or the sandbox does not work
            here.
    """
    counts = Counter(completion.task_id for completion in completions)
    ks = _ks(keys, min(counts[problem.task_id] for problem in problems))
    try:
        held, missing = self_test()
    except (RuntimeError, OSError) as error:
        raise ConfigError(
            str(error), hint="run it elsewhere; nothing was executed outside the sandbox"
        ) from error
    solutions = judge(
        problems, [Completion(problem.task_id, problem.code) for problem in problems], keys, tick
    )
    verdicts = judge(problems, completions, keys, tick)
    pairs = tally(problems, completions, verdicts)
    bad = {
        problem.task_id: verdict
        for problem, verdict in zip(problems, solutions, strict=True)
        if verdict.status != "passed"
    }
    found = {
        "problems": len(problems),
        "programs": len(completions),
        **{f"pass@{k}": asdict(mean_pass_at_k(pairs, k)) for k in ks},
        "ended": dict(Counter(verdict.status for verdict in verdicts).most_common()),
        "errors": dict(
            Counter(_kind(verdict) for verdict in verdicts if verdict.status == "error").most_common(5)
        ),
        "solutions": {
            **asdict(wilson(len(problems) - len(bad), len(problems))),
            "not_passed": {str(task): f"{verdict.status}: {verdict.detail}" for task, verdict in bad.items()},
        },
        "sandbox": {"guards": list(held), "missing": list(missing)},
    }
    return found, verdicts


def tally(
    problems: Sequence[Problem], completions: Sequence[Completion], verdicts: Sequence[Verdict]
) -> list[tuple[int, int]]:
    """For each problem its programs, and how many of them passed."""
    counts = Counter(completion.task_id for completion in completions)
    passed = Counter(
        c.task_id for c, verdict in zip(completions, verdicts, strict=True) if verdict.status == "passed"
    )
    return [(counts[problem.task_id], passed[problem.task_id]) for problem in problems]


def compare(ours: list[tuple[int, int]], theirs: list[tuple[int, int]], keys: EvaluateKeys) -> dict[str, Any]:
    """pass@k of one model less that of another, for tallies of the same problems."""
    ks = _ks(keys, min(programs for programs, _ in (*ours, *theirs)))
    return {f"pass@{k}": asdict(difference(ours, theirs, k)) for k in ks}


def _ks(keys: EvaluateKeys, fewest: int) -> list[int]:
    ks = [int(k) for k in keys.k.split(",")] if keys.k else [k for k in USUAL_K if k <= fewest]
    if not ks or max(ks) > fewest:
        what = f"pass@{max(ks)} needs that many programs" if ks else "every problem needs a program"
        raise ConfigError(f"{what}; the fewest of a problem are {fewest}", hint="raise evaluate.samples")
    return ks


def _kind(verdict: Verdict) -> str:
    return verdict.detail.partition(":")[0]


def solvable(problems: Iterable[Problem], limit: int | None) -> list[Problem]:
    """The first `limit` problems that have tests.

    Raises:
        InputError: none has.
    """
    found = [problem for problem in problems if problem.tests]
    if not found:
        raise InputError(
            "no problem of the test split has tests", hint="test_list is missing in the source of the dataset"
        )
    return found[:limit]


def read_completions(file: Path, problems: Sequence[Problem]) -> list[Completion]:
    """Programs of any model, a JSON object a line with `task_id` and `completion`, for some of `problems`.

    Raises:
        InputError: a line is no such object, or names no problem of the test split.
    """
    known, found = {str(problem.task_id): problem.task_id for problem in problems}, list[Completion]()
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is no JSON: {error}", file=file, line=number) from error
        if not isinstance(row, dict) or "task_id" not in row or not isinstance(row.get("completion"), str):
            raise InputError("is no object with `task_id` and a text `completion`", file=file, line=number)
        if str(row["task_id"]) not in known:
            raise InputError(
                f"task_id {row['task_id']!r} is no problem of the test split", file=file, line=number
            )
        found.append(Completion(known[str(row["task_id"])], row["completion"]))
    if not found:
        raise InputError("holds no completions", file=file)
    return found


def write_completions(
    file: Path, completions: Sequence[Completion], verdicts: Sequence[Verdict] | None
) -> None:
    """A JSON object a line, as `read_completions` takes it; with how the program ended if it was run."""
    rows = []
    for place, completion in enumerate(completions):
        row: dict[str, Any] = {"task_id": completion.task_id, "completion": completion.code}
        if verdicts is not None:
            row |= {"status": verdicts[place].status, "detail": verdicts[place].detail}
        rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    file.write_text("".join(rows), encoding="utf-8")
