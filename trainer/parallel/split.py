"""Tensors of which every process keeps a part (PyTorch's DTensor)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torch import Tensor
from torch.distributed.tensor import DTensor

from .world import local

if TYPE_CHECKING:
    pass


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
