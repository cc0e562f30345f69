"""One ACT step without the embeddings: the cycles of the two levels, and the heads.

Shape suffixes: B batch, S positions (puzzle prefix, then tokens), D hidden size, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..data.info import DataInfo
from .arch import ArchConfig
from .attention import Cache, Rotary, RotaryEmbedding
from .block import Block
from .layers import Linear
from .step import Kernels

Q_BIAS = -5.0  # both values start near "neither": halting is learned, not guessed


class Level(nn.Module):
    """A stack of blocks that takes the other level's state as an injection."""

    def __init__(self, blocks: list[Block]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(blocks)

    def forward(
        self,
        state_BSD: Tensor,
        injection_BSD: Tensor,
        rotary: Rotary | None,
        cache: Cache | None = None,
        first: bool = False,
    ) -> Tensor:
        """The new state [B, S, D]; with `first` only position 0, [B, 1, D]: the last block need not compute
        the rest."""
        x = state_BSD + injection_BSD
        for index, block in enumerate(self.layers, 1):
            x = block(x, rotary, cache, first and index == len(self.layers))
        return x


class Core(nn.Module):
    """One ACT step: the cycles of the two levels and the heads. Compile this part
    (`model.core.compile()`)."""

    def __init__(self, arch: ArchConfig, data: DataInfo, attention: str) -> None:
        super().__init__()
        self.H_cycles, self.L_cycles = arch.H_cycles, arch.L_cycles
        self.full_backprop = arch.full_backprop
        self.causal = arch.causal
        # The halting values need one position. It is the first, which in a causal model has seen nothing:
        # there it is the last.
        self.q_place = -1 if arch.causal else 0
        self.short = not arch.causal
        length = data.seq_len + arch.prefix_len

        def level(count: int) -> Level:
            mix = length if arch.mlp_t else None
            sizes = (arch.hidden_size, arch.num_heads, arch.expansion, arch.rms_norm_eps)
            return Level([Block(*sizes, attention, mix, arch.causal) for _ in range(count)])

        self.L_level = level(arch.L_layers)
        self.H_level = None if arch.single_net else level(arch.H_layers)
        rope = arch.pos_encodings == "rope" and not arch.mlp_t
        self.rotary = (
            RotaryEmbedding(arch.hidden_size // arch.num_heads, length, arch.rope_theta) if rope else None
        )
        self.kernels: Kernels | None = None  # what takes the place of PyTorch's operations
        self.lm_head = Linear(arch.hidden_size, data.vocab_size)
        self.q_head = Linear(arch.hidden_size, 2, bias=True)
        with torch.no_grad():
            self.q_head.weight.zero_()
            assert self.q_head.bias is not None
            self.q_head.bias.fill_(Q_BIAS)

    def forward(
        self, z_H: Tensor, z_L: Tensor, x_BSD: Tensor, logits: bool = True, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Returns (z_H, z_L, q float32 [B, 2] as halt and continue, logits [B, S, V]).

        Without `logits` only q is wanted: the logits are None and z_H may be that of the first position
        alone.
        """
        rotary = None if self.rotary is None else self.rotary()
        if rotary is not None and self.causal:
            begin = 0 if cache is None else cache.length
            here = slice(
                begin, begin + x_BSD.shape[1]
            )  # a causal model also takes fewer tokens than the dataset's length
            rotary = rotary[0][here], rotary[1][here]
        if self.kernels is None or cache is not None or torch.is_grad_enabled():
            z_H, z_L = self._passes(z_H, z_L, x_BSD, rotary, logits, cache)
        else:
            plan = ("L" * self.L_cycles + "H") * self.H_cycles
            z_L, z_H = self.kernels.passes(z_L, z_H, x_BSD, plan if logits else plan[:-1] + "h")
        return z_H, z_L, self.q_head(z_H[:, self.q_place]).float(), self.lm_head(z_H) if logits else None

    def _passes(
        self,
        z_H: Tensor,
        z_L: Tensor,
        x_BSD: Tensor,
        rotary: Rotary | None,
        logits: bool,
        cache: Cache | None,
    ) -> tuple[Tensor, Tensor]:
        L_level: Level = self.L_level
        H_level: Level = self.L_level if self.H_level is None else self.H_level
        with torch.no_grad():
            for _ in range(self.H_cycles - 1):
                injection = z_H + x_BSD
                for _ in range(self.L_cycles):
                    z_L = L_level(z_L, injection, rotary, cache)
                z_H = H_level(z_H, z_L, rotary, cache)
        # HRM's one-step gradient reaches the last pass of each level; TRM's goes through the whole last
        # cycle.
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.full_backprop):
            if self.L_cycles > 1:
                injection = z_H + x_BSD
                for _ in range(self.L_cycles - 1):
                    z_L = L_level(z_L, injection, rotary, cache)
        z_L = L_level(z_L, z_H + x_BSD, rotary, cache)
        return H_level(z_H, z_L, rotary, cache, not logits and self.short), z_L
