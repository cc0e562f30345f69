"""Dumps of PyTorch's flight recorder: what each rank called last on every process group, and what it still
waits for.

A dump is a pickle of plain containers. It is read by an interpreter that knows the operations for these
alone, so that no dump can name a class or call a function. Layout after
torch/csrc/distributed/c10d/FlightRecorder.hpp; old dumps are a bare list.
"""

from __future__ import annotations

import io
import pickle
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_OPERATIONS
from hrmdoc.readers.support.whole import Whole
from hrmdoc.record.records import Damage, Event, Fact, Record, Value
from hrmdoc.text import patterns

NAME = "flight_recorder"
TITLE = "PyTorch flight-recorder dumps (nccl_trace_rank_N)"
WHOLE = True

_NAMED = patterns.lazy(r"(?:trace|recorder|dump|fr)[\w.-]*rank[_-]?\d+")
_MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_MOST_GROUPS = 256
_ALLOWED = (
    *(pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.EMPTY_DICT, pickle.EMPTY_LIST, pickle.EMPTY_TUPLE, pickle.DICT, pickle.LIST, pickle.TUPLE),
    *(
        pickle.TUPLE1,
        pickle.TUPLE2,
        pickle.TUPLE3,
        pickle.SETITEM,
        pickle.SETITEMS,
        pickle.APPEND,
        pickle.APPENDS,
    ),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT, pickle.BINUNICODE),
    *(
        pickle.SHORT_BINUNICODE,
        pickle.BINPUT,
        pickle.LONG_BINPUT,
        pickle.BINGET,
        pickle.LONG_BINGET,
        pickle.MEMOIZE,
    ),
)

_BROKEN = (
    pickle.UnpicklingError,
    struct.error,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)
"""What the interpreter raises for bytes that are no pickle of plain containers."""


def sniff(path: Path, head: bytes) -> float:
    """By the pickle's first bytes and the words that every dump has."""
    if not head.startswith(_MAGIC):
        return 0.0
    if b"collective_seq_id" in head or b"pg_status" in head:
        return 1.0
    return 0.9 if _NAMED.search(path.name) else 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return Whole(context, _read)


def _counted(operation: Callable[[Any], None]) -> Callable[[Any], None]:
    """An operation that one byte may ask for and that takes memory, so that their number is limited."""

    def limited(unpickler: _PlainUnpickler) -> None:
        unpickler.left -= 1
        if unpickler.left < 0:
            raise pickle.UnpicklingError(f"holds more than {MAX_OPERATIONS:,} operations")
        operation(unpickler)

    return limited


class _PlainUnpickler(pickle._Unpickler):
    """Builds dictionaries, lists, tuples, texts and numbers; any other operation is unknown to it."""

    left = MAX_OPERATIONS

    dispatch: ClassVar[dict[int, Any]] = {
        operation[0]: _counted(pickle._Unpickler.dispatch[operation[0]]) for operation in _ALLOWED
    }


class _Group(Struct):
    """One process group as this rank saw it; numbers are of collectives, -1 where none is known."""

    enqueued: int = -1
    completed: int = -1
    waiting: int = -1
    operation: str = ""
    sizes: str = ""
    place: str = ""


def _read(context: Context, blob: bytes) -> Iterator[Record]:
    try:
        dump = _PlainUnpickler(io.BytesIO(blob)).load()
    except _BROKEN as error:
        yield Damage(
            context.path, None, f"is no whole flight-recorder dump: {type(error).__name__} {error}"[:200]
        )
        return
    tree = dump if isinstance(dump, dict) else {"entries": dump}
    written = tree.get("entries")
    entries = [entry for entry in written if isinstance(entry, dict)] if isinstance(written, list) else []
    if not entries and "pg_status" not in tree:
        yield Damage(context.path, None, "is a pickle, but no flight-recorder dump")
        return
    more: set[str] = set()
    groups = _groups(entries, _mapping(tree.get("pg_status")), more)
    if more:
        yield Damage(context.path, None, f"{len(more):,} process groups were left out", left_out=len(more))
    yield from _facts(context, groups, tree)
    for name, group in groups.items():
        if group.waiting >= 0:
            detail = (
                f"waits in {group.operation or 'a collective'} number {group.waiting} of group {name} "
                f"{group.place}"
            ).rstrip()
            yield Event("action", context.path, rank=context.rank, detail=detail)


