"""The compiled kernels, and what they are handed: the addresses of tensors, laid out as in kernels/*.[ch]."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from functools import lru_cache

from torch import Tensor

from hrmdoc.errors import ConfigError

from .compiler import built

_POINTER = ctypes.c_void_p


class Shape(ctypes.Structure):
    """`Shape` of kernels/level.h."""

    _fields_ = (
        *((name, ctypes.c_long) for name in ("B", "S", "D", "H", "I", "layers")),
        ("eps", ctypes.c_float),
    )


class LevelPlaces(ctypes.Structure):
    """`Level` of kernels/level.h."""

    _fields_ = (
        ("shape", Shape),
        *((name, _POINTER) for name in ("stored", "ahead", "back", "gradients", "cosine", "sine")),
    )


class ModelPlaces(ctypes.Structure):
    """`Model` of kernels/step.c."""

    _fields_ = (
        *(("low", LevelPlaces), ("high", LevelPlaces)),
        *(
            (name, ctypes.c_long)
            for name in ("V", "prefix", "puzzles", "puzzle_size", "H_cycles", "L_cycles")
        ),
        *((name, ctypes.c_long) for name in ("max_steps", "full", "target", "stablemax")),
        ("scale", ctypes.c_float),
        *(
            (name, _POINTER)
            for name in ("tokens", "positions", "table", "head", "q_weight", "q_bias", "H_init", "L_init")
        ),
        *((name, _POINTER) for name in ("d_tokens", "d_positions", "d_head", "d_q_weight", "d_q_bias")),
    )


class StepPlaces(ctypes.Structure):
    """`Step` of kernels/step.c."""

    _fields_ = (
        *(
            (name, _POINTER)
            for name in ("z_H", "z_L", "q_state", "steps", "halted", "inputs", "labels", "ids")
        ),
        *((name, _POINTER) for name in ("new_inputs", "new_labels", "new_ids", "least", "d_rows", "row_ids")),
        *(("share", ctypes.c_double), ("sums", _POINTER)),
    )


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The kernels, built if this machine has not built them yet.

    Raises:
        ConfigError: there is no compiler, or it fails.
    """
    try:
        kernels = ctypes.CDLL(str(built(os.environ)))
    except OSError as error:
        raise ConfigError(
            f"the native kernels cannot be loaded: {error}", hint="native=false trains without them"
        ) from error
    kernels.scratch_floats.restype = kernels.step_floats.restype = ctypes.c_long
    kernels.cycles.argtypes = [_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_char_p, _POINTER]
    kernels.step.argtypes = [_POINTER, _POINTER, _POINTER]
    kernels.multiply.argtypes = [*([ctypes.c_long] * 3), *([_POINTER] * 3)]
    kernels.adam_atan2.argtypes = [ctypes.c_long, *([_POINTER] * 5), *([ctypes.c_float] * 5)]
    return kernels


def address(tensor: Tensor | None) -> int | None:
    """Where a tensor's numbers are."""
    assert tensor is None or tensor.is_contiguous()
    return None if tensor is None else tensor.data_ptr()


def pointers(tensors: Iterable[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    """The addresses of `tensors` as C sees them."""
    found = [address(tensor) for tensor in tensors]
    return (_POINTER * len(found))(*found)
