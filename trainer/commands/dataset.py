"""`hrmdoc dataset sudoku|maze|arc ...`: builds a dataset in HRM's layout from the command line, with HRM's
option names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hrmdoc.errors import UsageError, did_you_mean

from ..data.arc import build_arc
from ..data.dataset import PuzzleData, dataset_hash
from ..data.maze import build_maze
from ..data.sudoku_dataset import BUILTIN, build_sudoku, builtin
from ..data.text import build_text, unigram_loss

USAGE = f"""usage: hrmdoc dataset sudoku SOURCE OUTPUT [subsample-size=N] [min-difficulty=N] [num-aug=N]
                             [seed=N]
       hrmdoc dataset maze SOURCE OUTPUT [aug=true] [subsample-size=N] [seed=N]
       hrmdoc dataset arc FOLDER... OUTPUT [num-aug=N] [seed=N]
       hrmdoc dataset text FILE OUTPUT [seq-len=N] [test-every=N | mbpp-split=true]
       hrmdoc dataset builtin NAME [OUTPUT]

SOURCE is a folder with train.csv and test.csv, one CSV file (sudoku), or the id of a repository such as
sapientinc/sudoku-extreme. FOLDER holds ARC tasks: training/ and evaluation/ with a JSON file each, such files
themselves, or Kaggle's (..._challenges.json, with ..._solutions.json beside). FILE holds problems as MBPP's,
JSON lines or one list: `text` (or `prompt`), `code` and `test_list`; mbpp-split takes the split of MBPP's
authors, by task_id. Text becomes tokens of GPT-2's encoding, for which the extra `text` is needed. NAME is
one of
{", ".join(BUILTIN)}.
OUTPUT is the dataset's folder; a dataset that is there already is replaced. Options may be written
--num-aug N, too. Then: hrmdoc train preset=small data_path=OUTPUT
"""


@dataclass(frozen=True, slots=True)
class Request:
    """The words after the kind: places, and options by their HRM name with dashes."""

    places: list[str]
    options: dict[str, str]

    def number(self, name: str, default: int | None) -> int | None:
        text = self.options.get(name)
        if text is None:
            return default
        if not text.isdecimal():
            raise UsageError(f"{name}={text!r} is no whole number")
        return int(text)

    def flag(self, name: str) -> bool:
        text = self.options.get(name, "false").lower()
        if text not in ("true", "false"):
            raise UsageError(f"{name}={text!r} is neither true nor false")
        return text == "true"

    def need(self, count: int, more: bool = False) -> None:
        """Refuses another number of places than `count` (or, with `more`, fewer)."""
        if len(self.places) < count or (len(self.places) > count and not more):
            raise UsageError(
                f"{count} paths are needed, not {len(self.places)}", hint="hrmdoc dataset --help"
            )


def _sudoku(request: Request) -> Path:
    request.need(2)
    return build_sudoku(
        *request.places,
        subsample_size=request.number("subsample-size", None),
        min_difficulty=request.number("min-difficulty", None),
        num_aug=request.number("num-aug", 0) or 0,
        seed=request.number("seed", 0) or 0,
    )


def _maze(request: Request) -> Path:
    request.need(2)
    return build_maze(
        *request.places,
        aug=request.flag("aug"),
        subsample_size=request.number("subsample-size", None),
        seed=request.number("seed", 0) or 0,
    )


def _arc(request: Request) -> Path:
    request.need(2, more=True)
    aug, seed = request.number("num-aug", 1000), request.number("seed", 42)
    assert aug is not None
    assert seed is not None
    return build_arc(request.places[:-1], request.places[-1], num_aug=aug, seed=seed)


def _text(request: Request) -> Path:
    request.need(2)
    length, every = request.number("seq-len", 256), request.number("test-every", 10)
    assert length is not None
    assert every is not None
    if request.flag("mbpp-split") and "test-every" in request.options:
        raise UsageError("test-every and mbpp-split are two ways to split; give one")
    if length < 2 or every < 2:
        raise UsageError("seq-len and test-every must be at least 2")
    return build_text(
        *request.places, seq_len=length, test_every=every, mbpp_split=request.flag("mbpp-split")
    )


def _builtin(request: Request) -> Path:
    request.need(1, more=True)
    return builtin(*request.places[:2])


KINDS: dict[str, tuple[Callable[[Request], Path], tuple[str, ...]]] = {
    "sudoku": (_sudoku, ("subsample-size", "min-difficulty", "num-aug", "seed")),
    "maze": (_maze, ("aug", "subsample-size", "seed")),
    "arc": (_arc, ("num-aug", "seed")),
    "text": (_text, ("seq-len", "test-every", "mbpp-split")),
    "builtin": (_builtin, ()),
}


def command(words: list[str]) -> int:
    """Builds the dataset and prints its folder; what it holds goes to stderr."""
    if not words or any(word in ("-h", "--help") for word in words):
        sys.stdout.write(USAGE)
        return 0
    kind, *rest = words
    if kind not in KINDS:
        raise UsageError(
            f"unknown kind of dataset {kind!r}",
            hint=did_you_mean(kind, KINDS) or f"one of: {', '.join(KINDS)}",
        )
    build, known = KINDS[kind]
    path = build(_parse(rest, known))
    opened = {split: PuzzleData(path, split) for split in ("train", "test") if (path / split).is_dir()}
    for split, data in opened.items():
        info = data.info
        sizes = f"{data.examples:,} examples in {info.total_groups:,} groups"
        sys.stderr.write(f"{split}: {sizes}, {info.seq_len} tokens, vocabulary {info.vocab_size:,}\n")
    if kind == "text":
        sys.stderr.write(_text_facts(opened["train"], opened["test"]))
    sys.stderr.write(f"data_hash={dataset_hash(path)}\n")
    sys.stdout.write(f"{path}\n")
    return 0


def _text_facts(train: PuzzleData, test: PuzzleData) -> str:
    """How many rows are cut off, and the loss that is no more than counting tokens."""
    info, labels = train.info, train.sets[0].labels
    cut = sum(int((data.sets[0].labels[:, -1] != info.ignore_label_id).sum()) for data in (train, test))
    losses = [
        unigram_loss(labels, data.sets[0].labels, info.vocab_size, info.ignore_label_id)
        for data in (train, test)
    ]
    return (
        f"{cut:,} examples fill the {info.seq_len} tokens or are cut off there\n"
        f"lm_loss of a unigram model: train {losses[0]:.2f}, test {losses[1]:.2f}; "
        "a model that learns must go well below\n"
    )


def _parse(words: list[str], known: tuple[str, ...]) -> Request:
    places: list[str] = []
    options: dict[str, str] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, text = word.partition("=")
        if not equals and not word.startswith("--"):
            places.append(word)
            continue
        key = name.removeprefix("--").replace("_", "-")
        if key not in known:
            raise UsageError(
                f"unknown option {name!r}", hint=did_you_mean(key, known) or "hrmdoc dataset --help"
            )
        value = text if equals else next(waiting, None)
        if value is None:
            raise UsageError(f"{name} needs a value")
        options[key] = value
    return Request(places, options)
