"""Text from a causal HRM, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hrmdoc.errors import ConfigError

from .layers import Cache
from .model import HRM


@torch.no_grad()
def generate(
    model: HRM,
    prompt: Sequence[int],
    count: int,
    end: int,
    *,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    cached: bool = True,
) -> list[int]:
    """Up to `count` tokens that follow `prompt`, ended before the token `end` and at the model's sequence length.

    Every token takes the full number of ACT steps. With `cached` the keys and values of all passes are kept, so that a token
    costs one position in each pass; the result is the same.

    Args:
        temperature: 0 takes the likeliest token; above, tokens are drawn (softmax of logits / temperature).

    Raises:
        ConfigError: the model sees later tokens, so it cannot be asked for the next one.
    """
    if not model.arch.causal:
        raise ConfigError("only a causal model generates text", hint="train with arch.causal=true")
    device, training, tokens = model.H_init.device, model.training, list(prompt)
    cache, said = (Cache() if cached else None), list[int]()
    model.eval()
    try:
        while len(said) < count and len(tokens) < model.data.seq_len:
            logits_V = _last_logits(model, torch.tensor([tokens], device=device), cache)
            token = _pick(logits_V, temperature, generator)
            if token == end:
                break
            tokens.append(token)
            said.append(token)
    finally:
        model.train(training)
    return said


def _last_logits(model: HRM, tokens_BS: Tensor, cache: Cache | None) -> Tensor:
    """Logits after the last token. With a cache that holds something, only the new positions are computed."""
    ids = torch.full((1,), model.data.blank_identifier_id, dtype=torch.int32, device=tokens_BS.device)
    skip = cache.length if cache is not None else 0
    x = model.embed(tokens_BS, ids)[:, skip:]
    z_H, z_L = (state.expand_as(x) for state in (model.H_init, model.L_init))
    for _ in range(model.arch.halt_max_steps):
        z_H, z_L, _, logits = model.core(z_H, z_L, x, cache=cache)
    if cache is not None:
        cache.rewind(x.shape[1])
    assert logits is not None
    last: Tensor = logits[0, -1]
    return last


def _pick(logits_V: Tensor, temperature: float, generator: torch.Generator | None) -> int:
    if temperature <= 0:
        return int(logits_V.argmax())
    return int(torch.multinomial((logits_V.float() / temperature).softmax(-1), 1, generator=generator))
