"""Feeds sources to their readers and takes in what they yield."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.readers.sources import remote
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.support.base import Context, Opened, Session
from hrmdoc.readers.support.budget import Budget
from hrmdoc.readers.support.decode import codec_of, decoder, plain_head
from hrmdoc.record.records import Damage, Record
from hrmdoc.record.run import Run

BLOCK = 1 << 20
_LARGER_BLOCKS = {
    "tfevents": 4 * BLOCK
}  # its columns are cut out of a whole block, at some cost for every tag of it
Wanted = Callable[[bytes], Iterable[int]]
Progress = Callable[[str, int], None]


def nothing_wanted(block: bytes) -> Iterable[int]:
    """The literal search of a caller that asks for no lines."""
    del block
    return ()


def nobody_asks(file: str, done: int) -> None:
    """The progress of a caller that does not want to know of it."""
    del file, done


def read_into(
    run: Run,
    sources: Iterable[Source],
    wanted: Wanted = nothing_wanted,
    progress: Progress = nobody_asks,
    *,
    settings: frozenset[str] = frozenset(),
) -> None:
    """Reads every source to its end and adds the records to `run`.

    What cannot be read becomes a `Damage` of the run. `told` is called with the name of a file and how many
    of its bytes were read, after each block.

    Raises:
        InputError: nothing at all could be read.
    """
    readable = 0
    for source in sources:
        before = run.version
        damages = len(run.damages)
        for record in _records(source, wanted, settings, run, progress):
            run.add(record)
        useful = run.version - before - (len(run.damages) - damages)
        readable += bool(useful)
    if not readable:
        reason = run.damages[0] if run.damages else None
        raise InputError(
            reason.what if reason else "holds no metric and no message that the rules know",
            file=reason.file if reason else (run.path or None),
            line=reason.line if reason else None,
            hint="`hrmdoc formats` lists what can be read",
        )


def _records(
    source: Source, wanted: Wanted, settings: frozenset[str], run: Run, progress: Progress
) -> Iterator[Record]:
    """Records of one source."""
    try:
        with _opened(source) as file:
            first = file.read(BLOCK)
            if not first:
                yield Damage(source.path, None, "is empty")
                return
            source = _sniffed(source, first)
            if source.reader not in run.formats:
                run.formats.append(source.reader)
            if source.reader == "text" and _is_binary(first):
                yield Damage(source.path, None, "holds binary data; only what is text in it was read")
            session = open_source(source, wanted, settings)
            budget = Budget(source.path, source.size)
            block, done = first, 0
            while block:
                before = session.lines
                yield from budget.limited(session.feed(block))
                run.line_count += session.lines - before
                done += len(block)
                progress(source.path, done)
                block = file.read(_LARGER_BLOCKS.get(source.reader, BLOCK))
                if source.path == STDIN:
                    budget.more(len(block))
                if block and budget.seconds_left < 0:
                    yield budget.timed_out()
                    break
            before = session.lines
            yield from budget.limited(session.close())
            run.line_count += session.lines - before  # the last line of a file may have no end
            yield from budget.rest()
    except OSError as error:
        yield Damage(source.path, None, f"cannot be read: {error.strerror or error}", incomplete=True)
    except InputError as error:
        yield Damage(source.path, error.line, error.what, incomplete=True)


def _is_binary(first: bytes) -> bool:
    """Whether the beginning of a file, which may be packed, is no text."""
    head = plain_head(first)
    return bool(head) and readers.reader("text").sniff(Path("x"), head) == 0.0


def _opened(source: Source) -> BinaryIO:
    """The file; standard input is left open, and a pipe that took the file's place is refused."""
    if source.path == STDIN:
        if sys.stdin is None:
            raise InputError("standard input is closed", file=STDIN)
        return open(sys.stdin.fileno(), "rb", closefd=False)
    if remote.is_remote(source.path):
        return remote.opened(source.path, source.size)
    if not stat.S_ISREG(os.stat(source.file).st_mode):
        raise InputError("is no longer a regular file", file=source.path)
    return open(source.file, "rb")


def _sniffed(source: Source, first: bytes) -> Source:
    """`source` with its reader; only standard input comes without one."""
    if source.reader:
        return source
    chosen = readers.choose(Path(source.path), plain_head(first))
    if chosen is None:
        raise InputError("is in no format that hrmdoc knows", file=source.path)
    return Source(source.path, chosen.NAME, source.logger, codec=codec_of(first))


def open_source(
    source: Source, wanted: Wanted = nothing_wanted, settings: frozenset[str] = frozenset()
) -> Opened:
    """Starts to read `source`; feed it the bytes of the file as they are on disk, from the first one on.

    The session never raises: a reader that fails gives one `Damage` and is silent from then on.
    """
    context = Context(
        path=source.path,
        source=source.logger or source.path,
        rank=source.rank,
        wanted=wanted,
        settings=settings,
        mtime=source.mtime,
        part=source.part,
    )
    return _Guarded(source, context)


class _Guarded:
    """A reader's session behind its decoder, and the boundary that keeps a failing reader from ending the
    examination."""

    def __init__(self, source: Source, context: Context) -> None:
        self._source = source
        self._context = context
        self._session: Session | None = None
        self._decoder = decoder("")
        self._broken: InputError | None = None
        self._ended = False

    @property
    def lines(self) -> int:
        """How many lines of text have ended so far; 0 for formats that are no logs."""
        return int(getattr(self._session, "lines", 0))

    def feed(self, data: bytes) -> Iterator[Record]:
        """Records that the new bytes complete."""
        yield from self._guard(lambda: self._read(self._decoder.feed(data)))

    def close(self) -> Iterator[Record]:
        """Records that were held back."""
        yield from self._guard(self._close)

    def _started(self) -> Session:
        if self._session is None:
            self._decoder = decoder(self._source.codec)
            self._session = readers.reader(self._source.reader).open_session(self._context)
        return self._session

    def _read(self, pieces: Iterator[bytes]) -> Iterator[Record]:
        session = self._started()
        for piece in self._sound(pieces):
            yield from session.feed(piece)
        if self._broken:
            self._ended = True
            yield from session.close()
            yield Damage(self._source.path, self._broken.line, self._broken.what, incomplete=True)

    def _sound(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pieces up to the first that cannot be unpacked."""
        try:
            yield from pieces
        except InputError as error:
            self._broken = error

    def _close(self) -> Iterator[Record]:
        session = self._started()
        yield from self._read(self._decoder.close())
        if not self._ended:
            self._ended = True
            yield from session.close()

    def _guard(self, step: Callable[[], Iterator[Record]]) -> Iterator[Record]:
        if self._ended:
            return
        try:
            self._started()
            yield from step()
        except Exception as error:  # noqa: BLE001 (the reader boundary: a fault in one reader must not end the examination)
            self._ended = True
            yield Damage(self._source.path, None, self._why(error), incomplete=True)

    def _why(self, error: Exception) -> str:
        """Why reading ended."""
        if isinstance(error, InputError):
            return error.what
        if isinstance(error, RecursionError):
            return "is nested too deeply; it was not read to its end"
        if isinstance(error, MemoryError):
            return "needs more memory than there is; it was not read to its end"
        return f"the {self._source.reader} reader gave up: {type(error).__name__}: {error}"
