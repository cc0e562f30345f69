"""The levels of a small model in C on one CPU thread (`kernels/`), instead of in PyTorch's operations.

The C compiler of the machine builds the kernels when they are first wanted, which takes seconds; the result is kept in the user's
cache folder. Where there is no compiler, or the model is of another kind, PyTorch's operations do the same work.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hrmdoc.errors import ConfigError

from .layers import Block, Rotary, inner_size

FOLDER = Path(__file__).with_name("kernels")
# No -ffast-math: it would break the rounding that exp relies on, and numbers that are no numbers must stay so.
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
BUILD_S = 120
NO_MEMORY = "no memory for the intermediate values of a level"
STRIP = 16  # columns that the kernels work on together: the hidden size has to be a multiple


class Shape(ctypes.Structure):
    """`Shape` of kernels/level.c."""

    _fields_ = (*((name, ctypes.c_long) for name in ("B", "S", "D", "H", "I", "layers")), ("eps", ctypes.c_float))


def obstacle(hidden_size: int, *, causal: bool, mlp_t: bool, dtype: torch.dtype = torch.float32) -> str | None:
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
        raise ConfigError(f"the native kernels cannot be loaded: {error}", hint="native=false trains without them") from error
    kernels.saved_floats.restype = ctypes.c_long
    pointer, shape = ctypes.c_void_p, ctypes.POINTER(Shape)
    kernels.saved_floats.argtypes = [shape]
    kernels.pack.argtypes = [pointer, ctypes.c_long, ctypes.c_long, pointer, pointer]
    kernels.level_forward.argtypes = [shape, *([pointer] * 7)]
    kernels.adam_atan2.argtypes = [ctypes.c_long, *([pointer] * 4), *([ctypes.c_float] * 5)]
    kernels.cycles.argtypes = [shape, shape, *([pointer] * 7), ctypes.c_char_p]
    kernels.level_backward.argtypes = [shape, *([pointer] * 6)]
    return kernels


def built(env: Mapping[str, str]) -> Path:
    compiler = next(
        (
            found
            for name in (env.get("CC", ""), "cc", "gcc", "clang")
            if name and (found := shutil.which(name, path=env.get("PATH")))
        ),
        None,
    )
    if compiler is None:
        raise ConfigError(
            "the native kernels need a C compiler, and none is on the PATH", hint="native=false trains without them"
        )
    # -march=native ties the result to this kind of processor, and a home folder may be shared by machines of several kinds.
    folder = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hrmdoc"
    try:
        sources = sorted(FOLDER.glob("*.[ch]"))
        text = "\0".join((*(source.read_text(encoding="utf-8") for source in sources), *FLAGS, compiler, _processor()))
        library = folder / f"kernels-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        if library.is_file():
            return library
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = Path(place) / "kernels.so"
            command = [compiler, *FLAGS, "-o", str(made), *(str(source) for source in sources if source.suffix == ".c"), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
                raise ConfigError(f"{compiler} cannot build the native kernels: {why}", file=FOLDER, hint="native=false")
            made.replace(library)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the native kernels cannot be built: {error}", file=folder, hint="native=false") from error
    return library


def _processor() -> str:
    """What tells kinds of processors apart."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.processor()} {flags}"


