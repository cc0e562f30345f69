"""A small model in C on one CPU thread (`kernels/`), instead of in PyTorch's operations: whole training steps
and evaluation.

The C compiler of the machine builds the kernels when they are first wanted, which takes seconds; the result
is kept in the user's cache folder. Where there is no compiler, or the model is of another kind, PyTorch's
operations do the same work.
"""

from __future__ import annotations

import ctypes
import math
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hrmdoc.errors import ConfigError, InputError

from ..model.layers import Block, inner_size
from .compiler import built

if TYPE_CHECKING:
    from ..model.hrm import HRM, Batch, Carry

STRIP = 16  # columns that the kernels work on together: the hidden size has to be a multiple
SUMS = (
    "count",
    "accuracy",
    "exact_accuracy",
    "q_halt_accuracy",
    "steps",
    "lm_loss",
    "q_halt_loss",
    "q_continue_loss",
)
WRONG = {
    1: "a token",
    2: "a puzzle identifier",
    3: "a label",
}  # what `step` says is outside of what the dataset declares
SEPARATE, REUSE, NONE = range(3)  # where the value of going on comes from
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
        *((name, _POINTER) for name in ("stored", "weights", "gradients", "cosine", "sine")),
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


def obstacle(
    hidden_size: int, *, causal: bool, mlp_t: bool, dtype: torch.dtype = torch.float32
) -> str | None:
    """Why the kernels cannot train a model like this, or None."""
    if dtype != torch.float32:
        return "they compute in float32"
    if causal or mlp_t:
        return "they know neither a causal model nor one without attention"
    return f"the hidden size {hidden_size} is no multiple of {STRIP}" if hidden_size % STRIP else None


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
    kernels.adam_atan2.argtypes = [ctypes.c_long, *([_POINTER] * 5), *([ctypes.c_float] * 5)]
    return kernels


