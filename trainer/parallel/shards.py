"""FSDP2: weights, gradients and moments of which every process keeps a part, and checkpoints that are written
in parts.

The optimizer works on the local parts alone, which AdamATan2 allows because it is elementwise. All processes
write a checkpoint's parts at once (`torch.distributed.checkpoint`), and each reads what it keeps, however the
parts were cut: so the number of processes, and the strategy, may differ between saving and loading. What was
saved whole is read whole.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather, DefaultReduceScatter
from torch.distributed.tensor import DTensor

from hrmdoc.errors import InputError

from ..model.layers import Block
from .world import World, local

if TYPE_CHECKING:
    from ..state.state import TrainState

MOMENTS = ("exp_avg", "exp_avg_sq")
_METADATA = "torch.distributed.checkpoint.metadata"
_METADATA_NAMES = {  # what PyTorch's own files name, beside dtypes
    *((_METADATA, name) for name in ("Metadata", "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING")),
    *((_METADATA, name) for name in ("TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata")),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
    ("torch", "Size"),
    ("pathlib", "PosixPath"),
}


def shard(
    model: nn.Module, world: World, device: str, compile_backend: str | None, compile_mode: str | None
) -> None:
    """Splits every block, then what is left of `model`, over the processes."""
    mesh = init_device_mesh(device, (world.size,))
    for module in [module for module in model.modules() if isinstance(module, Block)] + [model]:
        if compile_backend is not None and module is not model:
            module.compile(backend=compile_backend, mode=compile_mode, dynamic=False)
        split = fully_shard(module, mesh=mesh, reshard_after_forward=True)
        if hasattr(module, "first"):  # a pass that does not go through the module's own call
            register_fsdp_forward_method(module, "first")
        split.set_custom_all_gather(_TimedGather(world))
        split.set_custom_reduce_scatter(_TimedScatter(world))


def own_part(whole: Tensor, like: Tensor) -> Tensor:
    """The part of `whole` that this process keeps of `like`; a `whole` that is split was read so."""
    if isinstance(whole, DTensor):
        return local(whole)
    if not isinstance(like, DTensor):
        return whole
    mesh = like.device_mesh
    pieces = whole.chunk(mesh.size())
    index = mesh.get_local_rank()
    return pieces[index] if index < len(pieces) else whole[:0]


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor that may be split, in every process."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def lend_gradients(parameters: Iterable[Tensor], parts: Iterable[Tensor]) -> None:
    """Gives the local parts, which the optimizer steps, the gradients of the split parameters. They share
    memory."""
    for parameter, part in zip(parameters, parts, strict=True):
        part.grad = None if parameter.grad is None else local(parameter.grad)


def like_whole(part: Tensor, like: Tensor) -> Tensor:
    """`part`, as the split tensor that it is this process's part of."""
    if not isinstance(like, DTensor):
        return part
    split: Tensor = DTensor.from_local(
        part, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
    )
    return split


def parts_of(state: TrainState) -> dict[str, Tensor]:
    """Every tensor of `state` that is split, by a flat name, ready for `write`."""
    named = list(state.model.named_parameters())
    tensors: dict[str, Tensor] = {f"model.{name}": parameter.detach() for name, parameter in named}
    for (name, parameter), part in zip(named, state.dense.param_groups[0]["params"], strict=True):
        for key in MOMENTS:
            moment = state.dense.state[part].get(key, torch.zeros_like(part))
            tensors[f"{key}.{name}"] = like_whole(moment, parameter)
    if state.ema is not None:
        for (name, parameter), average in zip(named, state.ema.average, strict=True):
            tensors[f"ema.{name}"] = like_whole(average, parameter)
    return tensors


