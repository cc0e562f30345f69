"""A transformer block."""

from __future__ import annotations

from torch import Tensor, nn

from .attention import Attention, Cache, Rotary
from .layers import SwiGLU, rms_norm


class Block(nn.Module):
    """A post-norm transformer block. With `mix_length` an MLP over that many positions takes the place of
    attention (TRM)."""

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        expansion: float,
        eps: float,
        backend: str = "sdpa",
        mix_length: int | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.attention = (
            None if mix_length is not None else Attention(hidden_size, num_heads, backend, causal)
        )
        self.mixer = None if mix_length is None else SwiGLU(mix_length, expansion)
        self.mlp = SwiGLU(hidden_size, expansion)

    def forward(
        self, x_BSD: Tensor, rotary: Rotary | None, cache: Cache | None = None, first: bool = False
    ) -> Tensor:
        """[B, S, D]; with `first` only position 0, [B, 1, D], at a fraction of the work."""
        if self.mixer is not None:
            x_BDS = x_BSD.transpose(1, 2)
            x = rms_norm(x_BDS + self.mixer(x_BDS), self.eps).transpose(
                1, 2
            )  # normed over the positions, as TRM does
            x = x[:, :1] if first else x
        else:
            assert self.attention is not None
            x = rms_norm(
                (x_BSD[:, :1] if first else x_BSD) + self.attention(x_BSD, rotary, cache, first), self.eps
            )
        return rms_norm(x + self.mlp(x), self.eps)
