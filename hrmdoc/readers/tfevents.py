"""TensorBoard event files (`events.out.tfevents.*`), also while they are being written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson

from hrmdoc.readers.events import crc
from hrmdoc.readers.events.gathered import Gathered, Layouts
from hrmdoc.readers.events.tfrecord import Block, Framer
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import flat_facts
from hrmdoc.readers.tables.columns import Columns
from hrmdoc.record.records import Damage, Fact, IntArray, Record

NAME = "tfevents"
TITLE = "TensorBoard event files"
WHOLE = False

_PIECE = 4 << 20
_MOST_NAMED = 50  # damaged places that are reported one by one
_SPLIT_FOLDERS = frozenset({"train", "training", "validation", "valid", "val", "eval", "test"})
_CONFIG_TEXT = re.compile(
    r"^(?:args|hparams|config|training_args|model_config|hyperparameters)(?:/text_summary)?$", re.IGNORECASE
)


def sniff(path: Path, head: bytes) -> float:
    """Sure when the first record has a right header and is an event; an event file that has only just been
    made is taken too."""
    named = "tfevents" in path.name
    if len(head) >= 21:
        right = crc.masked(head[:8]) == int.from_bytes(head[8:12], "little") and head[12:13] == b"\x09"
        return 1.0 if right else 0.6 if named else 0.0
    return 0.9 if named else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one event file."""
    return _Session(context)


class _Session:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._framer = Framer()
        self._layouts: Layouts = {}
        self._damaged = 0
        folder = Path(context.path).parent.name.lower()
        self._split = folder if folder in _SPLIT_FOLDERS else ""

    def feed(self, data: bytes) -> Iterator[Record]:
        """Points of every whole record."""
        for start in range(0, len(data), _PIECE):
            yield from self._block(self._framer.feed(data[start : start + _PIECE]))

    def close(self) -> Iterator[Record]:
        """What damage had hidden at the end, and a note on a torn record."""
        if self._framer.torn:
            yield from self._block(self._framer.feed(b"", final=True), final=True)
        if (more := self._damaged - _MOST_NAMED) > 0:
            yield Damage(self._context.path, None, f"{more} further damaged places", left_out=more)

    def _block(self, block: Block, final: bool = False) -> Iterator[Record]:
        gathered = Gathered(block, self._layouts)
        columns = Columns(self._context, precision=2)
        records: IntArray | None = None
        places = np.empty(0, np.int64)
        for tag, order, steps, values, times in gathered.points():
            if order is not records:  # the metrics of a record stand at one place, which their series share
                records, places = order, block.base + gathered.starts[order] - 12
            columns.add(self._named(tag), order, values, steps=steps, times=times, lines=places)
        yield from columns.points()
        yield from self._facts(gathered)
        found = [(place, "the record at this byte is no event") for place in gathered.unreadable]
        for place, size in block.lost:
            torn = final and place + size == block.base + len(block.data)
            what = (
                "the last record is incomplete" if torn else "damaged bytes, no record could be found in them"
            )
            found.append((place, f"{what} ({size} bytes from byte {place})"))
        for place, what in found:
            self._damaged += 1
            if self._damaged <= _MOST_NAMED:
                yield Damage(self._context.path, place, what)

    def _named(self, tag: str) -> str:
        """Writers that keep training and validation in folders of those names use the same tag in both."""
        return f"{self._split}/{tag}" if self._split and not tag.lower().startswith(self._split) else tag

    def _facts(self, gathered: Gathered) -> Iterator[Fact | Damage]:
        for event in gathered.events:
            for key, value in event.hparams.items():
                yield Fact(key, value, "config", self._context.path)
            for tag, text in event.texts:
                if _CONFIG_TEXT.match(tag):
                    yield from _text_facts(text, self._context.path)


def _text_facts(text: str, path: str) -> Iterator[Fact | Damage]:
    """Config values in a text summary that holds JSON, as transformers writes its arguments."""
    body = text.strip().removeprefix("```json").strip("` \n")
    try:
        tree = orjson.loads(body.replace(": NaN", ": null").replace(": Infinity", ": null"))
    except orjson.JSONDecodeError:
        return
    yield from flat_facts(tree, path)
