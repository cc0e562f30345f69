"""One run of many as a piece of work: what any engine does with it. Doing it twice is harmless."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
import psutil
from msgspec import Struct

from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.fleet.summary import Summary, failed, summarize
from hrmdoc.peers import MOST_COMPARED
from hrmdoc.readers.sources.groups import RunGroup
from hrmdoc.settings import Settings

Extra = Literal["", "document", "html", "markdown"]


class Request(Struct, frozen=True):
    """What is asked of every run.

    Attributes:
        settings: the user's, which were found where the command was given.
        stated: facts and roles as `AnalysisSession` takes them.
        extra: what is wanted beside the summary: the diagnosis as JSON, or a chapter of the review.
        sick_alone: that is wanted of sick runs, and of no others.
        folder: the working folder, from which paths count.
        compare: each run is judged by those beside it, too, which are read for that.
    """

    settings: Settings
    stated: dict[str, Any] = {}
    extra: Extra = ""
    folder: str = ""
    sick_alone: bool = False
    compare: bool = False


def are_compared(groups: Sequence[RunGroup]) -> bool:
    """Whether runs that are examined together are few enough to be compared with each other."""
    return len(groups) <= MOST_COMPARED


class Item(Struct, frozen=True):
    """One run to examine. `number` is its place in the list."""

    number: int
    group: RunGroup


class Done(Struct, frozen=True):
    """What became of an item.

    Attributes:
        extra: what was requested beside the summary.
        seconds: of wall clock that it took.
        memory: bytes that the process had in use when the run was done.
        lost: the process that examined the run ended, or ran out of its time.
    """

    number: int
    summary: Summary
    extra: str = ""
    seconds: float = 0.0
    memory: int = 0
    lost: bool = False


def examine(item: Item, request: Request) -> Done:
    """Reads and diagnoses one run. Whatever goes wrong becomes the summary of this run alone."""
    begun = time.monotonic()
    extra = ""
    try:
        if request.folder and os.getcwd() != request.folder:
            os.chdir(request.folder)
        analysis = _diagnosed(item.group, request)
        files = (source.stored or source.path for source in item.group.sources)
        summary = summarize(analysis, files)
        if summary.sick or not request.sick_alone:
            extra = _extra(analysis, request.extra, item.number + 1)
    except MemoryError:
        summary = failed(item.group.folder, "needs more memory than one run may take here")
    except Exception as error:  # noqa: BLE001 (one run must not end the examination of the others)
        summary = failed(item.group.folder, f"a fault of hrmdoc itself: {type(error).__name__}: {error}")
    memory = _process(os.getpid()).memory_info().rss
    return Done(item.number, summary, extra, time.monotonic() - begun, memory)


@lru_cache(maxsize=1)
def _process(number: int) -> psutil.Process:
    return psutil.Process(number)


def _diagnosed(group: RunGroup, request: Request) -> Analysis:
    session = AnalysisSession(
        group.folder, prepared=prepared(request.settings), compare=request.compare, **request.stated
    )
    session.try_to_read_run(group)
    return session.diagnose(closed=True, prescriptions=bool(request.extra))


def _extra(analysis: Analysis, wanted: Extra, number: int) -> str:
    if wanted == "document":
        from hrmdoc.reports.as_json import document

        return json.dumps(document(analysis), ensure_ascii=False, allow_nan=False)
    if wanted:
        from hrmdoc.reports import review

        return (
            review.chapter_html(analysis, number) if wanted == "html" else review.chapter_markdown(analysis)
        )
    return ""


@lru_cache(maxsize=1)
def _kept(key: bytes) -> Prepared:
    return Prepared.of(msgspec.msgpack.decode(key, type=Settings))


def prepared(settings: Settings) -> Prepared:
    """Rules and settings, loaded once a process."""
    return _kept(msgspec.msgpack.encode(settings))
