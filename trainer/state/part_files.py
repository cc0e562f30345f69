"""The files of a checkpoint that is written in parts.

All processes write at once (`torch.distributed.checkpoint`), and each reads what it keeps, however the parts
were cut.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from hrmdoc.errors import InputError

from ..parallel.world import local

if TYPE_CHECKING:
    pass
from ..parallel.split import like_whole

_METADATA = "torch.distributed.checkpoint.metadata"
_METADATA_NAMES = {  # what PyTorch's own files name, beside dtypes
    *((_METADATA, name) for name in ("Metadata", "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING")),
    *((_METADATA, name) for name in ("TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata")),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
    ("torch", "Size"),
    ("pathlib", "PosixPath"),
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
