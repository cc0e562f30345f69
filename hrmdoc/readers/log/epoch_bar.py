"""Keras draws the bar of an epoch again and again; the last redraw is its record."""

from __future__ import annotations

from hrmdoc.readers.log.sink import Sink
from hrmdoc.readers.log.state import Held, RankState
from hrmdoc.text import patterns


class EpochBar:
    """Keras draws `6/6 ... - loss: 0.8` again and again: one record an epoch, the last redraw."""

    _FILL = patterns.lazy(r"[━╸╺]+|\[[=>.]{2,}\]")
    _TOTAL = patterns.lazy(r"\s*\d+/(\d+) \[")
    _DRAWN = patterns.lazy(r"\s*(\d+)/(\d+|Unknown)\b.{0,80}?(?:/(?:step|epoch|sample)| - \d{1,7}s - |ETA: )")

    @classmethod
    def match(cls, text: str) -> tuple[int, int, str] | None:
        """Batch, batches and the line without its bar; None when it is no such line."""
        text = cls._last_redraw(text)
        if "/" not in text[:16] or not (found := cls._DRAWN.match(plain := cls._FILL.sub("", text[:4000]))):
            return None
        batch = int(found.group(1))
        total = batch if found.group(2) == "Unknown" else int(found.group(2))
        return batch, total, plain[found.end() :]

    @classmethod
    def _last_redraw(cls, text: str) -> str:
        """Redraws that lost the backspaces between them stand one after the other: the last full one."""
        if (first := cls._TOTAL.match(text)) is None:
            return text
        full = f"{first.group(1)}/{first.group(1)} ["
        return text[at:] if (at := text.rfind(full)) > first.end() else text

    @staticmethod
    def hold(state: RankState, held: Held, sink: Sink) -> None:
        """Keeps the newest redraw of the epoch; one of another epoch lets the older one go."""
        before = state.keras
        if before is not None and (
            before.step != held.step or held.n < before.n or EpochBar._another(before, held)
        ):
            EpochBar.flush(state, sink)
        state.keras = held

    @staticmethod
    def _another(before: Held, held: Held) -> bool:
        """Whether two full bars of no epoch are of two epochs: a redraw adds measures behind those that it
        repeats."""
        return (
            held.step is None
            and before.n == before.total
            and held.values[: len(before.values)] != before.values
        )

    @staticmethod
    def enter(state: RankState, epoch: int, sink: Sink) -> None:
        """A heading names the epoch: a full bar above the first heading was of the epoch before, one of this
        epoch is over."""
        held = state.keras
        if held is not None and held.n == held.total:
            if held.step is None:
                held.step = max(0, epoch - 1)
            EpochBar.flush(state, sink)

    @staticmethod
    def close(state: RankState, sink: Sink) -> None:
        """The held redraw becomes points; where no epoch was named or came to its end, so does each batch
        that was drawn."""
        if state.keras is None and state.flow.epoch is None:
            for held in {(held.n, held.total): held for held in state.drawn}.values():
                sink.points(held.values, held.step, held.axis, held.mark)
        state.drawn.clear()
        EpochBar.flush(state, sink)

    @staticmethod
    def flush(state: RankState, sink: Sink) -> None:
        """The held redraw becomes points."""
        held, state.keras = state.keras, None
        if held is not None:
            for name, value in held.values:
                sink.point(name, value, held.step, held.axis, held.mark)
