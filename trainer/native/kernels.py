"""Whole training steps and evaluation of a small model in C, instead of in PyTorch's operations."""

from __future__ import annotations

import ctypes
import math

import torch
from torch import Tensor

from hrmdoc.errors import InputError

from ..model.hrm import HRM
from ..model.step import Batch, Carry, MomentStep, Sums
from .adam import adam_atan2
from .level import Level
from .places import ModelPlaces, StepPlaces, address, library

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
UNDECLARED = {1: "a token", 2: "a puzzle identifier", 3: "a label"}  # by what the kernel `step` returns
SEPARATE, REUSE, NONE = range(3)  # where the value of going on comes from


class CKernels:
    """The kernels at work for one model (their interface is `model.step.Kernels`).

    The gradients of all parameters lie in one buffer, of which every `grad` is a view.
    """

    def __init__(self, model: HRM) -> None:
        core, heads, expansion = model.core, model.arch.num_heads, model.arch.expansion
        rotary = None if core.rotary is None else core.rotary()
        self.low = Level(core.L_level.layers, heads, expansion, rotary)
        self.high = self.low if core.H_level is None else Level(core.H_level.layers, heads, expansion, rotary)
        self.params = list(model.parameters())
        sizes = [p.numel() for p in self.params]
        self.gradients = torch.zeros(sum(sizes))
        parts = torch.split(self.gradients, sizes)
        self.grads = [part.view_as(p) for part, p in zip(parts, self.params, strict=True)]
        self.puzzles = model.puzzle_emb
        asks_ahead = not model.arch.no_act_continue and model.arch.halt_max_steps > 1
        self.names = SUMS if asks_ahead else SUMS[:-1]
        self.places = self._places(model, REUSE if model.reuses else SEPARATE if asks_ahead else NONE)
        self.arena = torch.empty(0)
        self.adam_atan2: MomentStep = adam_atan2

    def _places(self, model: HRM, target: int) -> ModelPlaces:
        """The model as the kernels see it."""
        arch, core = model.arch, model.core
        assert core.q_head.bias is not None
        grad_of = {id(p): grad for p, grad in zip(self.params, self.grads, strict=True)}
        for level in (self.low, self.high):
            level.gradients_to([grad_of[id(weight)] for weight in level.weights])
        position = None if model.embed_pos is None else model.embed_pos.weight
        table = None if self.puzzles is None else self.puzzles.table
        tokens, heads = model.embed_tokens.weight, (core.lm_head.weight, core.q_head.weight, core.q_head.bias)
        read = (tokens, position, table, *heads, model.H_init, model.L_init)
        written = (tokens, position, *heads)
        return ModelPlaces(
            *(self.low.places, self.high.places, model.data.vocab_size, model.prefix_len),
            *((0, 0) if table is None else table.shape),
            *(arch.H_cycles, arch.L_cycles, arch.halt_max_steps, arch.full_backprop, target, 1),
            model.scale if position is None else model.scale / math.sqrt(2),
            *(address(tensor) for tensor in read),
            *(None if p is None else address(grad_of[id(p)]) for p in written),
        )

    def passes(self, z_L: Tensor, z_H: Tensor, x_BSD: Tensor, plan: str) -> tuple[Tensor, Tensor]:
        """The states (z_L, z_H) after passes without gradient, one for each letter of `plan`: L or H, the
        level that is updated.

        A lower-case h at the end computes z_H at position 0 alone, and returns [B, 1, D] for it.
        """
        z_L, z_H = (z.clone(memory_format=torch.contiguous_format) for z in (z_L, z_H))
        B, S, D = z_H.shape
        levels = [ctypes.byref(level.ready(B, S)) for level in (self.low, self.high)]
        scratch, x = torch.empty(max(library().scratch_floats(level) for level in levels)), x_BSD.contiguous()
        library().cycles(
            *levels, z_L.data_ptr(), z_H.data_ptr(), x.data_ptr(), plan.encode(), scratch.data_ptr()
        )
        return z_L, z_H.view(-1)[: B * D].view(B, 1, D) if plan.endswith("h") else z_H

    def step(self, carry: Carry, batch: Batch, least_B: Tensor, divisor: float, stablemax: bool) -> Sums:
        """A training step but for the optimizers: changes `carry` in place, adds to the gradients of the
        loss over `divisor`.

        Args:
            least_B: int32, how many steps each row takes at least.

        Raises:
            InputError: the batch holds what the dataset does not declare.
        """
        B, S, _ = carry.z_H.shape
        self._lend_gradients()
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
                f"{UNDECLARED[wrong]} of the batch is not one that the dataset declares",
                hint="build the dataset again",
            )
        return Sums(self.names, sums[: len(self.names)])

    def _lend_gradients(self) -> None:
        """Gives the parameters their views of the buffer, emptied, once the last step's were forgotten."""
        if any(p.grad is None for p in self.params if p.requires_grad):
            self.gradients.zero_()
            for p, grad in zip(self.params, self.grads, strict=True):
                p.grad = grad if p.requires_grad else None
