"""Multi-head attention with rotary positions, and the cache for generating token by token.

Shape suffixes: B batch, S sequence, D hidden size, H heads, K size of a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hrmdoc.errors import ConfigError, did_you_mean

from .layers import Linear, cast

Rotary = tuple[Tensor, Tensor]


class RotaryEmbedding(nn.Module):
    """Rotary position embedding, half-split: channel i turns with channel i + K/2 by the angle position *
    theta^(-2i/K).

    `forward` gives (cos, signed sin), each [S, 1, K] float32; the first half of the sine carries the minus of
    the rotation.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int, length: int, theta: float) -> None:
        super().__init__()
        frequency = 1.0 / theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
        angle = torch.outer(torch.arange(length, dtype=torch.float32), frequency)
        self.register_buffer("cos", torch.cat((angle.cos(), angle.cos()), -1).unsqueeze(1), persistent=False)
        self.register_buffer("sin", torch.cat((-angle.sin(), angle.sin()), -1).unsqueeze(1), persistent=False)

    def forward(self) -> Rotary:
        return self.cos, self.sin


def rotate(x_BSHK: Tensor, rotary: Rotary) -> Tensor:
    """`x` turned by its position, in float32, returned in its own dtype."""
    cos, sin = rotary
    x = cast(x_BSHK, cos.dtype)
    return cast(torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin), x_BSHK.dtype)


def _sdpa(q_BSHK: Tensor, k_BSHK: Tensor, v_BSHK: Tensor, causal: bool = False) -> Tensor:
    # scaled_dot_product_attention attends over the second last axis: without the transposes it would mix
    # heads.
    q, k, v = q_BSHK.transpose(1, 2), k_BSHK.transpose(1, 2), v_BSHK.transpose(1, 2)
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)


def _naive(q_BSHK: Tensor, k_BSHK: Tensor, v_BSHK: Tensor, causal: bool = False) -> Tensor:
    score_BHQS = torch.einsum("bqhk,bshk->bhqs", q_BSHK, k_BSHK) * q_BSHK.shape[-1] ** -0.5
    if causal:
        later = torch.ones(score_BHQS.shape[-2:], dtype=torch.bool, device=score_BHQS.device).triu(1)
        score_BHQS = score_BHQS.masked_fill(later, -math.inf)
    return torch.einsum("bhqs,bshk->bqhk", score_BHQS.softmax(-1), v_BSHK)


def _flash(q_BSHK: Tensor, k_BSHK: Tensor, v_BSHK: Tensor, causal: bool = False) -> Tensor:
    from flash_attn import flash_attn_func

    out: Tensor = flash_attn_func(q_BSHK, k_BSHK, v_BSHK, causal=causal)
    return out


BACKENDS: dict[str, Callable[..., Tensor]] = {"sdpa": _sdpa, "flash": _flash, "naive": _naive}


def check_backend(name: str, dtype: torch.dtype) -> None:
    """Refuses an attention backend that does not exist, is not installed, or cannot compute in `dtype`."""
    if name not in BACKENDS:
        raise ConfigError(
            f"unknown attention backend {name!r}",
            hint=did_you_mean(name, BACKENDS) or f"one of: {', '.join(BACKENDS)}",
        )
    if name != "flash":
        return
    if dtype not in (torch.float16, torch.bfloat16):
        raise ConfigError(
            "attention backend 'flash' computes in float16 or bfloat16 only", hint="use attention 'sdpa'"
        )
    try:
        import flash_attn  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"attention backend 'flash' cannot be used: {error}", hint="install flash-attn, or use 'sdpa'"
        ) from error


class Cache:
    """Keys and values of the positions seen so far, for generating token by token with a causal model.

    HRM passes its blocks many times for one token, and each pass has keys of its own: the entries are kept in
    the order of the calls, and `rewind` goes back to the first before the next token.
    """

    def __init__(self) -> None:
        self.length = 0
        self._entries: list[tuple[Tensor, Tensor]] = []
        self._next = 0

    def extend(self, k_BSHK: Tensor, v_BSHK: Tensor) -> tuple[Tensor, Tensor]:
        """Appends the new positions to this call's entry and returns all of it."""
        if self._next < len(self._entries):
            old_k, old_v = self._entries[self._next]
            k_BSHK, v_BSHK = torch.cat((old_k, k_BSHK), 1), torch.cat((old_v, v_BSHK), 1)
            self._entries[self._next] = (k_BSHK, v_BSHK)
        else:
            self._entries.append((k_BSHK, v_BSHK))
        self._next += 1
        return k_BSHK, v_BSHK

    def rewind(self, added: int) -> None:
        """Ends the passes over `added` new positions."""
        self.length, self._next = self.length + added, 0

    def expand(self, rows: int) -> None:
        """Gives the one row that was read to each of `rows` rows, which go on in different ways."""
        self._entries = [
            (k.expand(rows, *k.shape[1:]), v.expand(rows, *v.shape[1:])) for k, v in self._entries
        ]


class Attention(nn.Module):
    """Multi-head attention with one fused query-key-value projection, no biases, no dropout; `causal` hides
    later positions."""

    def __init__(self, hidden_size: int, num_heads: int, backend: str = "sdpa", causal: bool = False) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.backend: Callable[..., Tensor] = (
            partial(BACKENDS[backend], causal=True) if causal else BACKENDS[backend]
        )
        self.qkv = Linear(hidden_size, 3 * hidden_size)
        self.out = Linear(hidden_size, hidden_size)

    def forward(
        self, x_BSD: Tensor, rotary: Rotary | None, cache: Cache | None = None, first: bool = False
    ) -> Tensor:
        """[B, S, D]; with `first` only position 0, [B, 1, D]."""
        if first:
            return self._first(x_BSD, rotary)
        B, S, D = x_BSD.shape
        H = self.num_heads
        qkv = self.qkv(x_BSD).view(B, S, 3 * H, D // H)
        qk, v = qkv.split((2 * H, H), 2)
        q, k = (qk if rotary is None else rotate(qk, rotary)).split(H, 2)
        if cache is None or cache.length == 0:
            if cache is not None:
                cache.extend(k, v)
            return self.out(self.backend(q, k, v).reshape(B, S, D))  # type: ignore[no-any-return]
        assert S == 1, (
            "after the prompt, tokens come one at a time: a single query sees every key, so no mask is needed"
        )
        return self.out(_sdpa(q, *cache.extend(k, v)).reshape(B, S, D))  # type: ignore[no-any-return]

    def _first(self, x_BSD: Tensor, rotary: Rotary | None) -> Tensor:
        """The other positions only give their keys and values."""
        B, S, D = x_BSD.shape
        H = self.num_heads
        q = F.linear(x_BSD[:, :1], cast(self.qkv.weight[:D], x_BSD.dtype)).view(B, 1, H, D // H)
        kv = F.linear(x_BSD, cast(self.qkv.weight[D:], x_BSD.dtype)).view(B, S, 2 * H, D // H)
        k, v = kv.chunk(2, 2)
        if rotary is not None:
            cos, sin = rotary
            q, k = rotate(q, (cos[:1], sin[:1])), rotate(k, rotary)
        return self.out(self.backend(q, k, v).reshape(B, 1, D))  # type: ignore[no-any-return]