class NativeLevel:
    """A stack of blocks. The weights stay the blocks' own; a copy in the kernels' order follows them."""

    def __init__(
        self, layers: nn.ModuleList, heads: int, expansion: float, rotary: tuple[Tensor, Tensor] | None
    ) -> None:
        blocks = [block for block in layers if isinstance(block, Block)]
        self.weights: list[Tensor] = []
        for block in blocks:
            assert block.attention is not None
            mlp = (block.mlp.gate_up.weight, block.mlp.down.weight)
            self.weights += [block.attention.qkv.weight, block.attention.out.weight, *mlp]
        size = self.weights[1].shape[0]
        rounded = [
            (o, i, -(-o // STRIP) * STRIP, -(-i // STRIP) * STRIP) for o, i in (w.shape for w in self.weights)
        ]
        panels = [(torch.empty(wide_o * i), torch.empty(o * wide_i)) for o, i, wide_o, wide_i in rounded]
        self._alive = panels, rotary
        self._stored, self._panels = (
            pointers(self.weights),
            pointers(
                panels[at + place][way]
                for at in range(0, len(panels), 4)
                for way in (0, 1)
                for place in range(4)
            ),
        )
        angles = (None, None) if rotary is None else (rotary[0].data_ptr(), rotary[1].data_ptr())
        shape = Shape(0, 0, size, heads, inner_size(size, expansion), len(blocks), blocks[0].eps)
        self.places = LevelPlaces(
            shape, ctypes.addressof(self._stored), ctypes.addressof(self._panels), None, *angles
        )
        self._packed: list[int] = []

    def ready(self, B: int, S: int) -> LevelPlaces:
        """The level for that many rows and positions, with the weights as they are now."""
        self.places.shape.B, self.places.shape.S = B, S
        now = [weight._version for weight in self.weights]
        if now != self._packed:
            library().level_pack(ctypes.byref(self.places))
            self._packed = now
        return self.places

    def gradients_to(self, gradients: list[Tensor]) -> None:
        """Where the gradients of the weights are added up."""
        self._gradients = pointers(gradients)
        self.places.gradients = ctypes.addressof(self._gradients)


def cycles(
    low: NativeLevel, high: NativeLevel, z_L: Tensor, z_H: Tensor, x_BSD: Tensor, plan: str
) -> tuple[Tensor, Tensor]:
    """The states (z_L, z_H) after passes without gradient, one for each letter of `plan`: L or H, the level
    that is updated.

    A lower-case h at the end computes z_H at position 0 alone, and returns [B, 1, D] for it.
    """
    z_L, z_H = (z.clone(memory_format=torch.contiguous_format) for z in (z_L, z_H))
    B, S, D = z_H.shape
    levels = [ctypes.byref(level.ready(B, S)) for level in (low, high)]
    scratch, x = torch.empty(max(library().scratch_floats(level) for level in levels)), x_BSD.contiguous()
    library().cycles(*levels, z_L.data_ptr(), z_H.data_ptr(), x.data_ptr(), plan.encode(), scratch.data_ptr())
    return z_L, z_H.view(-1)[: B * D].view(B, 1, D) if plan.endswith("h") else z_H


class NativeStep:
    """Training steps of a model, but for the optimizers.

    The gradients of all parameters lie in one buffer, of which every `grad` is a view.
    """

    def __init__(self, model: HRM, low: NativeLevel, high: NativeLevel) -> None:
        arch, core = model.arch, model.core
        assert core.q_head.bias is not None
        self.low, self.high, self.params = low, high, list(model.parameters())
        self.flat = torch.zeros(sum(p.numel() for p in self.params))
        parts = torch.split(self.flat, [p.numel() for p in self.params])
        self.grads = [part.view_as(p) for part, p in zip(parts, self.params, strict=True)]
        at = {id(p): grad for p, grad in zip(self.params, self.grads, strict=True)}
        for level in (low, high):
            level.gradients_to([at[id(weight)] for weight in level.weights])
        self.puzzles = model.puzzle_emb
        asks_ahead = not arch.no_act_continue and arch.halt_max_steps > 1
        self.names = SUMS if asks_ahead else SUMS[:-1]
        position = None if model.embed_pos is None else model.embed_pos.weight
        table = None if self.puzzles is None else self.puzzles.table
        read = (
            model.embed_tokens.weight,
            position,
            table,
            core.lm_head.weight,
            core.q_head.weight,
            core.q_head.bias,
        )
        written = (
            model.embed_tokens.weight,
            position,
            core.lm_head.weight,
            core.q_head.weight,
            core.q_head.bias,
        )
        self.places = ModelPlaces(
            *(
                low.places,
                high.places,
                model.data.vocab_size,
                model.prefix_len,
                *((0, 0) if table is None else table.shape),
            ),
            *(arch.H_cycles, arch.L_cycles, arch.halt_max_steps, arch.full_backprop),
            *(
                REUSE if model.reuses else SEPARATE if asks_ahead else NONE,
                1,
                model.scale if position is None else model.scale / math.sqrt(2),
            ),
            *(address(tensor) for tensor in (*read, model.H_init, model.L_init)),
            *(None if p is None else address(at[id(p)]) for p in written),
        )
        self.arena = torch.empty(0)

    def __call__(
        self, carry: Carry, batch: Batch, least_B: Tensor, divisor: float, stablemax: bool
    ) -> Tensor:
        """Takes the step: changes `carry` in place, adds to the gradients of the loss over `divisor`.

        Args:
            least_B: int32, how many steps each row takes at least.

        Returns:
            The metrics' sums [len(names)], float64.

        Raises:
            InputError: the batch holds what the dataset does not declare.
        """
        B, S, _ = carry.z_H.shape
        if any(p.grad is None for p in self.params if p.requires_grad):
            self.flat.zero_()
            for p, grad in zip(self.params, self.grads, strict=True):
                p.grad = grad if p.requires_grad else None
        self.places.low, self.places.high = self.low.ready(B, S), self.high.ready(B, S)
        self.places.stablemax = stablemax
        floats = library().step_floats(ctypes.byref(self.places))
        if len(self.arena) < floats:
            self.arena = torch.empty(floats)
        rows = self.puzzles
        if rows is not None:
            rows.rows.grad = torch.empty_like(rows.rows)
        keys = ("inputs", "labels", "puzzle_identifiers")
        carry.current_data = {key: carry.current_data[key].to(torch.int32) for key in keys}
        new = [batch[key].to(torch.int32).contiguous() for key in keys]
        held = (carry.z_H, carry.z_L, carry.q_state, carry.steps, carry.halted, *carry.current_data.values())
        sums = torch.empty(len(SUMS), dtype=torch.float64)
        places = StepPlaces(
            *(address(tensor) for tensor in (*held, *new, least_B)),
            *((None, None) if rows is None else (address(rows.rows.grad), address(rows.row_ids))),
            *(1 / divisor, sums.data_ptr()),
        )
        wrong = library().step(ctypes.byref(self.places), ctypes.byref(places), self.arena.data_ptr())
        if wrong:
            raise InputError(
                f"{WRONG[wrong]} of the batch is not one that the dataset declares",
                hint="build the dataset again",
            )
        return sums[: len(self.names)]


def adam_atan2(
    params: list[Tensor],
    m: Tensor,
    v: Tensor,
    keep: float,
    betas: tuple[float, float],
    spread: float,
    rate: float,
) -> None:
    """p = p * keep - rate * atan2(m, spread * sqrt(v)) for all `params`, after their gradients went into the
    flat m and v."""
    grads = [torch.zeros_like(p) if p.grad is None else p.grad.contiguous() for p in params]
    sizes = (ctypes.c_long * len(params))(*(p.numel() for p in params))
    numbers = (keep, 1 - betas[0], 1 - betas[1], spread, rate)
    library().adam_atan2(
        len(params), sizes, pointers(params), pointers(grads), m.data_ptr(), v.data_ptr(), *numbers
    )
    torch.autograd.graph.increment_version(params)


def address(tensor: Tensor | None) -> int | None:
    """Where a tensor's numbers are."""
    assert tensor is None or tensor.is_contiguous()
    return None if tensor is None else tensor.data_ptr()


def pointers(tensors: Any) -> Any:
    """The addresses of `tensors` as C sees them."""
    found = [address(tensor) for tensor in tensors]
    return (_POINTER * len(found))(*found)
