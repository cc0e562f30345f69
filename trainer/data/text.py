"""Text datasets for a causal HRM: next-token prediction on task -> code pairs such as MBPP's, in HRM's
layout.

An example is the prompt, the code and an end mark, cut or padded to the sequence length. Labels are the
inputs one place on; those within the prompt and the padding are ignored. `<split>/problems.json` holds the
problem of each row, with the tests that generated code has to pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .bpe import END, UNUSED, VOCAB, Encoding, gpt2
from .info import DataInfo
from .problems import Problem, read_problems, write_problems
from .write import publish, write_identifiers, write_split

# MBPP's own split of its task ids (Austin et al. 2021, arXiv 2108.07732): 11-510 test, 511-600 validation,
# 601-974 training.
MBPP_TEST, MBPP_TRAIN = range(11, 511), range(601, 975)
NAMED = {"train": "training", "test": "test"}
Row = tuple[Problem, NDArray[np.uint16]]


def build_text(
    source: str | Path,
    output: str | Path,
    *,
    seq_len: int = 256,
    test_every: int = 10,
    mbpp_split: bool = False,
    encoding: Encoding | None = None,
) -> Path:
    """Builds a dataset. Problems whose prompt leaves no room for code are left out.

    Args:
        source: JSON lines, or one JSON list, of problems as MBPP has them (see `read_problems`).
        test_every: every so manieth problem goes to the test split.
        mbpp_split: the split that MBPP's authors publish, by task id, in its place; the validation problems
            are left out.
        encoding: GPT-2's by default.

    Raises:
        InputError: the file cannot be read, or a split is empty.
    """
    words = encoding or gpt2()
    rows = [
        (problem, words.encode(problem.prompt), words.encode(problem.code))
        for problem in read_problems(source)
    ]
    fitting = [
        (problem, _example(prompt, code, seq_len)) for problem, prompt, code in rows if len(prompt) < seq_len
    ]
    splits = _by_task(fitting) if mbpp_split else _by_turn(fitting, test_every)
    for name, part in splits.items():
        if not part:
            found = f"{len(fitting)} of {len(rows)} prompts fit into {seq_len} tokens"
            foreign = mbpp_split and fitting
            hint = "its task ids are not MBPP's" if foreign else "raise seq-len or give more problems"
            raise InputError(f"no {NAMED[name]} problem is left; {found}", file=source, hint=hint)
    info = DataInfo(vocab_size=VOCAB, seq_len=seq_len, pad_id=END, ignore_label_id=UNUSED)
    with publish(output) as building:
        for name, part in splits.items():
            _write(building, name, info, part)
        write_identifiers(building)
    return Path(output)


def _by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The split that MBPP's authors publish."""
    parts = {"train": MBPP_TRAIN, "test": MBPP_TEST}
    return {name: [row for row in rows if row[0].task_id in ids] for name, ids in parts.items()}


def _by_turn(rows: Sequence[Row], test_every: int) -> dict[str, list[Row]]:
    """Every so manieth problem goes to the test split, and the last one where they are fewer."""
    held = [number % test_every == test_every - 1 for number in range(len(rows))]
    if rows and not any(held):
        held[-1] = True
    parts = {"train": False, "test": True}
    return {
        name: [row for row, away in zip(rows, held, strict=True) if away is part]
        for name, part in parts.items()
    }


def _write(folder: Path, split: str, info: DataInfo, rows: Sequence[Row]) -> None:
    inputs, labels = np.stack([example for _, example in rows], 1)
    write_split(folder, split, info, inputs, labels)
    write_problems(folder / split, [problem for problem, _ in rows])


def _example(prompt: list[int], code: list[int], seq_len: int) -> NDArray[np.uint16]:
    """Inputs and labels, [2, seq_len]."""
    tokens = [*prompt, *code, END]
    both = np.full((2, seq_len), END, np.uint16)
    both[1] = UNUSED
    given, wanted = tokens[:-1][:seq_len], tokens[1:][:seq_len]
    both[0, : len(given)] = given
    both[1, len(prompt) - 1 : len(wanted)] = wanted[len(prompt) - 1 :]
    return both


def unigram_loss(
    counted: NDArray[np.integer], scored: NDArray[np.integer], vocab_size: int, ignored: int | None
) -> float:
    """What a model that knows only how often each token occurs would score as `lm_loss`, in nats.

    Args:
        counted: labels [rows, seq_len] that the frequencies are counted in; one is added to each token's
            count.
        scored: labels that are predicted. As in `lm_loss`, rows weigh the same, however many tokens they
            have.
        ignored: the label that does not count.
    """
    seen = counted[counted != ignored] if ignored is not None else counted.ravel()
    counts = np.bincount(seen, minlength=vocab_size) + 1.0
    nats = np.log(counts.sum()) - np.log(counts)
    valid = np.ones(scored.shape, bool) if ignored is None else scored != ignored
    rows = valid.any(1)
    per_row = np.where(valid, nats[scored], 0.0).sum(1)[rows] / valid.sum(1)[rows]
    return float(per_row.mean())
