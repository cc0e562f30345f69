"""When checkpoints are saved, kept, refused and taken back; and what the run directory says of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hrmdoc.errors import ConfigError, InputError

from ..config.schema import TrainConfig
from ..parallel.world import World, local
from ..rundir.directory import RunDir
from . import checkpoint, kept
from .state import TrainState

PAUSED = "paused"
FOR_ROOM, ROOM_GB = "pause-checkpoints", 8.0
"""The remedy that pauses for want of room, and the free space (GB) from which on its symptom is over."""


class _Parts:
    """The parts of a split model on their way to the disk, which all processes write together."""

    def __init__(self, state: TrainState) -> None:
        from . import part_files, parts

        self._write, self._tensors, self._world = (
            part_files.write,
            parts.parts_of(state.model, state.dense, state.ema),
            state.world,
        )
        self._named = False

    def write(self, folder: Path) -> None:
        """In the first process: writes, with the others, into `folder`."""
        self._named = True
        self._write(self._world.share(folder), self._tensors)

    def call_off(self) -> None:
        """In the first process: lets the others go on, if they still wait for a folder."""
        if not self._named:
            self._world.share(Path())

    def follow(self) -> bool:
        """In the other processes: writes into the folder that the first one names; whether that went well."""
        folder = self._world.share(Path())
        try:
            if folder == Path():
                return False
            self._write(folder, self._tensors)
        except OSError:
            return False
        return True


def _like(state: TrainState) -> dict[str, torch.Tensor] | None:
    """The tensors of a split model, of which a process reads its own parts."""
    if not state.split:
        return None
    from .parts import parts_of

    return parts_of(state.model, state.dense, state.ema)


@dataclass
class Keeper:
    """The checkpoints of one run.

    Attributes:
        write: `torch.save`, or a fault's.
        paused: switched by actions; it outlives a restart.
        last_step: the last step that was to be saved.
        lost: why the state of that step is not on the disk as it should be, or "".
    """

    run: RunDir
    folder: Path
    keep: int
    write: Callable[[dict[str, Any], Any], None] = torch.save
    saved: Callable[[Path], None] = lambda path: None  # noqa: ARG005
    paused: bool = False
    last_step: int = -1
    lost: str = ""

    def pause(self, reason: str, *, on: bool) -> None:
        """Saves no more, or saves again; a mark in control/ says so to who starts the run again."""
        self.paused = on
        mark = self.run.control / PAUSED
        with suppress(OSError):
            if on:
                mark.touch()  # needs no room, as the reason does
                mark.write_text(reason, "utf-8")
            else:
                mark.unlink(missing_ok=True)

    def recall_pause(self, world: World, step: int) -> None:
        """Stays paused where the run was before it ended. Who paused for want of room waits no longer where
        there is room by now, as nobody may be left to say so."""
        before = world.chief and (self.run.control / PAUSED).is_file()
        self.paused = world.share(before and not self._has_room_again())
        if before:
            self.pause(self._reason(), on=self.paused)
            self.run.warn(step, f"checkpoints are {'still paused' if self.paused else 'paused no more'}")

    def _has_room_again(self) -> bool:
        try:
            free = shutil.disk_usage(self.folder).free
        except OSError:
            return False
        return self._reason() in ("", FOR_ROOM) and free >= ROOM_GB * 1e9  # a full disk keeps no reason

    def _reason(self) -> str:
        try:
            return (self.run.control / PAUSED).read_text("utf-8", "replace")
        except OSError:
            return ""

    def save(
        self,
        state: TrainState,
        lm_loss: float | None = None,
        evaluated: Mapping[str, float] | None = None,
    ) -> bool:
        """Saves the state of this step, unless paused. A disk that refuses is reported and the old
        checkpoints stay. `evaluated` are the test split's metrics, where it was scored at this step."""
        self.last_step, self.lost = state.step, ""
        if self.paused:
            self.run.event("checkpoint_skipped", state.step, why="checkpoints are paused")
            return False
        began = time.monotonic()
        world = state.world
        tensors = [local(tensor) for tensor in (*state.model.parameters(), *state.model.buffers())]
        finite = not world.agree(int(not checkpoint.all_finite(iter(tensors))))[0]
        content = state.state_dict()
        parts = _Parts(state) if state.split else None
        if not world.chief:
            return parts is None or parts.follow()
        self.look_back(state.step)
        self.run.scalars.flush()  # a resume from here does not write these steps' numbers again
        try:
            path = checkpoint.save(
                self.folder,
                state.step,
                content,
                finite=finite,
                lm_loss=lm_loss,
                evaluated=evaluated,
                write=self.write,
                write_parts=parts.write if parts is not None else None,
            )
        except OSError as error:
            if parts is not None:
                parts.call_off()
            what = f"OSError: {error}"  # with its number, as Python says it: by that the diagnosis knows it
            self.lost = what
            self.run.event("checkpoint_failed", state.step, error=what, errno=error.errno)
            self.run.log(
                f"warning: checkpoint of step {state.step} not saved: {what}; "
                "training goes on, older ones are kept"
            )
            return False
        seconds = round(time.monotonic() - began, 4)
        self.run.event(
            "checkpoint", state.step, path=str(path), finite=finite, lm_loss=lm_loss, seconds=seconds
        )
        if not finite:
            self.run.log(
                f"warning: checkpoint of step {state.step} holds weights that are not finite; it is marked so"
            )
        for gone in kept.prune(self.folder, self.keep):
            self.run.event("checkpoint_deleted", state.step, path=str(gone))
        self.saved(path)
        return True

    def look_back(self, step: int) -> None:
        """Reads the newest checkpoint again: one that was damaged since it was written must be known before
        it is needed."""
        for path in kept.found(self.folder)[:1]:
            try:
                checkpoint.check(path)
            except InputError as error:
                self.run.event("checkpoint_unusable", step, error=error.what, path=error.file)
                self.run.log(f"warning: {error.file}: {error.what}")
                if path.name == f"step_{self.last_step}":
                    self.lost = error.what

    def newest_good(self, state: TrainState, source: Path | None = None) -> dict[str, Any]:
        """The newest good state in `source`; what had to be passed over is reported loudly.

        Raises:
            InputError: there is none.
        """
        device, like = state.generator.device, _like(state)
        loaded: list[dict[str, Any]] = []

        def choose() -> Path:
            path, found, passed = kept.newest_good(source or self.folder, device, like)
            loaded.append(found)
            for error in passed:
                self.run.event("checkpoint_unusable", state.step, error=error.what, path=error.file)
                self.run.log(f"warning: {error.file}: {error.what}; using {path.name} instead")
            return path

        path = state.world.from_first(choose)
        return loaded[0] if loaded else checkpoint.load(path, device, like)[0]

    def roll_back(self, state: TrainState, config: TrainConfig) -> bool:
        """Takes the run back to its newest good checkpoint; whether there was one."""
        before = state.step
        try:
            reduced = config.rollback_lr_factor if config.on_rollback == "reduce_lr" else None
            state.roll_back(self.newest_good(state), config.seed, reduced)
        except InputError as error:
            self.run.log(f"error: no rollback: {error}")
            return False
        done = {"policy": config.on_rollback, "lr_scale": state.lr_scale}
        self.run.event("rollback", state.step, from_step=before, rollbacks=state.rollbacks, **done)
        how = "the learning rate is lowered" if reduced else "the batches since then are skipped"
        self.run.log(
            f"rolled back from step {before} to step {state.step} "
            f"(rollback {state.rollbacks} of this run); {how}"
        )
        return True

    def resume(self, state: TrainState, source: Path, *, accept_data: bool) -> None:
        """Continues from a run directory's newest good checkpoint, or from exactly the checkpoint that
        `source` names.

        Raises:
            InputError: there is no usable checkpoint.
            ConfigError: it belongs to another model or other data.
        """
        exact = kept.NAME.fullmatch(source.name) is not None
        folder = self.folder if source.resolve() == self.run.path.resolve() else source / "checkpoints"
        found = (
            checkpoint.load(source, state.generator.device, _like(state))[0]
            if exact
            else self.newest_good(state, folder)
        )
        if found.get("data_hash") != state.data_hash and not accept_data:
            raise ConfigError(
                f"the dataset has changed: {state.data_hash[:12]} now, "
                f"{str(found.get('data_hash'))[:12]} in the checkpoint",
                file=source,
                hint=f"restore the data, or accept the new one with data_hash={state.data_hash}",
            )
        try:
            state.load_state_dict(found)
        except (RuntimeError, KeyError, ValueError, TypeError) as error:
            what = str(error).splitlines()[0] if str(error) else type(error).__name__
            hint = "resume with the arch.* keys of that run's config.yaml"
            raise InputError(
                f"the checkpoint does not fit this model: {what}", file=source, hint=hint
            ) from error
        state.restarts += 1
        self.last_step = state.step
        if found.get("native", False) != state.native:
            kinds = ("PyTorch's operations", "the native kernels")
            warning = (
                f"the checkpoint was made with {kinds[not state.native]} "
                f"and this run goes on with {kinds[state.native]}: "
                f"the same but for rounding (native={str(not state.native).lower()} goes on bit for bit)"
            )
            self.run.warn(state.step, warning)
