"""Text datasets for a causal HRM: next-token prediction on `text` -> `code` pairs such as MBPP's, in HRM's layout.

An example is the prompt, the code and an end mark, cut or padded to the sequence length. Labels are the inputs one place
on; those within the prompt and the padding are ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .bpe import END, UNUSED, VOCAB, Encoding, gpt2
from .info import DataInfo
from .write import publish, write_identifiers, write_split


def prompt_of(text: str, tests: list[str]) -> str:
    """What the model reads before it writes code: the task, and the first test, which shows the name to be defined."""
    return f'"""{text.strip()}\n{tests[0].strip() if tests else ""}\n"""\n'


def read_problems(file: str | Path) -> list[dict[str, Any]]:
    """The problems of a JSON lines file with the keys text, code and test_list.

    Raises:
        InputError: a line is no such object; names it.
    """
    problems = []
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except ValueError as error:
            raise InputError(f"is no JSON: {error}", file=file, line=number) from error
        if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in ("text", "code")):
            raise InputError("is no object with texts `text` and `code`", file=file, line=number)
        problems.append({"test_list": [], **found})
    if not problems:
        raise InputError("holds no problems", file=file)
    return problems


def build_text(
    source: str | Path, output: str | Path, *, seq_len: int = 256, test_every: int = 10, encoding: Encoding | None = None
) -> Path:
    """Builds a dataset; every `test_every`-th problem goes to the test split.

    Args:
        encoding: GPT-2's by default.
    """
    words = encoding or gpt2()
    rows = []
    for problem in read_problems(source):
        prompt = words.encode(prompt_of(problem["text"], problem["test_list"]))
        rows.append((len(prompt), [*prompt, *words.encode(problem["code"].replace("\r\n", "\n")), END]))
    examples = [_example(prompt, tokens, seq_len) for prompt, tokens in rows if prompt < seq_len]
    if len(examples) < 2:
        raise InputError(f"fewer than two prompts fit into {seq_len} tokens", file=source, hint="raise seq-len")
    table = np.stack(examples, 1)
    test = (
        np.arange(table.shape[1]) % test_every == test_every - 1
        if table.shape[1] >= test_every
        else np.zeros(len(examples), bool)
    )
    if not test.any():
        test[-1] = True
    info = DataInfo(vocab_size=VOCAB, seq_len=seq_len, pad_id=END, ignore_label_id=UNUSED)
    with publish(output) as building:
        write_split(building, "train", info, *table[:, ~test])
        write_split(building, "test", info, *table[:, test])
        write_identifiers(building)
    return Path(output)


def _example(prompt: int, tokens: list[int], seq_len: int) -> NDArray[np.uint16]:
    """Inputs and labels, [2, seq_len]."""
    both = np.full((2, seq_len), END, np.uint16)
    both[1] = UNUSED
    given, wanted = tokens[:-1][:seq_len], tokens[1:][:seq_len]
    both[0, : len(given)] = given
    both[1, prompt - 1 : len(wanted)] = wanted[prompt - 1 :]
    return both
