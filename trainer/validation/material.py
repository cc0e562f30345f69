"""What both models are given: one dataset and one tokenizer, with the hashes that say which."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import ConfigError, InputError, did_you_mean

from ..data import PuzzleData, dataset_hash
from ..data.bpe import VOCAB, Encoding, gpt2, vocabulary_files
from ..data.own_problems import NAME, own_problems
from ..data.problems import Problem, load_problems, read_problems
from ..data.text import MBPP_TEST, MBPP_TRAIN, build_text
from ..evaluation.codegen import solvable

SEQ_LEN, OWN_SEQ_LEN = 256, 96
TEST_EVERY = 5
_SUM = re.compile(r"(?P<sum>[0-9a-fA-F]{32}|[0-9a-fA-F]{64})(?:\s+\*?(?P<name>.+))?")


@dataclass(frozen=True, slots=True)
class Material:
    """The dataset in `folder`, its problems, and the tokenizer.

    Attributes:
        facts: name, hashes and sizes, for the report.
    """

    folder: Path
    problems: list[Problem]
    encoding: Encoding
    facts: dict[str, Any]

    @property
    def seq_len(self) -> int:
        return PuzzleData(self.folder, "train").info.seq_len


def prepare(source: str, place: Path, limit: int | None, expected: str | None) -> Material:
    """The dataset of `source`, built in `place` unless it is one already.

    Args:
        source: a file of problems as MBPP has them, the folder of a text dataset, or `builtin:problems`.
        limit: problems of the test split that are asked.
        expected: a hash that the file must have, or a file as md5sum and sha256sum write them; None looks for
            one beside the data.

    Raises:
        InputError, ConfigError: there is no such data, they are damaged, or they have another hash.
    """
    encoding = gpt2()
    path, facts = Path(source), dict[str, Any]()
    if source == NAME:
        path = place.with_name("problems.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(own_problems(), encoding="utf-8")
    elif source.startswith("builtin:"):
        raise ConfigError(
            f"there are no built-in problems {source!r}", hint=did_you_mean(source, [NAME]) or NAME
        )
    if path.is_dir():
        folder = path
        if expected is not None:
            _compare(path, expected, {"sha256": dataset_hash(folder)})
    elif path.is_file():
        facts = {kind: _hash(path, kind) for kind in ("md5", "sha256")}
        facts["verified"] = _verify(path, facts, expected)
        folder = _build(path, place, OWN_SEQ_LEN if source == NAME else SEQ_LEN)
    else:
        hint = f"give MBPP's mbpp.jsonl, the folder of a text dataset, or {NAME}"
        what = (
            "is neither a file nor a folder" if os.path.lexists(path) else "there is no such file or folder"
        )
        raise InputError(what, file=path, hint=hint)
    data = PuzzleData(folder, "train")
    if data.info.vocab_size != VOCAB:
        what = f"has a vocabulary of {data.info.vocab_size}, which is not GPT-2's {VOCAB}"
        raise InputError(what, file=folder, hint="build one with `hrmdoc dataset text`")
    problems = solvable(load_problems(folder / "test"), limit)
    facts = {
        "name": NAME if source == NAME else path.name,
        **facts,
        "dataset_sha256": dataset_hash(folder),
        "train_problems": data.examples,
        "test_problems": PuzzleData(folder, "test").examples,
        "seq_len": data.info.seq_len,
    }
    return Material(folder, problems, encoding, facts)


def tokenizer_facts(gpt2_folder: Path | None) -> dict[str, Any]:
    """The hashes of the vocabulary that both models share.

    Raises:
        InputError: the folder of GPT-2's weights has another vocabulary, so the two could not be compared.
    """
    files = vocabulary_files()
    tokens, merges = (json.loads(files["encoder.json"].read_bytes()), _merges(files["vocab.bpe"]))
    if gpt2_folder is not None:
        _same(gpt2_folder / "vocab.json", lambda file: json.loads(file.read_bytes()) == tokens)
        _same(gpt2_folder / "merges.txt", lambda file: _merges(file) == merges)
    return {
        "name": "gpt2",
        "tokens": len(tokens),
        "vocabulary_sha256": _hash(files["encoder.json"], "sha256"),
        "merges_sha256": _hash(files["vocab.bpe"], "sha256"),
        "shared_by_both": True,
    }


def _merges(file: Path) -> list[str]:
    return [
        line
        for line in file.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#version")
    ]


def _same(file: Path, equal: Any) -> None:
    if not file.is_file():
        return
    try:
        same = equal(file)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error
    if not same:
        raise InputError("is another vocabulary than GPT-2's, which HRM has", file=file)


def _build(source: Path, place: Path, seq_len: int) -> Path:
    ids = {problem.task_id for problem in read_problems(source)}
    whole = not ids.isdisjoint(MBPP_TRAIN) and not ids.isdisjoint(MBPP_TEST)
    return build_text(source, place, seq_len=seq_len, test_every=TEST_EVERY, mbpp_split=whole)


def _hash(file: Path, kind: str) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, kind).hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error


def _verify(data: Path, hashes: dict[str, str], expected: str | None) -> str | None:
    """By what the file's hash was verified: a name of a file, "given", or None where there is nothing to
    compare it with."""
    if expected is not None and not Path(expected).is_file():
        _compare(data, expected, hashes)
        return "given"
    file = Path(expected) if expected is not None else _beside(data)
    if file is None:
        return None
    lines = [match for line in _lines(file) if (match := _SUM.fullmatch(line.strip()))]
    mine = [one for one in lines if one["name"] is None or Path(one["name"]).name == data.name]
    if not mine:
        if expected is None:
            return None  # it speaks of other files
        raise InputError(f"holds no md5 or sha256 of {data.name}", file=file)
    _compare(data, mine[0]["sum"], hashes, file)
    return file.name


def _beside(data: Path) -> Path | None:
    """The file of hashes of these data: `train.jsonl.md5`, `.train.md5`, or `.mbpp.md5` beside their folder
    `mbpp/`."""
    folder = data.absolute().parent
    stems = (Path(str(data)), data.parent / f".{data.stem}", folder.parent / f".{folder.name}")
    files = (Path(f"{stem}{end}") for stem in stems for end in (".md5", ".sha256"))
    return next((file for file in files if file.is_file()), None)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error


def _compare(data: Path, wanted: str, hashes: dict[str, str], source: Path | None = None) -> None:
    if not _SUM.fullmatch(wanted):
        raise ConfigError(f"{wanted!r} is neither an md5 or sha256 nor a file of them")
    if wanted.lower() not in hashes.values():
        kind = "md5" if len(wanted) == 32 else "sha256"
        where = f", as {source} says" if source is not None else ""
        raise InputError(
            f"the data have changed: their {kind} is {hashes.get(kind)}, not {wanted.lower()}{where}",
            file=data,
            hint="restore the data",
        )
