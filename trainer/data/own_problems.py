"""Programming problems of our own, in MBPP's keys: to see that a validation works, where MBPP is not at hand.

They say nothing of a model's ability: each is one of a few sentences with a number in it, and what is to be
learned is to repeat the number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

NAME = "builtin:problems"
NUMBERS = range(2, 12)
_KINDS: tuple[tuple[str, str, str, Callable[[int, int], object]], ...] = (
    ("add", "adds {n} to a number", "x + {n}", lambda x, n: x + n),
    ("subtract", "subtracts {n} from a number", "x - {n}", lambda x, n: x - n),
    ("times", "multiplies a number by {n}", "x * {n}", lambda x, n: x * n),
    ("above", "says whether a number is greater than {n}", "x > {n}", lambda x, n: x > n),
    ("repeat", "repeats a number in a list {n} times", "[x] * {n}", lambda x, n: [x] * n),
    ("rest", "gives what is left when a number is divided by {n}", "x % {n}", lambda x, n: x % n),
)
_TRIED = (1, 7, 20)


def own_problems() -> str:
    """The problems, a JSON object a line."""
    rows = [
        _problem(task, *one) for task, one in enumerate(((n, kind) for n in NUMBERS for kind in _KINDS), 1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _problem(task: int, n: int, kind: tuple[str, str, str, Callable[[int, int], object]]) -> dict[str, Any]:
    word, sentence, code, answer = kind
    name = f"{word}_{n}"
    return {
        "task_id": task,
        "text": f"Write a function that {sentence.format(n=n)}.",
        "code": f"def {name}(x):\n    return {code.format(n=n)}",
        "test_list": [f"assert {name}({x}) == {answer(x, n)!r}" for x in _TRIED],
    }
