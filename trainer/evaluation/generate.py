"""Text from a causal HRM, token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hrmdoc.errors import ConfigError

from ..model.attention import Cache
from ..model.hrm import HRM


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is chosen: the likeliest at temperature 0; else drawn from softmax(logits / temperature).

    Of the drawn ones only the likeliest that together have the probability `top_p` are considered (nucleus
    sampling, Holtzman et al. 2020, arXiv 1904.09751).
    """

    temperature: float = 0.0
    top_p: float = 1.0


GREEDY = Sampling()
NUCLEUS = (512, 8192)
"""Tokens among which the nucleus mostly is: of a model that has learned, and of a weak one."""


def generate(
    model: HRM,
    prompt: Sequence[int],
    count: int,
    end: int,
    *,
    sampling: Sampling = GREEDY,
    generator: torch.Generator | None = None,
    cached: bool = True,
) -> list[int]:
    """The one continuation that `generate_many` gives for one sample."""
    return generate_many(model, prompt, count, end, 1, sampling=sampling, generator=generator, cached=cached)[
        0
    ]


@torch.no_grad()
def generate_many(
    model: HRM,
    prompt: Sequence[int],
    count: int,
    end: int,
    samples: int,
    *,
    sampling: Sampling = GREEDY,
    generator: torch.Generator | None = None,
    cached: bool = True,
) -> list[list[int]]:
    """`samples` continuations of `prompt`, each up to `count` tokens, ended before the token `end` and at the
    model's length.

    Every token takes the full number of ACT steps. With `cached` the prompt is read once for all samples and
    the keys and values of all passes are kept, so that a token costs one position in each pass; the result is
    the same.

    Raises:
        ConfigError: the model sees later tokens, so it cannot be asked for the next one.
    """
    if not model.arch.causal:
        raise ConfigError("only a causal model generates text", hint="train with arch.causal=true")
    cache = Cache() if cached else None

    def read(tokens_BS: Tensor) -> Tensor:
        return _last_logits(model, tokens_BS, cache)

    room = min(count, model.data.seq_len - len(prompt))
    training = model.training
    model.eval()
    try:
        return draw(
            *(read, cache.expand if cache is not None else lambda _: None),
            prompt=torch.tensor([list(prompt)], device=model.H_init.device),
            count=room,
            end=end,
            samples=samples,
            sampling=sampling,
            generator=generator,
        )
    finally:
        model.train(training)


def draw(
    read: Callable[[Tensor], Tensor],
    widen: Callable[[int], None],
    *,
    prompt: Tensor,
    count: int,
    end: int,
    samples: int,
    sampling: Sampling,
    generator: torch.Generator | None,
) -> list[list[int]]:
    """`samples` continuations of `prompt` [1, S] by any model, each up to `count` tokens and ended before
    `end`.

    Args:
        read: logits [B, V] after the last of the tokens [B, S].
        widen: gives what was kept of the one prompt to each of that many rows; called once, after the first
            `read`.
    """
    if not prompt.shape[1]:
        raise ValueError("a prompt needs at least one token")
    tokens = prompt
    ended = torch.zeros(samples, dtype=torch.bool, device=prompt.device)
    said: list[Tensor] = []
    while len(said) < count:
        logits = read(tokens)
        if not said:
            logits, tokens = logits.expand(samples, -1), tokens.expand(samples, -1)
            widen(samples)
        token = torch.where(ended, end, _pick(logits, sampling, generator))
        ended |= token == end
        if bool(ended.all()):
            break
        said.append(token)
        tokens = torch.cat((tokens, token[:, None]), 1)
    rows = torch.stack(said, 1).tolist() if said else [[] for _ in range(samples)]
    return [row[: row.index(end)] if end in row else row for row in rows]


def _last_logits(model: HRM, tokens_BS: Tensor, cache: Cache | None) -> Tensor:
    """Logits [B, V] after the last token. With a cache that holds something, only the new positions are
    computed."""
    ids = torch.full(
        (len(tokens_BS),), model.data.blank_identifier_id, dtype=torch.int32, device=tokens_BS.device
    )
    skip = cache.length if cache is not None else 0
    x = model.embed(tokens_BS, ids)[:, skip:]
    z_H, z_L = (state.expand_as(x) for state in (model.H_init, model.L_init))
    for _ in range(model.arch.halt_max_steps):
        z_H, z_L, _, _ = model.core(z_H, z_L, x, logits=False, cache=cache)
    if cache is not None:
        cache.rewind(x.shape[1])
    last: Tensor = model.core.lm_head(z_H[:, -1])
    return last


def _pick(logits_BV: Tensor, sampling: Sampling, generator: torch.Generator | None) -> Tensor:
    if sampling.temperature <= 0:
        return logits_BV.argmax(-1)
    shares = (logits_BV.float() / sampling.temperature).softmax(-1)
    if sampling.top_p >= 1:
        return torch.multinomial(shares, 1, generator=generator)[:, 0]
    likely, order = _likeliest(shares, sampling.top_p)
    before = likely.cumsum(-1) - likely  # what the likelier ones have together
    nucleus = likely.masked_fill(before >= sampling.top_p, 0.0)
    return order.gather(-1, torch.multinomial(nucleus, 1, generator=generator))[:, 0]


def _likeliest(shares_BV: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """The likeliest tokens, in order, that together have `top_p` in every row. To sort a large vocabulary
    takes longer than the model itself, so a part is tried first."""
    for width in NUCLEUS:
        if width < shares_BV.shape[-1]:
            likely, order = shares_BV.topk(width)
            if bool((likely.sum(-1) > top_p).all()):
                return likely, order
    return shares_BV.sort(-1, descending=True)
