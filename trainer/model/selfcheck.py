"""What a person who knows the model looks at before the first step: whether positions hear of one another at
all."""

from __future__ import annotations

import torch

from .hrm import HRM

LENGTH = 64  # positions of a causal model that are looked at; all of a puzzle
DEAF = 1e-4  # a change of the other half that moves the state by less, beside the own half's, does not arrive


@torch.no_grad()
def positions_mix(model: HRM) -> bool:
    """Whether the state of the later half of the positions depends on the tokens of the earlier half.

    Attention over a wrong axis, or a mask that hides everything, trains all the same, to the accuracy of what
    each position can guess by itself. Draws nothing, and leaves the model as it was.
    """
    training, info = model.training, model.data
    S = min(LENGTH, info.seq_len) if model.arch.causal else info.seq_len
    if S < 2 or info.vocab_size < 2:
        return True
    device = model.H_init.device
    first = torch.arange(S, device=device) % info.vocab_size
    second = torch.where(torch.arange(S, device=device) < S // 2, (first + 1) % info.vocab_size, first)
    tokens_BS = torch.stack((first, second)).to(torch.int32)
    model.eval()
    try:
        x = model.embed(tokens_BS, torch.zeros(2, dtype=torch.int32, device=device))
        z_H, z_L = (state.expand_as(x) for state in (model.H_init, model.L_init))
        state = model.core.forward(z_H, z_L, x, logits=not model.labelled_only)[
            0
        ].float()  # past any compiled call
    finally:
        model.train(training)
    apart_S = (state[0] - state[1]).abs().mean(-1)[model.prefix_len :]
    return not bool(apart_S[S // 2 :].mean() < DEAF * apart_S[: S // 2].mean())
