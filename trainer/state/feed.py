"""Batches on the device, and the place in the stream of the last one that was used."""

from __future__ import annotations

import queue
import threading
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import torch

from ..model.step import Batch


class Stream(Protocol):
    """An endless, resumable source of batches on the host, such as `TrainIterator`."""

    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Feed:
    """Takes batches from `source` to `device`.

    Args:
        pin: copy through page-locked memory, without waiting for the copy (CUDA).
        ahead: batches prepared in advance by a thread; 0 prepares each when it is asked for.

    Attributes:
        taken: batches used so far.
        repeated: how many of them held the very inputs of an earlier one, in the same order. Shuffled data
            hardly ever do; a sampler that is seeded anew each time, or a cache in the wrong place, does
            nothing else.
    """

    def __init__(self, source: Stream, device: torch.device, *, pin: bool = False, ahead: int = 0) -> None:
        self.source, self.device, self.pin, self.ahead = source, device, pin, ahead
        self.taken = self.repeated = 0
        self._seen: set[int] = set()
        self._used: dict[str, Any] = source.state_dict()
        self._ready: queue.Queue[tuple[Batch, dict[str, Any], int] | Exception] = queue.Queue(max(1, ahead))
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def next(self) -> Batch:
        """The next batch, on the device. An error of the source is raised here."""
        if self.ahead and self._thread is None:
            self._thread = threading.Thread(target=self._fill, name="feed", daemon=True)
            self._thread.start()
        item = self._ready.get() if self.ahead else self._prepare()
        if isinstance(item, Exception):
            raise item
        batch, self._used, content = item
        self.taken += 1
        self.repeated += content in self._seen
        self._seen.add(content)
        return self._move(batch)

    def state_dict(self) -> dict[str, Any]:
        """The place after the last batch that `next` returned; what was prepared beyond it is prepared
        again."""
        return self._used

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.close()
        self.source.load_state_dict(state)
        self._used = state
        self._seen.clear()  # what comes now may rightly come again

    def close(self) -> None:
        """Ends the thread. The feed can be used again; it goes on where its source is."""
        if self._thread is None:
            return
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._ready.get(timeout=0.05)
            except queue.Empty:
                continue
        self._thread = None
        self._ready = queue.Queue(max(1, self.ahead))
        self._stop = threading.Event()

    def _prepare(self) -> tuple[Batch, dict[str, Any], int]:
        batch = next(self.source)
        content = zlib.crc32(batch["inputs"].numpy().tobytes())
        if self.pin:
            batch = {key: value.pin_memory() for key, value in batch.items()}
        return batch, self.source.state_dict(), content

    def _fill(self) -> None:
        while not self._stop.is_set():
            try:
                self._ready.put(self._prepare())
            except Exception as error:  # noqa: BLE001  # whatever the source raises belongs to the training thread
                self._ready.put(error)
                return

    def _move(self, batch: Batch) -> Batch:
        if self.device.type == "cpu":
            return batch
        return {key: value.to(self.device, non_blocking=self.pin) for key, value in batch.items()}
