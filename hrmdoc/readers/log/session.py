"""One text log being read: pieces are chosen, cleaned, peeled, and shown to the readers of their kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.base import Context
from hrmdoc.readers.log import boosting, facts, objects, reports, scan
from hrmdoc.readers.log.bars import Bar, bars_of
from hrmdoc.readers.log.dicts import Mapping, mapping_of, mappings_of
from hrmdoc.readers.log.epoch_bar import EpochBar
from hrmdoc.readers.log.lines import LineReader
from hrmdoc.readers.log.lists import Lists
from hrmdoc.readers.log.pieces import PIECE_LIMIT, Block, Splitter
from hrmdoc.readers.log.prefix import Message, Peeler
from hrmdoc.readers.log.progress import ProgressReader
from hrmdoc.readers.log.records import RecordReader
from hrmdoc.readers.log.rich_bar import RichBar
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import Held, RankState
from hrmdoc.readers.log.tables import TableReader
from hrmdoc.readers.log.template import Plans
from hrmdoc.readers.log.trouble import TroubleReader
from hrmdoc.readers.log.words import is_result
from hrmdoc.record.records import Damage, Fact, Record, Value
from hrmdoc.text import patterns
from hrmdoc.text.clean import ANSI

_MOST_RANKS = 65536
_LOOKS = 200
"""So many lines with a framework's word that teach nothing new end the search for it."""
_OVERFLOW = patterns.lazy(
    r"overflow\b.{0,200}?loss[ _]scale(?: adjust(?:ed)?)?(?: to)?:? ([\d.]+(?:e[-+]?\d+)?)(?:, reducing to ([\d.e+]+))?",
    re.IGNORECASE,
)
"""A step that was skipped, as DeepSpeed, apex, fairseq and MindSpore tell it; the new scale stands last."""
_NO_NUMBER = patterns.lazy(r"(-?)(?<![\d.])1\.#(INF|IND|QNAN|SNAN)\d{0,16}")
"""How programs built by older compilers of Microsoft spell what is no number."""
_BLOCK_COST = 20
_MAY_OPEN = ("{", "[", " ", "\t", '"', "'")
_FEW = 4
"""Fewer mappings after each other are read line by line."""
_NEVER_CHATTER = scan.METRIC | scan.BAR | scan.TROUBLE | scan.FRAMEWORK | scan.WANTED
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_DIGITS_MATTER = (b"restart", b"using ", b"precision")
"""Words beside which a pattern asks for certain digits: `restart_count=1`, `using bf16`."""
_MOST_CHATTER = 4096
_MOST_DRAWN = 10_000
_LONGEST_CHATTER = 600