def join(state: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The state of a run that was saved in parts, as if it had been saved whole."""

    def under(prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)
        }

    weights, moments = under("model."), [under(f"{key}.") for key in MOMENTS]
    by_index = {
        index: dict(zip(MOMENTS, (moment[name] for moment in moments), strict=True))
        for index, name in enumerate(state["split"])
    }
    ema = None if state["ema"] is None else {**state["ema"], "average": under("ema.")}
    optimizer = {**state["optimizer"], "state": by_index}
    return {**state, "model": {**weights, **state["model"]}, "optimizer": optimizer, "ema": ema}


def take_parts(model: nn.Module, state: dict[str, Any]) -> dict[str, Any]:
    """Of a whole state what this process keeps."""
    named = dict(model.named_parameters())

    def parts(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: own_part(tensor, named[name]) if name in named else tensor
            for name, tensor in tensors.items()
        }

    moments = {
        index: {key: own_part(entry[key], parameter) for key in entry}
        for (index, entry), parameter in zip(
            state["optimizer"]["state"].items(), named.values(), strict=False
        )
    }
    ema = None if state["ema"] is None else {**state["ema"], "average": parts(state["ema"]["average"])}
    return {
        **state,
        "model": parts(state["model"]),
        "optimizer": {**state["optimizer"], "state": moments},
        "ema": ema,
    }


def write(folder: Path, tensors: dict[str, Tensor]) -> None:
    """Writes the parts of `tensors` into `folder`; every process calls it.

    Raises:
        OSError: a process could not write; raised in all of them.
    """
    try:
        with _alone_is_fine():
            save(dict(tensors), storage_writer=FileSystemWriter(folder, sync_files=True))
    except CheckpointException as error:
        inner = next(iter(error.failures.values()))[0]
        if isinstance(inner, OSError):
            raise OSError(inner.errno, inner.strerror) from error
        raise OSError(str(inner).splitlines()[0]) from error


def read(folder: Path, like: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Every tensor in `folder`, on the host. Runs no code of the checkpoint's.

    Args:
        like: tensors of the same names (`parts_of`). Of those that are split, this process's part alone is
            read, to their device.

    Raises:
        InputError: the parts do not make a checkpoint.
    """
    reader = _SafeReader(folder)
    try:
        found = reader.read_metadata().state_dict_metadata
        tensors = {
            name: _room(entry, (like or {}).get(name))
            for name, entry in found.items()
            if isinstance(entry, TensorStorageMetadata)
        }
        with _alone_is_fine():
            load(tensors, storage_reader=reader, no_dist=True)
    except (
        CheckpointException,
        OSError,
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        AttributeError,
        ValueError,
    ) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the parts of the checkpoint cannot be read: {what}", file=folder) from error
    return tensors


def _room(entry: TensorStorageMetadata, like: Tensor | None) -> Tensor:
    """A tensor to read into. One of another shape is read whole, and will be found not to fit the model."""
    if like is None or like.shape != entry.size:
        return torch.empty(entry.size, dtype=entry.properties.dtype)
    return like_whole(torch.empty_like(local(like), dtype=entry.properties.dtype), like)


@contextmanager
def _alone_is_fine() -> Iterator[None]:
    """PyTorch warns of a checkpoint that one process handles, and that is just what is meant."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*in a single process.*")
        yield


class _TimedGather(DefaultAllGather):
    """PyTorch's own, on the clock of the run."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.world.clock.section("comm"):
            return super().__call__(*args, **kwargs)


class _TimedScatter(DefaultReduceScatter):
    """PyTorch's own, on the clock of the run."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.world.clock.section("comm"):
            return super().__call__(*args, **kwargs)


class _SafeReader(FileSystemReader):
    """PyTorch unpickles `.metadata` whatever it holds; this takes the classes of such a file and no
    others."""

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        del args, kwargs
        content = (Path(self.path) / ".metadata").read_bytes()
        metadata = _Unpickler(io.BytesIO(content)).load()
        if not isinstance(metadata, Metadata):
            raise pickle.UnpicklingError(".metadata holds something else")
        if getattr(metadata, "storage_meta", None) is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id  # type: ignore[union-attr]
        return metadata


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _METADATA_NAMES and not (
            module == "torch" and isinstance(getattr(torch, name, 0), torch.dtype)
        ):
            raise pickle.UnpicklingError(f".metadata names {module}.{name}, which no checkpoint needs")
        return super().find_class(module, name)
