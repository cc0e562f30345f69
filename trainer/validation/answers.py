"""What both models write for each problem, and how it went: kept problem by problem, so that a call that is
cut short loses one at most."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import InputError

from ..config.schema import EvaluateKeys
from ..data.bpe import Encoding
from ..data.problems import Problem
from ..evaluation.codegen import generator_of
from ..evaluation.judging import judge_codes, workers
from ..sandbox import Limits

BOTH = ("hrm", "gpt2")
AT_ONCE = 100  # samples drawn side by side
Write = Callable[[Sequence[int], int, torch.Generator], list[list[int]]]
"""A prompt, the number of samples and what draws them -> their tokens."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes programs."""

    write: Write
    device: torch.device


class Answers:
    """The file of answers.

    Args:
        header: what they depend on (weights, keys); a file with another header is begun anew.
    """

    def __init__(self, file: Path, header: Mapping[str, Any]) -> None:
        self.file, self.header = file, dict(header)
        self.rows: list[dict[str, Any]] = self._kept()

    @property
    def counts(self) -> dict[str, list[tuple[int, int]]]:
        """Of each model the programs and the passed ones of each answered problem."""
        return {
            name: [
                (len(row[name]), sum(status == "passed" for _, status, _ in row[name])) for row in self.rows
            ]
            for name in BOTH
        }

    def add(
        self,
        problem: Problem,
        writers: Mapping[str, Writer],
        keys: EvaluateKeys,
        encoding: Encoding,
        seed: int,
    ) -> None:
        """Has both models answer the next problem, and runs what they wrote."""
        prompt, limits = encoding.encode(problem.prompt), Limits(keys.timeout_s, keys.memory_mib)
        row: dict[str, Any] = {"task_id": problem.task_id}
        for name in BOTH:
            writer = writers[name]
            generator = generator_of(seed, len(self.rows), writer.device)
            drawn: list[list[int]] = []
            while len(drawn) < keys.samples:
                drawn += writer.write(prompt, min(AT_ONCE, keys.samples - len(drawn)), generator)
            codes = [encoding.decode(tokens) for tokens in drawn]
            with ThreadPoolExecutor(workers()) as pool:
                verdicts = judge_codes(pool, problem, codes, limits)
            row[name] = [[code, one.status, one.detail] for code, one in zip(codes, verdicts, strict=True)]
        self._append(row)
        self.rows.append(row)

    def ended(self, name: str) -> dict[str, int]:
        """How the programs of a model ended, the most frequent first."""
        found: dict[str, int] = {}
        for row in self.rows:
            for _, status, _ in row[name]:
                found[status] = found.get(status, 0) + 1
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _append(self, row: Mapping[str, Any]) -> None:
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.file) from error

    def _kept(self) -> list[dict[str, Any]]:
        """The rows of the file, without a torn last one; none where it answers something else."""
        lines = list(_whole(self.file))
        rows = [] if not lines or lines[0] != json.loads(json.dumps(self.header)) else lines[1:]
        good = [row for row in rows if isinstance(row, dict) and set(BOTH) <= row.keys()]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (self.header, *good))
        try:
            part = self.file.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(self.file)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.file) from error
        return good


def _whole(file: Path) -> Iterator[Any]:
    """The lines that are JSON, up to the first that is not."""
    if not file.is_file():
        return
    for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            return
