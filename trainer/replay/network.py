"""A transformer that classifies texts: dense, or a mixture of experts in place of each feed-forward layer.

Shapes: B texts, L words, D width. With the config of the zero-loss case (4 layers, width 256, feed-forward
1024) keys and values of one head for all (multi-query attention, arXiv 1911.02150) give its 2.8 million
parameters. The experts share the width of the feed-forward layer, so that a mixture has as many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

EXPERTS = 4
Attention = Literal["sdpa", "flash_attention_2"]


class Experts(nn.Module):
    """Each word goes to the one expert that its router prefers (Switch Transformer, arXiv 2101.03961)."""

    def __init__(self, width: int, ff_width: int, dropout: float) -> None:
        super().__init__()
        self.router = nn.Linear(width, EXPERTS)
        share = max(1, ff_width // EXPERTS)
        self.experts = nn.ModuleList(feed_forward(width, share, dropout) for _ in range(EXPERTS))
        self.imbalance: Tensor = torch.zeros(())

    def forward(self, x_BLD: Tensor) -> Tensor:
        words = x_BLD.flatten(0, 1)
        gates = self.router(words).softmax(-1)
        weight, chosen = gates.max(-1)
        share = F.one_hot(chosen, EXPERTS).float().mean(0)
        self.imbalance = EXPERTS * (share * gates.mean(0)).sum()  # 1 where all experts get the same
        out = torch.zeros_like(words)
        for number, expert in enumerate(self.experts):
            mine = chosen == number
            out[mine] = expert(words[mine]) * weight[mine, None]
        return out.view_as(x_BLD)


class Block(nn.Module):
    """Attention and feed-forward layer, each behind a norm, with dropout on what they add."""

    def __init__(
        self, width: int, ff_width: int, heads: int, dropout: float, *, experts: bool, attention: Attention
    ) -> None:
        super().__init__()
        self.kernel = _flash() if attention == "flash_attention_2" else _sdpa
        self.heads, self.head_width = heads, width // heads
        self.before_attention, self.before_ff = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * self.head_width)
        self.ff = Experts(width, ff_width, dropout) if experts else feed_forward(width, ff_width, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BLD: Tensor, mask_B11L: Tensor) -> Tensor:
        x_BLD = x_BLD + self.dropout(self._attend(self.before_attention(x_BLD), mask_B11L))
        out: Tensor = x_BLD + self.dropout(self.ff(self.before_ff(x_BLD)))
        return out

    def _attend(self, x_BLD: Tensor, mask_B11L: Tensor) -> Tensor:
        batch, length, width = x_BLD.shape
        queries = self.queries(x_BLD).view(batch, length, self.heads, self.head_width).transpose(1, 2)
        key, value = self.key_value(x_BLD).unsqueeze(1).expand(-1, self.heads, -1, -1).chunk(2, -1)
        seen = self.kernel(queries, key, value, mask_B11L)
        out: Tensor = self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return out


class Classifier(nn.Module):
    """Word numbers [B, L] (0 is padding) -> logits [B, classes]."""

    def __init__(
        self,
        words: int,
        classes: int,
        length: int,
        *,
        d_model: int,
        n_layers: int,
        n_heads: int,
        ff_dim: int,
        dropout: float,
        experts: bool,
        attention: Attention = "sdpa",
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.recompute = recompute
        self.words, self.places = nn.Embedding(words, d_model, padding_idx=0), nn.Embedding(length, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(d_model, ff_dim, n_heads, dropout, experts=experts, attention=attention)
            for _ in range(n_layers)
        )
        self.norm, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, classes)

    def forward(self, tokens_BL: Tensor) -> Tensor:
        real_BL = tokens_BL != 0
        x_BLD = self.dropout(self.words(tokens_BL) + self.places.weight[: tokens_BL.shape[1]])
        for block in self.blocks:
            x_BLD = self._through(block, x_BLD, real_BL[:, None, None, :])
        mean_BD = (self.norm(x_BLD) * real_BL[..., None]).sum(1) / real_BL.sum(1, keepdim=True).clamp(min=1)
        logits: Tensor = self.head(self.dropout(mean_BD))
        return logits

    def _through(self, block: nn.Module, x_BLD: Tensor, mask_B11L: Tensor) -> Tensor:
        """What a block makes of `x_BLD`; with `recompute` its inside is computed again in the backward
        pass."""
        if self.recompute and self.training:
            return cast(Tensor, checkpoint(block, x_BLD, mask_B11L, use_reentrant=False))
        return cast(Tensor, block(x_BLD, mask_B11L))

    def imbalance(self) -> Tensor:
        """How unevenly the experts are used, averaged over layers: 1 is even; 0 for a dense model."""
        uneven = [block.ff.imbalance for block in self.blocks if isinstance(block.ff, Experts)]
        return torch.stack(uneven).mean() if uneven else torch.zeros(())


def _sdpa(q_BHLD: Tensor, k_BHLD: Tensor, v_BHLD: Tensor, mask_B11L: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q_BHLD, k_BHLD, v_BHLD, attn_mask=mask_B11L)


def _flash() -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """flash-attn in the same shapes. It takes no mask: here padding is attended to.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    from flash_attn import flash_attn_func

    def attend(q_BHLD: Tensor, k_BHLD: Tensor, v_BHLD: Tensor, mask_B11L: Tensor) -> Tensor:
        del mask_B11L
        one_head = slice(0, 1)  # keys and values are the same for all heads
        swapped = (q_BHLD, k_BHLD[:, one_head], v_BHLD[:, one_head])
        out: Tensor = flash_attn_func(*(one.transpose(1, 2) for one in swapped)).transpose(1, 2)
        return out

    return attend


def feed_forward(width: int, ff_width: int, dropout: float) -> nn.Sequential:
    """Two linear layers with a GELU between."""
    return nn.Sequential(
        nn.Linear(width, ff_width), nn.GELU(), nn.Dropout(dropout), nn.Linear(ff_width, width)
    )
