"""Programming problems such as MBPP's: what is asked, a solution, and the tests that any solution has to
pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError

FILE = "problems.json"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `prompt` is what the model reads, `code` a solution, `setup` runs between it and the
    tests."""

    task_id: int | str
    prompt: str
    code: str
    setup: str
    tests: tuple[str, ...]


def prompt_of(text: str, tests: Sequence[str]) -> str:
    """What the model reads before it writes code: the task, and the first test, which shows the name to be
    defined."""
    return f'"""{text.strip()}\n{tests[0].strip() if tests else ""}\n"""\n'


def read_problems(file: str | Path) -> list[Problem]:
    """The problems of a file of JSON lines, or of a JSON list.

    The keys are MBPP's: `text` (`prompt` in its sanitized edition), `code`, `test_list`, and where there are
    any `task_id`, `test_setup_code`, `test_imports` (a list). A problem without a task id is named by its
    place, from 1.

    Raises:
        InputError: the file cannot be read, or an entry is no such object; names its line or its place in the
            list.
    """
    try:
        content = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error
    rows = _list(content, file) if content.lstrip().startswith("[") else _parsed_lines(content, file)
    problems = []
    for place, (line, row) in enumerate(rows, 1):
        problem = _problem(row, place)
        if problem is None:
            where = "" if line else f"entry {place} "
            what = (
                f"{where}is no problem: an object with texts `text` (or `prompt`) and `code`, "
                "and a list of texts `test_list`"
            )
            raise InputError(what, file=file, line=line)
        problems.append(problem)
    if not problems:
        raise InputError("holds no problems", file=file)
    return problems


def write_problems(folder: Path, problems: Sequence[Problem]) -> None:
    """Writes the problems of a split's rows, in their order."""
    rows = [asdict(problem) for problem in problems]
    (folder / FILE).write_text(json.dumps(rows, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def load_problems(folder: Path) -> list[Problem]:
    """What `write_problems` wrote.

    Raises:
        InputError: there are none, or they are damaged.
    """
    file = folder / FILE
    if not file.is_file():
        raise InputError(
            "this dataset holds no problems to solve", file=file, hint="build one with `hrmdoc dataset text`"
        )
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        found = [Problem(**{**row, "tests": tuple(row["tests"])}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"is damaged: {error}", file=file, hint="build the dataset again") from error
    texts = [
        text for problem in found for text in (problem.prompt, problem.code, problem.setup, *problem.tests)
    ]
    if not all(isinstance(text, str) for text in texts):
        raise InputError("is damaged: a text is missing", file=file, hint="build the dataset again")
    return found


def _list(content: str, file: str | Path) -> list[tuple[int | None, Any]]:
    try:
        return [(None, row) for row in json.loads(content)]
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", file=file) from error


def _parsed_lines(content: str, file: str | Path) -> list[tuple[int | None, Any]]:
    rows: list[tuple[int | None, Any]] = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise InputError(f"is no JSON: {error}", file=file, line=number) from error
    return rows


def _problem(row: Any, place: int) -> Problem | None:
    if not isinstance(row, dict):
        return None
    text, code, task = row.get("text", row.get("prompt")), row.get("code"), row.get("task_id", place)
    tests, imports, setup = (
        row.get("test_list", []),
        row.get("test_imports", []),
        row.get("test_setup_code") or "",
    )
    lists = isinstance(tests, list) and isinstance(imports, list)
    if not isinstance(text, str) or not isinstance(code, str) or not isinstance(setup, str) or not lists:
        return None
    if not all(isinstance(line, str) for line in (*tests, *imports)) or not isinstance(task, int | str):
        return None
    # The texts of MBPP end their lines with CR LF.
    lines = "\n".join([*imports, *([setup] if setup else [])])
    return Problem(
        task,
        prompt_of(text, tests),
        code.replace("\r\n", "\n"),
        lines.replace("\r\n", "\n"),
        tuple(t.strip() for t in tests),
    )