class NativeLevel:
    """Passes through a stack of blocks. The weights stay the blocks' own; a copy in the kernels' order follows them."""

    def __init__(self, layers: nn.ModuleList, num_heads: int, expansion: float) -> None:
        blocks = [block for block in layers if isinstance(block, Block)]
        self.heads, self.eps = num_heads, blocks[0].eps
        self.weights: list[Tensor] = []
        for block in blocks:
            assert block.attention is not None
            self.weights += [
                block.attention.qkv.weight,
                block.attention.out.weight,
                block.mlp.gate_up.weight,
                block.mlp.down.weight,
            ]
        self.layers, self.size = len(blocks), self.weights[1].shape[0]
        self.inner = inner_size(self.size, expansion)
        self.library = library()
        self._shape = Shape()
        self._packs: list[tuple[Tensor, Tensor]] = []
        self._packed: list[tuple[int, int]] = []
        self.pointers: Any = None

    def __call__(self, state_BSD: Tensor, injection_BSD: Tensor, rotary: Rotary | None) -> Tensor:
        """The new state [B, S, D], with its gradient."""
        self.repack()
        return _Pass.apply(self, rotary, state_BSD, injection_BSD, *self.weights)  # type: ignore[no-any-return, no-untyped-call]

    def shape(self, state_BSD: Tensor) -> Shape:
        B, S, D = state_BSD.shape
        if self._shape.B != B or self._shape.S != S:
            self._shape = Shape(B, S, D, self.heads, self.inner, self.layers, self.eps)
        return self._shape

    def forward(self, state_BSD: Tensor, injection_BSD: Tensor, rotary: Rotary | None, save: Tensor) -> Tensor:
        """One pass; `save` receives what `backward` needs."""
        state, injection = state_BSD.contiguous(), injection_BSD.contiguous()
        out = torch.empty_like(state)
        arguments = (state.data_ptr(), injection.data_ptr(), out.data_ptr(), save.data_ptr())
        if self.library.level_forward(self.shape(state), self.pointers, *_angles(rotary), *arguments):
            raise MemoryError(NO_MEMORY)
        return out

    def backward(self, save: Tensor, grad_BSD: Tensor, rotary: Rotary | None) -> tuple[Tensor, list[Tensor]]:
        """The gradients of state and injection (they are the same) and of the weights."""
        grad = grad_BSD.clone(memory_format=torch.contiguous_format)
        flat = grad.new_zeros(sum(weight.numel() for weight in self.weights))
        parts = [
            part.view_as(weight)
            for part, weight in zip(torch.split(flat, [w.numel() for w in self.weights]), self.weights, strict=True)
        ]
        pointers = (ctypes.c_void_p * len(parts))(*(part.data_ptr() for part in parts))
        arguments = (save.data_ptr(), grad.data_ptr(), pointers)
        if self.library.level_backward(self.shape(grad), self.pointers, *_angles(rotary), *arguments):
            raise MemoryError(NO_MEMORY)
        return grad, parts

    def repack(self) -> None:
        """Copies the weights into the kernels' order, if they have changed since."""
        now = [(weight.data_ptr(), weight._version) for weight in self.weights]
        if now == self._packed:
            return
        if not self._packs:
            rounded = [(o, i, -(-o // STRIP) * STRIP, -(-i // STRIP) * STRIP) for o, i in (w.shape for w in self.weights)]
            self._packs = [(torch.empty(wide_o * i), torch.empty(o * wide_i)) for o, i, wide_o, wide_i in rounded]
            blocks = [self._packs[at : at + 4] for at in range(0, len(self._packs), 4)]
            pointers = [pack[way].data_ptr() for block in blocks for way in (0, 1) for pack in block]
            self.pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        for weight, (ahead, back) in zip(self.weights, self._packs, strict=True):
            self.library.pack(weight.data_ptr(), *weight.shape, ahead.data_ptr(), back.data_ptr())
        self._packed = now


def cycles(
    low: NativeLevel, high: NativeLevel, z_L: Tensor, z_H: Tensor, x_BSD: Tensor, rotary: Rotary | None, plan: str
) -> tuple[Tensor, Tensor]:
    """The states (z_L, z_H) after passes without gradient, one for each letter of `plan`: L or H, the level that is updated.

    A lower-case h at the end computes z_H at position 0 alone, and returns [B, 1, D] for it.
    """
    z_L, z_H = (z.detach().clone(memory_format=torch.contiguous_format) for z in (z_L, z_H))
    if not plan:
        return z_L, z_H
    low.repack()
    high.repack()
    x = x_BSD.detach().contiguous()
    states = (z_L.data_ptr(), z_H.data_ptr(), x.data_ptr())
    shapes = (low.shape(z_L), high.shape(z_H))
    if low.library.cycles(*shapes, low.pointers, high.pointers, *_angles(rotary), *states, plan.encode()):
        raise MemoryError(NO_MEMORY)
    B, _, D = z_H.shape
    return z_L, z_H.view(-1)[: B * D].view(B, 1, D) if plan.endswith("h") else z_H


def adam_atan2(
    params: list[Tensor], m: Tensor, v: Tensor, keep: float, betas: tuple[float, float], spread: float, rate: float
) -> None:
    """p = p * keep - rate * atan2(m, spread * sqrt(v)) for all `params`, after their gradients went into the flat m and v."""
    kernels, at = library(), 0
    for p in params:
        grad = torch.zeros_like(p) if p.grad is None else p.grad.contiguous()
        places = (p.data_ptr(), grad.data_ptr(), m.data_ptr() + 4 * at, v.data_ptr() + 4 * at)
        kernels.adam_atan2(p.numel(), *places, keep, 1 - betas[0], 1 - betas[1], spread, rate)
        at += p.numel()
    torch.autograd.graph.increment_version(params)


class _Pass(torch.autograd.Function):
    """A pass that is differentiated."""

    @staticmethod
    def forward(
        ctx: Any, level: NativeLevel, rotary: Rotary | None, state_BSD: Tensor, injection_BSD: Tensor, *weights: Tensor
    ) -> Tensor:
        del weights
        save = state_BSD.new_empty(level.library.saved_floats(level.shape(state_BSD)))
        ctx.level, ctx.rotary = level, rotary
        ctx.save_for_backward(save)
        return level.forward(state_BSD, injection_BSD, rotary, save)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_BSD: Tensor) -> tuple[Any, ...]:
        (save,) = ctx.saved_tensors
        grad, weights = ctx.level.backward(save, grad_BSD, ctx.rotary)
        return None, None, grad, grad, *weights


def _angles(rotary: Rotary | None) -> tuple[int | None, int | None]:
    return (None, None) if rotary is None else (rotary[0].data_ptr(), rotary[1].data_ptr())