def _groups(entries: list[dict[str, Any]], status: Mapping[str, Any], more: set[str]) -> dict[str, _Group]:
    """The process groups by name; `more` receives the names of those beyond what is kept."""
    groups: dict[str, _Group] = {}
    for entry in entries:
        number = _whole_number(entry.get("collective_seq_id", entry.get("seq_id")))
        if entry.get("is_p2p") is True or number < 0:
            continue
        name = _group_name(entry)
        if name not in groups and len(groups) >= _MOST_GROUPS:
            more.add(name)
            continue
        group = groups.setdefault(name, _Group())
        group.enqueued = max(group.enqueued, number)
        if entry.get("retired") is True or entry.get("state") == "completed":
            group.completed = max(group.completed, number)
        elif group.waiting < 0 or number < group.waiting:
            group.waiting, group.operation = number, _short_text(entry.get("profiling_name"))
            group.sizes, group.place = _shape(entry), _place(entry)
    for name, stated in status.items():
        if _short_text(name) not in groups and len(groups) >= _MOST_GROUPS:
            more.add(_short_text(name))
            continue
        group = groups.setdefault(_short_text(name), _Group())
        numbers = _mapping(stated)
        group.enqueued = max(group.enqueued, _whole_number(numbers.get("last_enqueued_collective")))
        group.completed = max(group.completed, _whole_number(numbers.get("last_completed_collective")))
    return groups


def _facts(context: Context, groups: Mapping[str, _Group], tree: Mapping[Any, Any]) -> Iterator[Fact]:
    """`fr.<rank>.<group>.<what>`, from which `hrmdoc.examination.desync` compares the ranks."""
    rank = 0 if context.rank is None else context.rank
    for name, group in groups.items():
        stated: dict[str, Value] = {"enqueued": group.enqueued, "completed": group.completed}
        if group.waiting >= 0:
            stated |= {
                "waiting": group.waiting,
                "operation": group.operation,
                "sizes": group.sizes,
                "place": group.place,
            }
        for what, value in stated.items():
            yield Fact(f"fr.{rank}.{name}.{what}", value, "run", context.path)
    configs = _mapping(tree.get("pg_config"))
    for name, config in configs.items():
        ranks = _mapping(config).get("ranks")
        members = [int(one) for one in re.findall(r"\d{1,6}", ranks)] if isinstance(ranks, str) else ranks
        if isinstance(members, list) and members and all(type(one) is int for one in members):
            known = (
                _short_text(name) if _short_text(name) in groups or len(groups) != 1 else next(iter(groups))
            )
            yield Fact(
                f"fr.members.{known}", ",".join(str(one) for one in members[:65536]), "run", context.path
            )


def _group_name(entry: Mapping[str, Any]) -> str:
    """The number that `pg_status` knows the group by."""
    group = entry.get("process_group")
    return (
        _short_text(group[0])
        if isinstance(group, tuple | list) and group
        else _short_text(entry.get("pg_id", "0"))
    )


def _shape(entry: Mapping[str, Any]) -> str:
    """Sizes of the inputs, as `8x4 2`."""
    sizes = entry.get("input_sizes")
    rows = (
        [row for row in sizes[:8] if isinstance(row, list | tuple)] if isinstance(sizes, list | tuple) else []
    )
    return " ".join("x".join(str(_whole_number(one)) for one in row[:8]) for row in rows)


def _place(entry: Mapping[str, Any]) -> str:
    """The innermost frame that is none of torch's own, as `train.py:12`."""
    frames = entry.get("frames")
    for frame in frames[:64] if isinstance(frames, list) else ():
        named = _short_text(_mapping(frame).get("filename"))
        if named and "/torch/" not in named:
            return f"({named.rpartition('/')[2]}:{_whole_number(_mapping(frame).get('line'))})"
    return ""


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _whole_number(value: Any) -> int:
    return value if type(value) is int else -1


def _short_text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int) else ""
