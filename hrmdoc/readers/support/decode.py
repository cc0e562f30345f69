"""Compressed files, UTF-16 and GBK, made plain in bounded pieces as the bytes come."""

from __future__ import annotations

import codecs
import importlib
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from hrmdoc.errors import InputError

PIECE = 1 << 20
_ZSTD_STEP = (
    512  # a block of 4 bytes may hold 128 KiB, and its library gives all that its input holds: 16 MiB at most
)
_BOMB_SIZE = 256 << 20
_BOMB_RATIO = 300  # logs shrink 10 to 100 times; what grows more than this is not a log

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_IN_GBK = (
    b"\xcb\xf0\xca\xa7",  # 损失
    b"\xd7\xbc\xc8\xb7\xc2\xca",  # 准确率
    b"\xd1\xb5\xc1\xb7",  # 训练
    b"\xd1\xe9\xd6\xa4",  # 验证
    b"\xd1\xa7\xcf\xb0\xc2\xca",  # 学习率
)
"""None of them is right in UTF-8. To have them encoded here would load the codec for every run."""
_OWN_ERRORS = {"xz": ("lzma", "LZMAError"), "zstd": ("zstandard", "ZstdError")}
SUFFIXES = (".gz", ".xz", ".bz2", ".zst")


class Decoder(Protocol):
    """Turns the bytes of a file into the bytes that a reader understands."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Plain pieces of at most about 1 MiB.

        Raises:
            InputError: the data is damaged, or expands beyond all measure.
        """
        ...

    def close(self) -> Iterator[bytes]:
        """What was held back.

        Raises:
            InputError: the stream ends too early.
        """
        ...


def codec_of(head: bytes) -> str:
    """`gzip`, `xz`, `bz2`, `zstd`, `utf-16-le`, `utf-16-be`, `gb18030`, or "" for plain bytes."""
    found = next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), "")
    return found or ("gb18030" if _is_gbk(head) else "")


def _is_gbk(head: bytes) -> bool:
    """Whether the first bytes are text of a Chinese Windows: a word of training logs in that encoding, among
    bytes that are all right in it."""
    if head.isascii() or b"\0" in head or not any(word in head for word in _IN_GBK):
        return False
    try:
        codecs.getincrementaldecoder("gb18030")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def decoder(codec: str) -> Decoder:
    """The decoder for a name that `codec_of` gave.

    Raises:
        InputError: zstd data, and no zstd library is installed.
    """
    if not codec:
        return _Plain()
    return _Recoded(codec) if codec.startswith(("utf", "gb")) else _Inflate(codec)


def plain_head(head: bytes, size: int = 1 << 16) -> bytes:
    """At most `size` plain bytes from the first bytes of a file; empty when they cannot be decoded."""
    return _plain_head(head, size)[0]


def damage_in(head: bytes) -> str:
    """Why the first bytes of a file cannot be decoded at all; empty where something can."""
    return _plain_head(head, 1)[1]


def _plain_head(head: bytes, size: int) -> tuple[bytes, str]:
    out, what = b"", ""
    try:
        for piece in decoder(codec_of(head)).feed(head):
            out += piece
            if len(out) >= size:
                break
    except InputError as error:
        what = "" if out else error.what
    return out[:size], what


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def close(self) -> Iterator[bytes]:
        yield from ()


class _Recoded:
    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), PIECE):
            yield (
                self._decoder.decode(data[start : start + PIECE])
                .replace("\ufeff", "")
                .encode("utf-8", "replace")
            )

    def close(self) -> Iterator[bytes]:
        yield self._decoder.decode(b"", final=True).encode("utf-8", "replace")


class _Inflate:
    """gzip, xz, bz2 or zstd, one or several members after each other."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._stream = _new_stream(codec)
        own = _OWN_ERRORS.get(codec)
        self._own_errors = (getattr(importlib.import_module(own[0]), own[1]),) if own else ()
        self._inside = False
        self._behind = b""
        self._read = self._written = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._read += len(data)
        try:
            yield from self._pieces(data)
        except (zlib.error, OSError, EOFError, ValueError, *self._own_errors) as error:
            raise InputError(f"the {self._codec} data is damaged: {error}") from error

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        data = data if self._inside else data.lstrip(b"\0")  # padding may begin in an earlier piece
        while data:
            self._inside = True
            for piece in self._member(data):
                self._written += len(piece)
                if self._written > _BOMB_SIZE and self._written > _BOMB_RATIO * self._read:
                    raise InputError(
                        f"the {self._codec} data expands more than {_BOMB_RATIO} times; cut after "
                        f"{self._written >> 20} MiB"
                    )
                yield piece
            if not self._stream.eof:
                return
            data = (self._stream.unused_data + self._behind).lstrip(b"\0")
            self._behind = b""
            self._stream, self._inside = _new_stream(self._codec), False

    def _member(self, data: bytes) -> Iterator[bytes]:
        stream = self._stream
        if self._codec == "zstd":
            for start in range(0, len(data), _ZSTD_STEP):
                plain = stream.decompress(data[start : start + _ZSTD_STEP])
                yield from (plain[at : at + PIECE] for at in range(0, len(plain), PIECE))
                if stream.eof:
                    self._behind = data[start + _ZSTD_STEP :]
                    return
            return
        while True:
            piece = stream.decompress(data, PIECE)
            data = getattr(stream, "unconsumed_tail", b"")
            if piece:
                yield piece
            more = bool(data) if self._codec == "gzip" else not stream.needs_input
            if stream.eof or (not more and len(piece) < PIECE):
                return

    def close(self) -> Iterator[bytes]:
        yield from ()
        if self._inside:
            raise InputError(f"the {self._codec} data ends too early; what could be unpacked was read")


def _new_stream(codec: str) -> Any:
    if codec == "gzip":
        return zlib.decompressobj(wbits=31)
    if codec == "xz":
        return importlib.import_module("lzma").LZMADecompressor()
    if codec == "bz2":
        return importlib.import_module("bz2").BZ2Decompressor()
    try:
        return importlib.import_module("zstandard").ZstdDecompressor().decompressobj()
    except ImportError as error:
        raise InputError(
            "zstd data cannot be unpacked", hint="unpack the file first, or: pip install 'hrmdoc[zstd]'"
        ) from error