class TextSession:
    """Reads one log; see `hrmdoc.readers.text`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sink = Sink(context.path, context.source or context.path)
        self._splitter = Splitter()
        self._scanner = scan.Scanner(context.wanted)
        self._peeler = Peeler(context.mtime)
        self._states: dict[int | None, RankState] = {}
        plans = Plans()
        self._lines = LineReader(self._sink, plans, self._total)
        self._progress = ProgressReader(self._sink, plans, self._total)
        self._records = RecordReader(self._sink)
        self._rich = RichBar(self._sink, self._lines)
        self._tables = TableReader(self._sink)
        self._lists = Lists(self._sink)
        self._trouble = TroubleReader(self._sink)
        self._facts: dict[tuple[str, str], Value] = {}
        self._framework, self._looks = 0, _LOOKS
        self._hungry = False
        self._rank: int | None = context.rank
        self._chatter: set[bytes] = set()
        self._told = False
        self._whole = ""

    @property
    def lines(self) -> int:
        """How many lines have ended so far."""
        return self._splitter.line - 1

    def feed(self, data: bytes) -> Iterator[Record]:
        """Records that the new bytes complete."""
        for block in self._splitter.feed(data):
            self._read(block)
            yield from self._sink.drain()

    def close(self) -> Iterator[Record]:
        """The torn last line, and what waited for lines that do not come any more."""
        for block in self._splitter.close():
            self._read(block)
        for state in self._states.values():
            self._rich.flush(state, Mark(self._splitter.line, rank=self._rank))
            self._records.flush(state)
            self._progress.flush(state)
            EpochBar.close(state, self._sink)
            self._report(state, "", Mark(self._splitter.line))
            self._lines.close(state)
            self._trouble.flush(state)
            if state.column is not None:
                self._lists.end(state.column)
        self._lines.finish()
        self._lists.finish()
        if self._splitter.overlong is not None:
            what = f"a line is longer than {PIECE_LIMIT // 1024} KiB; only its beginning was read"
            self._sink.record(Damage(self._context.path, self._splitter.overlong, what))
        yield from self._sink.drain()

    def _read(self, block: Block) -> None:
        kinds = self._scanner.kinds(block.data, block.ends)
        following = 0
        for rows, mapped in self._stretches(block, kinds, self._without_chatter(block, kinds)):
            if mapped and not self._hungry and self._mappings(block, rows):
                following = int(rows[-1]) + 1
                continue
            for row, start, end, line in block.of(rows):
                if self._hungry:
                    self._follow(block, kinds, following, row)
                following = row + 1
                self._line(block.data[start:end], line, int(kinds[row]))
        if self._hungry:
            self._follow(block, kinds, following, len(kinds))

    def _stretches(
        self, block: Block, kinds: NDArray[np.uint8], rows: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], bool]]:
        """`rows` in parts, and whether a part is lines after each other that are printed mappings and nothing
        else."""
        known = scan.METRIC if self._looks else scan.METRIC | scan.FRAMEWORK
        alone = ((kinds[rows] | known) == known) & ((kinds[rows] & scan.METRIC) != 0)
        if block.feeds is not None or np.count_nonzero(alone) < _FEW:
            yield rows, False
            return
        raw = np.frombuffer(block.data, np.uint8)
        starts, ends = block.bounds(rows)
        alone &= (raw[starts] == ord("{")) & (raw[ends - 1] == ord("}"))
        cuts = np.flatnonzero((alone[1:] != alone[:-1]) | (np.diff(rows) != 1)) + 1
        begins, stops = np.concatenate(([0], cuts)), np.concatenate((cuts, [len(rows)]))
        worth = alone[begins] & (stops - begins >= _FEW)
        done = 0
        for begin, stop in zip(begins[worth].tolist(), stops[worth].tolist(), strict=True):
            if done < begin:
                yield rows[done:begin], False
            yield rows[begin:stop], True
            done = stop
        if done < len(rows):
            yield rows[done:], False

    def _mappings(self, block: Block, rows: NDArray[np.int64]) -> bool:
        """Whether consecutive lines were flat mappings of numbers: then they are read without a look at each
        line."""
        (_, start, _, line), (_, _, end, _) = block.of(rows[[0, -1]])
        mappings = mappings_of(block.data[start:end], len(rows))
        if mappings is None:
            return False
        rank = self._rank = self._context.rank
        state = self._states.setdefault(rank, RankState())
        if not self._records.read_alike(state, mappings, range(line, line + len(mappings)), rank):
            for at, mapping in enumerate(mappings, line):
                self._mapping(state, mapping, Mark(at, rank=rank))
        return True

    def _mapping(self, state: RankState, mapping: Mapping, mark: Mark) -> bool:
        """Whether a printed mapping was a record of metrics."""
        known = state.bar.total
        understood = self._records.read(state, mapping, mark)
        if state.bar.total not in (known, None):
            self._fact("run.total_steps", state.bar.total, "run", mark)
        return understood

    def _without_chatter(self, block: Block, kinds: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Numbers of the pieces that may hold anything and are not known as chatter."""
        rows: NDArray[np.int64] = np.flatnonzero(kinds)
        if not self._chatter:
            return rows
        starts, ends = block.bounds(rows)
        known = ((kinds[rows] & _NEVER_CHATTER) == 0) & (ends - starts < _LONGEST_CHATTER)
        data, chatter = block.data, self._chatter
        bounds = zip(starts[known].tolist(), ends[known].tolist(), strict=True)
        known[known] = [data[start:end].translate(_DIGITS_ALIKE) in chatter for start, end in bounds]
        return np.asarray(rows[~known])

    def _follow(self, block: Block, kinds: NDArray[np.uint8], first: int, stop: int) -> None:
        """Reads pieces one by one, whatever they hold, as long as something open asks for them."""
        for row, start, end, line in block.of(np.arange(first, stop)):
            if not self._hungry:
                return
            self._line(block.data[start:end], line, int(kinds[row]))

    def _line(self, raw: bytes, line: int, kinds: int) -> None:
        """Reads a line, unless one that differs in nothing but digits was chatter: libraries say the same all
        day."""
        if not raw or raw.isspace():
            return
        plain = not (self._hungry or kinds & _NEVER_CHATTER) and len(raw) < _LONGEST_CHATTER
        key = raw.translate(_DIGITS_ALIKE) if plain else b""
        if key in self._chatter:
            return
        self._told = False
        self._piece(_cleaned(raw), line, kinds)
        if (
            plain
            and not self._told
            and not self._hungry
            and not any(word in raw.lower() for word in _DIGITS_MATTER)
        ):
            if len(self._chatter) >= _MOST_CHATTER:
                self._chatter.clear()
            self._chatter.add(key)

    def _piece(self, text: str, line: int, kinds: int) -> None:
        kept = bool(kinds & scan.WANTED)
        self._whole = text
        message = self._peeler.peel(text)
        rank = self._context.rank if message.rank is None else message.rank
        if message.rank is None and message.rest is text and self._hungry:
            rank = self._rank
        self._rank = rank
        state = self._states.get(rank)
        if state is None:
            if len(self._states) >= _MOST_RANKS:
                rank = self._context.rank
            state = self._states.setdefault(rank, RankState())
        mark = Mark(line, message.time, rank)
        if message.world_size:
            self._fact("world_size", message.world_size, "run", mark)
            self._guess_framework("[rank 0, world size", mark)
        if kinds & scan.FRAMEWORK:
            self._guess_framework(text, mark)
        if kept:
            self._trouble.keep(state, message.rest, mark)
        if state.fold is not None:
            self._trouble.unfold(state, message, mark)
        self._message(state, message, mark, kinds, kept)
        was, self._hungry = self._hungry, state.hungry
        if was and not self._hungry:
            self._hungry = any(other.hungry for other in self._states.values())

    def _message(self, state: RankState, message: Message, mark: Mark, kinds: int, kept: bool) -> None:
        text = message.rest
        if state.column is not None:
            if self._lists.take(state.column, text):
                return
            self._lists.end(state.column)
            state.column = None
        if kinds & scan.BAR and (bars := bars_of(text)):
            self._bars(state, bars, mark, kinds, kept)
            return
        if (kinds & scan.TROUBLE or state.traceback or state.summary) and self._broken(
            state, text, mark, kept
        ):
            return
        if kinds & scan.MOMENT:
            self._told = self._trouble.moment(state, text, mark) or self._told
        if state.config and self._config_row(state, text, mark):
            return
        open_block = (
            state.block
            or state.rows
            or state.frame
            or state.objects
            or state.report
            or state.table is not None
        )
        if (kinds & scan.METRIC or open_block) and self._metrics(state, text, message.logger, mark):
            return
        if kinds & (scan.FACT | scan.CONFIG):
            self._facts_of(state, text, mark)

    def _bars(self, state: RankState, bars: list[Bar], mark: Mark, kinds: int, kept: bool) -> None:
        for bar in bars:
            columns = state.columns or self._tables.nameless(state, bar.desc)
            if self._tables.header(state, bar.desc) or (
                columns and self._tables.row(state, bar.desc, mark, bar)
            ):
                continue
            if self._progress.read(state, bar, mark):
                self._fact("run.total_steps", bar.total, "run", mark)
                self._records.redraw(state)
        after = bars[-1].after
        if after.strip():
            self._message(state, self._peeler.peel(after.strip()), mark, kinds & ~scan.BAR, kept)

    def _broken(self, state: RankState, text: str, mark: Mark, kept: bool) -> bool:
        if found := _OVERFLOW.search(text):
            scale = float(found.group(2) or found.group(1))
            self._sink.point("loss_scale", scale, state.flow.step, "step", mark)
            self._sink.point("skipped_step", 1.0, state.flow.step, "step", mark)
            return True
        return self._trouble.traceback(state, text, mark, kept) or self._trouble.summary(
            state, text, mark, kept
        )

    def _metrics(self, state: RankState, text: str, logger: str, mark: Mark) -> bool:
        """Whether the line told metrics or a position."""
        if (state.objects or text[:1] in _MAY_OPEN) and self._object(state, text, mark):
            return True
        if ("{'" in text or '{"' in text or "{ '" in text) and (mapping := mapping_of(text)):
            if mapping.step is None and text[0] != "{":
                mapping.step = self._lines.step_in(text[: text.index("{")])
            return self._mapping(state, mapping, mark)
        if "[" in text and self._lists.read(text, mark):
            return True
        if (state.table is not None or text.startswith("|")) and self._tables.box(state, text, mark):
            return True
        if (state.report or text.startswith("Result for ")) and self._report(
            state, self._whole if state.report else text, mark
        ):
            return True
        if boosting.read(state, text, self._sink, mark) or self._rich.read(state, text, mark):
            return True
        if drawn := EpochBar.match(text):
            self._epoch_bar(state, drawn, mark)
            return True
        if (state.columns or self._tables.nameless(state, text)) and self._tables.row(state, text, mark):
            return True
        if "|" in text and self._tables.sided(state, text, mark):
            return True
        if self._lines.read(state, text, logger, mark) or self._tables.header(state, text):
            return True
        state.column = self._lists.heading(text, mark)
        state.block = max(0, state.block - _BLOCK_COST)
        return False

    def _object(self, state: RankState, text: str, mark: Mark) -> bool:
        """Whether the line is part of a mapping of many lines. Configs are none: records tell their place, or
        results once the run has begun."""
        if not state.objects and (not text.rstrip().endswith((",", "{", "[")) or not objects.begins(text)):
            return False
        ended = objects.read(state.objects, text, mark)
        for mapping, where in ended or ():
            if mapping.step is None and mapping.epoch is None and any(map(is_result, mapping.values)):
                mapping.step = state.flow.step
            if mapping.step is not None or mapping.epoch is not None:
                self._mapping(state, mapping, where)
        return ended is not None

    def _report(self, state: RankState, text: str, mark: Mark) -> bool:
        """Whether the line is part of a report of Ray Tune. Of several trials in one log, the first one's are
        read."""
        report = state.report
        if report is not None and reports.take(report, text):
            return True
        if report is not None:
            state.flow.step = reports.end(report, self._sink) or state.flow.step
        state.report = reports.begin(text, mark) if text.startswith("Result for ") else None
        if state.report is None:
            return False
        state.trial = state.trial or state.report.trial
        if state.report.trial != state.trial:
            state.report = None
        return True

    def _epoch_bar(self, state: RankState, drawn: tuple[int, int, str], mark: Mark) -> None:
        batch, total, rest = drawn
        values = self._lines.values_in(rest)
        epoch = state.flow.epoch
        if values and (epoch is not None or batch == total):
            held = Held(values, epoch, "epoch", mark, batch, total)
            EpochBar.hold(state, held, self._sink)
        elif values and len(state.drawn) < _MOST_DRAWN:
            state.drawn.append(Held(values, batch, "step", mark, batch, total))

    def _config_row(self, state: RankState, text: str, mark: Mark) -> bool:
        """Whether the line is a row of a printed configuration; another line ends it."""
        row = facts.config_row(text)
        comment = text.startswith("#")
        state.config = state.config - 1 if row or comment else 0
        if row:
            self._fact(row[0], row[1], "config", mark)
        return row is not None or comment

    def _facts_of(self, state: RankState, text: str, mark: Mark) -> None:
        if facts.opens_config(text):
            state.config = 400
            if file := facts.config_file(text):
                self._fact("run.config_source", file, "run", mark)
        for key, value in facts.numbers_in(text):
            self._fact(key, value, "run", mark)
            self._learn_epoch(state)
        for key, version in facts.versions_in(text):
            self._fact(key, version, "version", mark)
        for key, value in facts.arguments_in(text):
            self._fact(key, value, "config", mark)

    def _learn_epoch(self, state: RankState) -> None:
        """Steps and epochs in all give the steps of an epoch."""
        steps, epochs = self._facts.get(("run", "run.total_steps")), self._facts.get(("run", "run.epochs"))
        if isinstance(steps, int) and isinstance(epochs, int) and epochs > 0:
            state.steps_per_epoch = steps / epochs

    def _total(self, key: str, total: int, mark: Mark) -> None:
        self._fact(key, total, "run", mark)

    def _fact(self, key: str, value: Value, scope: str, mark: Mark) -> None:
        """Adds a fact once; a later line that says otherwise replaces it."""
        self._told = True
        if self._facts.get((scope, key), self) == value or len(self._facts) > 20_000:
            return
        self._facts[scope, key] = value
        self._sink.record(Fact(key, value, scope, self._context.path, mark.line))  # type: ignore[arg-type]

    def _guess_framework(self, text: str, mark: Mark) -> None:
        if self._looks == 0:
            return
        self._looks -= 1
        lower = text.lower()
        for word, name, weight in facts.FRAMEWORKS:
            if weight > self._framework and word in lower:
                self._framework, self._looks = weight, _LOOKS
                self._fact("run.framework", name, "run", mark)


def _cleaned(raw: bytes) -> str:
    """Text without escape codes, backspaces and NUL; what is no UTF-8 becomes a replacement character,
    `1.#IND` a NaN."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if "\x08" in text or "\x00" in text:
        text = text.replace("\x08", "").replace("\x00", "")
    return _NO_NUMBER.sub(_spelt, text) if "1.#" in text else text


def _spelt(found: re.Match[str]) -> str:
    return f"{found.group(1)}{'inf' if found.group(2) == 'INF' else 'nan'}"
