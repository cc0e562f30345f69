"""A tiny language model for training by reward, its task and its verifiable reward.

Shapes: B sequences, L tokens. The task: write the digits of the prompt in ascending order.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DIGITS = 6
"""Length of a prompt, and of its answer."""
BASE = 8
"""Digits are 0 to BASE - 1; BASE is the sign between prompt and answer."""
WIDTH, HEADS, LAYERS = 48, 4, 2


class Policy(nn.Module):
    """A causal transformer: tokens [B, L] -> logits of the next token [B, L, BASE]."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(BASE + 1, WIDTH), nn.Embedding(2 * DIGITS + 1, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, BASE)

    def forward(self, tokens_BL: Tensor) -> Tensor:
        length = tokens_BL.shape[1]
        mask_LL = nn.Transformer.generate_square_subsequent_mask(length)
        x_BLD = self.tokens(tokens_BL) + self.places.weight[:length]
        logits: Tensor = self.head(self.norm(self.blocks(x_BLD, mask=mask_LL, is_causal=True)))
        return logits

    def scores(self, sequences_BL: Tensor, temperature: float = 1.0) -> Tensor:
        """Log probabilities at each place of the answers that end the sequences [B, DIGITS, BASE]."""
        logits: Tensor = self(sequences_BL[:, :-1])[:, DIGITS:]
        return (logits / temperature).log_softmax(-1)


def prompts(count: int, seed: int) -> Tensor:
    """`count` prompts [count, DIGITS]."""
    return torch.randint(BASE, (count, DIGITS), generator=torch.Generator().manual_seed(seed))


def begun(prompts_BL: Tensor) -> Tensor:
    """Prompts with the sign behind which the answer stands."""
    return torch.cat([prompts_BL, torch.full((len(prompts_BL), 1), BASE)], 1)


def reward(prompts_BL: Tensor, answers_BL: Tensor) -> Tensor:
    """The share of places that are right [B]."""
    return (answers_BL == prompts_BL.sort(1).values).float().mean(1)


@torch.no_grad()
def generate(
    policy: Policy, prompts_BL: Tensor, temperature: float, random: torch.Generator | None = None
) -> Tensor:
    """Prompts with their answers [B, 2 * DIGITS + 1]; the likeliest tokens at temperature 0."""
    sequences = begun(prompts_BL)
    for _ in range(DIGITS):
        logits = policy(sequences)[:, -1]
        token = (
            torch.multinomial((logits / temperature).softmax(-1), 1, generator=random)
            if temperature
            else logits.argmax(-1, keepdim=True)
        )
        sequences = torch.cat([sequences, token], 1)
    return sequences


def imitate(policy: Policy, steps: int, seed: int, batch: int = 64, lr: float = 3e-3) -> float:
    """Teaches `policy` by answers, a little: a model to begin with. Returns the last loss."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
    loss = torch.zeros(())
    for step in range(steps):
        asked = prompts(batch, seed + step)
        answers = asked.sort(1).values
        scores = policy.scores(torch.cat([begun(asked), answers], 1))
        loss = F.nll_loss(scores.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return loss.item()
